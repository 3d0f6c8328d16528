package kea

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/goldentest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/ownunit"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

var mine = owner.Mark{ID: "abcdefgh12345678", Workspace: "0123456789abcdef"}

// segment is a server with all that one can have.
func segment() Server {
	a := netip.MustParseAddr
	return Server{
		Interface: "eth1", Subnet: netip.MustParsePrefix("10.19.41.0/24"), LeaseSeconds: 600,
		Ranges:  []Range{{a("10.19.41.50"), a("10.19.41.59")}, {a("10.19.41.70"), a("10.19.41.70")}},
		Hosts:   map[string]Host{"52:54:00:00:00:01": {a("10.19.41.21"), "one"}, "52:54:00:00:00:02": {a("10.19.41.22"), ""}},
		Options: map[string]string{"routers": "10.19.41.254", "domain-name-servers": "10.19.41.101, 10.19.41.102", "domain-search": "okd.example"},
		Boot: &Boot{
			NextServer: a("10.19.41.101"), BIOS: "ipxe.pxe", UEFIia32: "ia32.efi", UEFIx64: "snponly.efi", UEFIarm64: "arm64.efi",
			HTTPx64: "http://10.19.41.101:8090/ipxe.efi", HTTParm64: "http://10.19.41.101:8090/arm64.efi", IPXE: "http://10.19.41.101:8090/boot.ipxe",
		},
		Pair: &Pair{Role: Primary, Address: a("10.0.100.101"), Peer: a("10.0.100.102"), Port: 8067},
	}
}

func TestConfigurationIsGoldenAndReadBack(t *testing.T) {
	t.Parallel()
	content, err := segment().Render(mine)
	if err != nil {
		t.Fatal(err)
	}
	goldentest.Compare(t, "testdata/kea-dhcp4.conf", string(content))
	back, err := Parse(content)
	if err != nil || !reflect.DeepEqual(back, segment()) {
		t.Errorf("%v: %+v", err, back)
	}
	plain := segment()
	plain.Boot, plain.Pair, plain.Ranges = nil, nil, nil
	content, _ = plain.Render(mine)
	if back, err := Parse(content); err != nil || !reflect.DeepEqual(back, plain) {
		t.Errorf("%v: %+v", err, back)
	}
}

// TestEachKindOfClientAloneIsReadBack has a boot with one file only, of each kind.
func TestEachKindOfClientAloneIsReadBack(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		s := segment()
		s.Boot = &Boot{NextServer: s.Boot.NextServer}
		*k.file(s.Boot) = "http://10.19.41.101/file"
		content, err := s.Render(mine)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Parse(content); err != nil || !reflect.DeepEqual(back, s) {
			t.Errorf("%s alone: %v: %+v", k.name, err, back.Boot)
		}
	}
}

func FuzzParseUndoesRender(f *testing.F) {
	content, err := segment().Render(mine)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Fuzz(func(t *testing.T, content []byte) {
		s, err := Parse(content)
		if err != nil || len(s.Validate()) > 0 || s.Boot != nil && len(s.Boot.Files()) == 0 {
			return
		}
		again, err := s.Render(mine)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(again)
		if err != nil || !slices.Equal(back.Ranges, s.Ranges) || !reflect.DeepEqual(back.Boot, s.Boot) || back.Interface != s.Interface {
			t.Errorf("%v: %+v, was %+v", err, back, s)
		}
	})
}

