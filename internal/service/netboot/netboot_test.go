package netboot

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/netboot"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/selfbinary"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/ownunit"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

var mine = owner.Mark{ID: "abcdefgh12345678", Workspace: "0123456789abcdef"}

func server() Server {
	return Server{netboot.Server{Address: netip.MustParseAddr("10.0.100.101"), Port: 8090, TFTP: true, Loaders: "/usr/lib/ipxe", Peers: []string{"10.0.100.102:8090"}}}
}

func profile() Profile {
	return Profile{Profile: netboot.Profile{
		Name: "worker-1", MAC: "52:54:00:aa:00:01", Kernel: "http://10.0.100.101:8080/vmlinuz", Initrd: []string{"http://10.0.100.101:8080/initrd"}, Cmdline: "console=ttyS0",
		Kind: "ignition", Files: map[string]string{"config.ign": `{"ignition":{"version":"3.4.0"}}`}, Once: true, Generation: 2,
	}}
}

func TestAServerAndItsProfilesAreReadBack(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{}
	s, p := newServerPart(part.Identity{ImportID: "x#boot", Mark: mine}, &selfbinary.Program{}), NewProfilePart("worker-1", "x#boot/worker-1", mine)
	if err := p.Add(tree, profile()); err == nil || !strings.Contains(err.Error(), "virtcluster_boot_server first") {
		t.Errorf("a profile without a server: %v", err)
	}
	if err := s.Add(tree, server()); err != nil {
		t.Fatal(err)
	}
	if err := p.Add(tree, profile()); err != nil {
		t.Fatal(err)
	}
	got, err := s.Find(tree)
	if err != nil || !reflect.DeepEqual(got, server()) {
		t.Errorf("%v: %+v", err, got)
	}
	// An import writes it anew for another owner, and it is the same profile.
	other := owner.Mark{ID: "other", Workspace: mine.Workspace}
	if err := NewProfilePart("worker-1", "x#boot/worker-1", other).Set(tree, profile()); err != nil {
		t.Fatal(err)
	}
	want := profile()
	want.ID, want.ReportURL = mine.ID, "http://10.0.100.101:8090/boot/52-54-00-aa-00-01/installed"
	if got, err := p.Find(tree); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %+v", err, got)
	}
	for _, place := range []string{s.Place, p.Place} {
		if f := tree[place]; f.Mode.Perm() != 0o600 {
			t.Errorf("%s is %o: it may have secrets", place, f.Mode.Perm())
		}
	}
	if m, there := p.Mark(tree); !there || m != other {
		t.Errorf("the mark is %+v, %t", m, there)
	}
	f := tree[p.Place]
	f.Content = []byte("{")
	tree[p.Place] = f
	if got, err := p.Find(tree); err != nil || got.Kernel != "" || got.Name != "worker-1" {
		t.Errorf("one that a person broke is %+v, %v", got, err)
	}
	if err := p.Drop(tree); err != nil {
		t.Fatal(err)
	}
	if err := s.Drop(tree); err != nil || len(tree) != 0 {
		t.Errorf("%v: left %v", err, tree)
	}
}

func TestProfilesAreListedByTheirFirstServer(t *testing.T) {
	t.Parallel()
	const here, there = "ssh://root@10.0.100.101#boot", "ssh://root@10.0.100.102#boot"
	tree := transaction.Tree{}
	if err := newServerPart(part.Identity{ImportID: here, Mark: mine}, &selfbinary.Program{}).Add(tree, server()); err != nil {
		t.Fatal(err)
	}
	add := func(name string, servers ...string) {
		t.Helper()
		p := profile()
		p.Name, p.Servers = name, servers
		if err := NewProfilePart(name, here+"/"+name, mine).Add(tree, p); err != nil {
			t.Fatal(err)
		}
	}
	add("alone")
	add("first-here", here, there)
	add("first-there", there, here)
	names, firsts := ListProfiles(tree, here)
	if !reflect.DeepEqual(names, []string{"alone", "first-here", "first-there"}) || !reflect.DeepEqual(firsts, []string{here, here, there}) {
		t.Errorf("listed are %q on %q", names, firsts)
	}
}

// TestTheOtherServerIsFound has the file of a profile that two servers have tell each of them the other one.
func TestTheOtherServerIsFound(t *testing.T) {
	t.Parallel()
	const first, second = "ssh://root@10.0.0.101#boot", "ssh://root@10.0.0.102#boot"
	for name, c := range map[string]struct {
		servers    []string
		read, want string
	}{
		"one":                       {nil, first, ""},
		"read from the first":       {[]string{first, second}, first, second},
		"read from the second":      {[]string{first, second}, second, first},
		"one that a person named":   {[]string{first, "svc-2"}, first, ""},
		"no boot server":            {[]string{first, "ssh://root@10.0.0.102#zone/a"}, first, ""},
		"no machine":                {[]string{first, "#boot"}, first, ""},
		"the first by another port": {[]string{first, second}, "ssh://root@10.0.0.101:22#boot", second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := findOther(c.servers, c.read); got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
		})
	}
}

func TestWhatNoServerTakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		problems []service.Problem
		at, says string
	}{
		"a server":             {server().Validate(), "", ""},
		"any address":          {Server{netboot.Server{Address: netip.MustParseAddr("0.0.0.0")}}.Validate(), "http", "reach it by"},
		"a peer without port":  {Server{netboot.Server{Peers: []string{"10.0.0.1"}}}.Validate(), "peers", "address and port"},
		"its own peer":         {Server{netboot.Server{Address: netip.MustParseAddr("10.0.0.1"), Peers: []string{"10.0.0.1:8090"}}}.Validate(), "peers", "own address"},
		"signed loaders":       {Server{netboot.Server{SecureBoot: true, TFTP: true, Loaders: DefaultLoaders}}.Validate(), "", ""},
		"those by HTTP alone":  {Server{netboot.Server{SecureBoot: true, Loaders: DefaultLoaders}}.Validate(), "", ""},
		"others by HTTP alone": {Server{netboot.Server{SecureBoot: true, Loaders: "/srv/loaders"}}.Validate(), "", ""},
		"a profile":            {profile().Validate(), "", ""},
		"two lines":            {Profile{Profile: netboot.Profile{Cmdline: "a\nb"}}.Validate(), "cmdline", "one line"},
		"no Ignition":          {Profile{Profile: netboot.Profile{Kind: "ignition", Files: map[string]string{"config.ign": "x"}}}.Validate(), "ignition", "JSON"},
		"a report for nothing": {Profile{Profile: netboot.Profile{Reports: true}}.Validate(), "wait_for_report", "leave it out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.at == "" && len(c.problems) == 0 {
				return
			}
			if len(c.problems) == 0 || c.problems[0].Path[0] != c.at || !strings.Contains(c.problems[0].Detail, c.says) {
				t.Errorf("%+v, want %q at %s", c.problems, c.says, c.at)
			}
		})
	}
	for _, url := range []string{"", "vmlinuz", "ftp://x/y", "http://x/a b", "http://x/\"", "file:///etc/passwd"} {
		t.Run("URL "+url, func(t *testing.T) {
			if CheckURL(url) == nil {
				t.Error("it is taken")
			}
		})
	}
	for _, name := range []string{"", "A", "a/b", "-a", "../x", strings.Repeat("a", 64)} {
		t.Run("name "+name, func(t *testing.T) {
			if CheckName(name) == nil {
				t.Error("it is taken")
			}
		})
	}
}