func TestAPartIsSomebodysAndGoesWhole(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{}
	p := NewPart(part.Identity{Name: "eth1", ImportID: "x#dhcp/eth1", Mark: mine})
	if _, err := p.Find(tree); err == nil {
		t.Error("it finds one where none is")
	}
	if err := p.Add(tree, segment()); err != nil {
		t.Fatal(err)
	}
	if m, there := p.Mark(tree); !there || m != mine {
		t.Errorf("the mark is %+v, %t", m, there)
	}
	if got, err := p.Find(tree); err != nil || !reflect.DeepEqual(got, segment()) {
		t.Errorf("it is %+v, %v", got, err)
	}
	f := tree[p.Place]
	whole := string(f.Content)
	for _, edit := range [][2]string{{"INFO", "DEBUG"}, {`"authoritative": true,`, `"authoritative": false,`}, {`"id": 1,`, `"id": 1, "valid-lifetime": 9,`}, {"}\n", "}\n\n"}} {
		t.Run(edit[1], func(t *testing.T) {
			f.Content = []byte(strings.Replace(whole, edit[0], edit[1], 1))
			tree[p.Place] = f
			if got, err := p.Find(tree); err != nil || string(f.Content) == whole || !reflect.DeepEqual(got, Server{Interface: "eth1"}) {
				t.Errorf("in place of %s it is %+v, %v", edit[0], got, err)
			}
		})
	}
	f.Content = []byte("{")
	tree[p.Place] = f
	if got, err := p.Find(tree); err != nil || got.Interface != "eth1" || got.Subnet.IsValid() {
		t.Errorf("one that a person broke is %+v, %v", got, err)
	}
	if m, there := p.Mark(tree); !there || m != (owner.Mark{}) {
		t.Errorf("the mark of a person's is %+v, %t", m, there)
	}
	if err := p.Drop(tree); err != nil || len(tree) != 0 {
		t.Errorf("%v: left %v", err, tree)
	}
}

func TestWhatNoServerServes(t *testing.T) {
	t.Parallel()
	a := netip.MustParseAddr
	for name, c := range map[string]struct {
		change   func(*Server)
		at, says string
	}{
		"nothing":                     {func(*Server) {}, "", ""},
		"IPv6":                        {func(s *Server) { s.Subnet = netip.MustParsePrefix("fd00::/64") }, "cidr", "IPv4"},
		"no room":                     {func(s *Server) { s.Subnet = netip.MustParsePrefix("10.19.41.0/31") }, "cidr", "no room"},
		"a range outside":             {func(s *Server) { s.Ranges[0].End = a("10.19.42.1") }, "ranges", "not within"},
		"the broadcast address":       {func(s *Server) { s.Ranges[1].End = a("10.19.41.255") }, "ranges", "not within"},
		"a range backwards":           {func(s *Server) { s.Ranges[0].Start = a("10.19.41.60") }, "ranges", "behind"},
		"ranges overlap":              {func(s *Server) { s.Ranges[1].Start = a("10.19.41.59") }, "ranges", "overlaps"},
		"a host outside":              {func(s *Server) { s.Hosts["52:54:00:00:00:01"] = Host{IP: a("10.0.0.1")} }, "hosts", "no machine's address"},
		"two hosts, one address":      {func(s *Server) { s.Hosts["52:54:00:00:00:02"] = Host{IP: a("10.19.41.21")} }, "hosts", "kept for"},
		"a host in a range":           {func(s *Server) { s.Hosts["52:54:00:00:00:02"] = Host{IP: a("10.19.41.70")} }, "hosts", "end the range"},
		"a router in a range":         {func(s *Server) { s.Options["routers"] = "10.19.41.1, 10.19.41.50" }, "ranges", "10.19.41.50 is a router's"},
		"a TFTP server in a range":    {func(s *Server) { s.Boot.NextServer = a("10.19.41.59") }, "ranges", "10.19.41.59 is the TFTP server's"},
		"the server in a range":       {func(s *Server) { s.Pair.Address = a("10.19.41.70") }, "ranges", "10.19.41.70 is this server's"},
		"the other server in a range": {func(s *Server) { s.Pair.Peer = a("10.19.41.55") }, "ranges", "10.19.41.55 is that of the other one"},
		"no option":                   {func(s *Server) { s.Options["no-such"] = "1" }, "options", "routers"},
		"no value of an option":       {func(s *Server) { s.Options["routers"] = "gateway" }, "options", "no value"},
		"a pair of one":               {func(s *Server) { s.Pair.Peer = s.Pair.Address }, "pair", "other one's"},
		"a quote in a boot file?":     {func(s *Server) { s.Options["root-path"] = `a"b` }, "options", "no value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := segment()
			c.change(&s)
			problems := s.Validate()
			switch {
			case c.at == "" && len(problems) == 0:
			case len(problems) == 0 || problems[0].Path[0] != c.at || !strings.Contains(problems[0].Detail, c.says):
				t.Errorf("%+v, want %q at %s", problems, c.says, c.at)
			}
		})
	}
}

// TestWhoIsOnTheSegment judges what look.sh prints.
func TestWhoIsOnTheSegment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ seen, at, says string }{
		"nobody":                    {"address 10.19.41.101/24\n", "", ""},
		"this machine itself":       {"address 10.19.41.101/24\nport 10.19.41.101%eth1:67 users:((\"kea-dhcp4\",pid=1,fd=2))\nanswers 10.19.41.101\n", "", ""},
		"the other one of the pair": {"address 10.19.41.101/24\nanswers 10.0.100.102\n", "", ""},
		"the other one, by its address on the segment": {"address 10.19.41.101/24\npeer\nanswers 10.19.41.101\nanswers 10.19.41.102\n", "", ""},
		"a stranger beside the other one":              {"address 10.19.41.101/24\npeer\nanswers 10.19.41.102\nanswers 10.19.41.1\n", "interface", "10.19.41.1 gives out addresses"},
		"a stranger of another network":                {"address 10.19.41.101/24\npeer\nanswers 10.0.0.1\n", "interface", "10.0.0.1 gives out addresses"},
		"a stranger":                                   {"address 10.19.41.101/24\nanswers 10.19.41.1\n", "interface", "10.19.41.1 gives out addresses"},
		"dnsmasq on every interface":                   {"address 10.19.41.101/24\nport 0.0.0.0:67 users:((\"dnsmasq\",pid=7,fd=4))\n", "interface", "dnsmasq on svc-1 has port 67"},
		"a server on another interface":                {"address 10.19.41.101/24\nport 10.0.0.1:67 users:((\"dnsmasq\",pid=7,fd=4))\n", "", ""},
		"its own address in a range":                   {"address 10.19.41.101/24\naddress 10.19.41.52/32\n", "ranges", "10.19.41.52 is svc-1's own"},
		"no address":                                   {"address 10.0.0.1/24\n", "cidr", "no address in 10.19.41.0/24"},
		"nothing to listen with":                       {"address 10.19.41.101/24\ndeaf\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := judgeSegment(ownunit.ParseLook(c.seen), segment(), "svc-1")
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// TestTheSegmentIsLookedAt runs look.sh.
func TestTheSegmentIsLookedAt(t *testing.T) {
	t.Parallel()
	look := func(link string, pair ...string) hosttest.Ending {
		return hosttest.Script{Text: lookScript, Args: append([]string{"eth1", "program"}, pair...), Programs: map[string]string{
			"ip":      `case "$*" in "link show"*) ` + link + ` ;; *address*) echo "2: eth1 inet 10.0.0.1/24 brd 10.0.0.255" ;; *) echo up ;; esac`,
			"ss":      `echo "UNCONN 0 0 0.0.0.0:67 0.0.0.0:* users:((\"dnsmasq\",pid=7,fd=4))"`,
			"python3": `case "$2 $*" in *create_connection*) [ "$3 $4" = "10.1.0.2 8067" ] ;; *) echo "answers 10.0.0.9" ;; esac`,
		}}.Run(t)
	}
	if end := look("exit 1"); end.Status != exitNoDevice {
		t.Errorf("no device: %+v", end)
	}
	want := "address 10.0.0.1/24\nport 0.0.0.0:67 users:((\"dnsmasq\",pid=7,fd=4))\nanswers 10.0.0.9\n"
	if end := look(":"); end.Status != 0 || end.Stdout != want {
		t.Errorf("%+v", end)
	}
	if end := look(":", "10.1.0.2", "8067"); end.Status != 0 || end.Stdout != strings.Replace(want, "answers", "peer\nanswers", 1) {
		t.Errorf("with a peer: %+v", end)
	}
	if end := look(":", "10.1.0.3", "8067"); end.Status != 0 || end.Stdout != want {
		t.Errorf("with a peer that is not there: %+v", end)
	}
}

// TestCheckedWithTheHooksThatAreThere runs check.sh.
func TestCheckedWithTheHooksThatAreThere(t *testing.T) {
	t.Parallel()
	end := hosttest.Script{Text: checkScript, Args: []string{"testdata/kea-dhcp4.conf"}, Programs: map[string]string{
		"kea-dhcp4": `cat "$2"; echo "2026 ERROR [kea-dhcp4.dhcp4/1] DHCP4_PARSER_FAIL failed to create $2: bad"; exit 1`,
	}}.Run(t)
	if end.Status != 1 || !strings.Contains(end.Stdout, "failed to create : bad") {
		t.Errorf("%+v", end)
	}
}