// TestWhatIsInTheWayOfAServer judges what look.sh prints.
func TestWhatIsInTheWayOfAServer(t *testing.T) {
	t.Parallel()
	const own = "address 10.0.100.101/24\naddress 127.0.0.1/8\ninterface lo\ninterface eth0\n"
	signed, alone, elsewhere := server(), server(), server()
	signed.SecureBoot, alone.Interfaces, elsewhere.Interfaces = true, []string{"eth0"}, []string{"eth0", "eth7"}
	for name, c := range map[string]struct {
		want Server
		says string
		seen string
	}{
		"signed loaders":         {signed, "name shim among the services", own + "unreadable /usr/lib/shim/shimx64.efi.signed\n"},
		"iPXE, with signed ones": {signed, "name ipxe among the services", own + "unreadable /usr/lib/ipxe/ipxe.pxe\n"},
		"an interface":           {alone, "", own},
		"one that is not there":  {elsewhere, "svc-1 has no interface eth7: write one of lo, eth0", own},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := judgeMachine(ownunit.ParseLook(c.seen), c.want, "svc-1")
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
	for name, c := range map[string]struct{ seen, says string }{
		"nothing":                   {own, ""},
		"another port's address":    {own + "http 127.0.0.1:8090 users:((\"x\",pid=1,fd=2))\n", ""},
		"the port is taken":         {own + "http 0.0.0.0:8090 users:((\"nginx\",pid=1,fd=2))\n", "nginx on svc-1 listens at 0.0.0.0:8090"},
		"all of IPv6 too":           {own + "http [::]:8090 users:((\"nginx\",pid=1,fd=2))\n", "nginx"},
		"its address is taken":      {own + "tftp 10.0.100.101:69 users:((\"in.tftpd\",pid=1,fd=2))\n", "in.tftpd on svc-1 listens at 10.0.100.101:69"},
		"loaders cannot be read":    {own + "unreadable /usr/lib/ipxe/ipxe.pxe\n", "/usr/lib/ipxe/ipxe.pxe on svc-1 cannot be read: install ipxe"},
		"an address of another one": {"address 10.0.100.102/24\n", "svc-1 has no address 10.0.100.101"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := judgeMachine(ownunit.ParseLook(c.seen), server(), "svc-1")
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// TestWhatIsNotThereIsSaidAtItsAttribute judges what ask.sh prints, of what a profile did not need before.
func TestWhatIsNotThereIsSaidAtItsAttribute(t *testing.T) {
	t.Parallel()
	other, again := profile(), profile()
	other.Initrd = append(other.Initrd, "http://10.0.100.101:8080/second")
	again.Generation++
	for name, c := range map[string]struct {
		was, want Profile
		said      string
		asks      int
		at        []any
	}{
		"it is new":             {Profile{}, profile(), "1 it answers 404\n", 2, []any{"initrd", 0}},
		"its kernel is missing": {Profile{}, profile(), "0 Couldn't connect to server\n1 it answers 404\n", 2, []any{"kernel"}},
		"all is there":          {Profile{}, profile(), "", 2, nil},
		"nothing changed":       {profile(), profile(), "", 0, nil},
		"one more":              {profile(), other, "0 it answers 404\n", 1, []any{"initrd", 1}},
		"installed again":       {profile(), again, "0 it answers 404\n", 2, []any{"kernel"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := c.want.listURLs(c.was)
			at, _ := errors.AsType[*service.AttributeError](judgeAnswers(c.said, all, "svc-1"))
			if len(all) != c.asks || (at == nil) != (c.at == nil) || at != nil && !reflect.DeepEqual(at.Path, c.at) {
				t.Errorf("it asks for %v, and the error is at %v", all, at)
			}
		})
	}
	if err := judgeAnswers("x\n", nil, "svc-1"); err == nil {
		t.Error("words that nobody knows are no error")
	}
}

// TestURLsAreAskedFor runs ask.sh.
func TestURLsAreAskedFor(t *testing.T) {
	t.Parallel()
	const curl = `for url; do :; done
case $url in
*/whole) code=200 ;;
*/part) code=206 ;;
*/large) code=200; echo "curl: (63) Maximum file size exceeded" >&2 ;;
*/nobody) code=000; echo "curl: (7) Failed to connect to x port 8200" >&2 ;;
*) code=404 ;;
esac
printf '\nanswers %s\n' "$code"`
	end := hosttest.Script{Text: askScript, Args: []string{"http://x/whole", "http://x/none", "http://x/part", "http://x/nobody", "http://x/large"}, Programs: map[string]string{"curl": curl}}.Run(t)
	if end.Status != 0 || end.Stdout != "1 it answers 404\n3 Failed to connect to x port 8200\n" {
		t.Errorf("%+v", end)
	}
}

// TestTheMachineIsLookedAt runs look.sh.
func TestTheMachineIsLookedAt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	look := func(args ...string) string {
		end := hosttest.Script{Text: lookScript, Args: args, Programs: map[string]string{
			"ip": `case $* in *address*) echo "2: eth1    inet 10.0.0.1/24 brd 10.0.0.255" ;; *) echo "2: eth1@if7: <BROADCAST,UP> mtu 1500" ;; esac`, "systemctl": "echo 7", "ss": `case $1 in -Hltnp) echo "LISTEN 0 1 *:8090 *:* users:((x" ;; esac`,
		}}.Run(t)
		if end.Status != 0 {
			t.Errorf("%+v", end)
		}
		return end.Stdout
	}
	const usual = "address 10.0.0.1/24\ninterface eth1\nhttp *:8090 users:((x\n"
	if got := look("t@a.service", "8090", dir+"/a"); got != usual {
		t.Errorf("all is there: %q", got)
	}
	if got := look("t@a.service", "8090", dir+"/a", dir+"/b", dir+"/c"); got != usual+"unreadable "+dir+"/b\n" {
		t.Errorf("a loader is missing: %q", got)
	}
	if got := look("t@a.service", "8090"); got != usual {
		t.Errorf("without loaders: %q", got)
	}
}

// TestTheProgramThatTheUnitNamesChecks runs check.sh.
func TestTheProgramThatTheUnitNamesChecks(t *testing.T) {
	t.Parallel()
	stage := t.TempDir()
	program := filepath.Join(stage, "program")
	unit := filepath.Join(stage, "etc/systemd/system/virtcluster-boot@.service")
	if err := os.MkdirAll(filepath.Dir(unit), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(unit, []byte(NewDaemon(program).Text), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func() hosttest.Ending {
		return hosttest.Script{Text: checkScript, Args: []string{stage, "/staged"}}.Run(t)
	}
	if end := check(); end.Status != 1 || !strings.Contains(end.Stderr, "apply the virtcluster_boot_server again") {
		t.Errorf("without a program: %+v", end)
	}
	if err := os.Symlink("/bin/echo", program); err != nil {
		t.Fatal(err)
	}
	if end := check(); end.Status != 0 || end.Stdout != "netboot -check -config /staged\n" {
		t.Errorf("%+v", end)
	}
}
