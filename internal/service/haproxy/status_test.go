package haproxy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

func TestTheKernelsListenersAreFoundByEndpoint(t *testing.T) {
	got := parseListening(`LISTEN 0 3000 10.0.0.250:6443 0.0.0.0:* users:(("haproxy",pid=234,fd=11))
LISTEN 0 3000 0.0.0.0:80 0.0.0.0:* users:(("haproxy",pid=234,fd=7))
LISTEN 0 3000 *:443 *:* users:(("haproxy",pid=234,fd=8))
LISTEN 0 3000 [2001:db8::1]:6443 [::]:* users:(("haproxy",pid=234,fd=8))
LISTEN 0 128 0.0.0.0:22 0.0.0.0:* users:(("sshd",pid=45,fd=3))
`)
	want := []string{"*:443", "*:80", "10.0.0.250:6443", "[2001:db8::1]:6443", "[::]:443"}
	if diff := cmp.Diff(want, sortedKeys(got)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestTheCheckersWordsNameTheSection(t *testing.T) {
	tree := transaction.Tree{}
	tree.Put(ConfigPath, []byte("global\nbackend api\n    chek\n"), 0o644, "", "")
	got := checkerWords(`[NOTICE]   (1) : haproxy version is 2.6.12
[WARNING]  (1) : config : something that does no harm
[ALERT]    (1) : config : parsing [/stage/etc/haproxy/haproxy.cfg:3] : unknown keyword 'chek' in 'backend' section
[ALERT]    (1) : config : Error(s) found in configuration file : /stage/etc/haproxy/haproxy.cfg
[ALERT]    (1) : config : Fatal errors found in configuration.
`, "/stage", tree)
	want := "haproxy: config : parsing [/etc/haproxy/haproxy.cfg:3] : unknown keyword 'chek' in 'backend' section\n    in backend \"api\": chek"
	if got != want {
		t.Errorf("%q", got)
	}
	if got := checkerWords("haproxy: not found", "/stage", tree); got != "haproxy: not found" {
		t.Errorf("%q", got)
	}
}

func TestOnlyServersOfDynamicBackendsChangeAtRunTime(t *testing.T) {
	config := func(backend string) transaction.Tree {
		tree := transaction.Tree{}
		tree.Put(ConfigPath, []byte(strings.ReplaceAll(backend, "; ", "\n  ")+"\n"), 0o644, "", "")
		return tree
	}
	const (
		prev = "backend b; balance roundrobin; server a 10.0.0.1:80"
		goes = "set server b/a state drain|set server b/a state maint|del server b/a"
		come = "add server b/c 10.0.0.3:80|set server b/c weight 1|set server b/c state ready"
	)
	for name, c := range map[string]struct{ prev, next, commands, reload string }{
		"nothing":             {prev, prev, "", ""},
		"a comment":           {prev, "# mine\n" + prev, "", ""},
		"one more":            {prev, prev + "; server c 10.0.0.3:80", come, ""},
		"one that is checked": {prev, prev + "; server c 10.0.0.3:80 check", "add server b/c 10.0.0.3:80 check|enable health b/c|set server b/c weight 1|set server b/c state ready", ""},
		"who leaves is last":  {prev, "backend b; balance roundrobin; server c 10.0.0.3:80", come + "|" + goes, ""},
		"another place":       {prev, "backend b; balance roundrobin; server a 10.0.0.2:81", "set server b/a addr 10.0.0.2 port 81|set server b/a weight 1|set server b/a state ready", ""},
		"another weight":      {prev, prev + " weight 7", "set server b/a weight 7|set server b/a state ready", ""},
		"maintenance":         {prev, prev + " disabled", "set server b/a state maint", ""},
		"drained":             {prev + " weight 7", prev + " weight 0 # virtcluster: drain weight 7", "set server b/a weight 0|set server b/a state ready", ""},
		"a parameter":         {prev, prev + " check", "", "changes more than its address"},
		"a name":              {prev, prev + "; server c web.example:80", "", "is a name"},
		"another line":        {prev, prev + "; timeout server 5s", "", "more changes"},
		"another section":     {prev, prev + "\nbackend c", "", "more changes"},
		"a static algorithm":  {"backend b; balance source; server a 10.0.0.1:80", "backend b; balance source", "", "by a hash"},
		"a consistent hash":   {"backend b; balance source; hash-type consistent; server a 10.0.0.1:80", "backend b; balance source; hash-type consistent", goes, ""},
		"inherited defaults":  {"defaults; default-server weight 5\n" + prev, "defaults; default-server weight 5\n" + prev + "; server c 10.0.0.3:80", "", "inherit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			commands, reload := planLive(config(c.prev), config(c.next))
			var texts []string
			for _, command := range commands {
				texts = append(texts, command.text)
			}
			if got := strings.Join(texts, "|"); got != c.commands || (reload == "") != (c.reload == "") || !strings.Contains(reload, c.reload) {
				t.Errorf("%q, reload %q", got, reload)
			}
		})
	}
}

func TestOldWorkersAreReadFromTheMaster(t *testing.T) {
	got := oldWorkers(`#<PID>          <type>          <reloads>       <uptime>        <version>
52              master          1 [failed: 0]   0d00h00m00s     2.6.12
# workers
60              worker          0               0d00h00m00s     2.6.12
# old workers
54              worker          1               0d00h01m00s     2.6.12
# programs

`)
	if !slices.Equal(got, []string{"54"}) {
		t.Errorf("%q", got)
	}
}

func TestAServerThatIsDrainedMeanwhileIsNoMismatch(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{}
	servers := map[string]Server{"a": {Address: "10.0.0.1", Port: 80, State: Ready}, "b": {Address: "10.0.0.2", Port: 80, State: Drain}, "c": {Address: "10.0.0.3", Port: 80, State: Maint}}
	if err := SetProxy(tree, Backend{Name: "api", Servers: servers}, owner.Mark{ID: "me"}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(running map[string]runningServer)
		want   int
	}{
		"as it is configured": {func(map[string]runningServer) {}, 0},
		"drained": {func(r map[string]runningServer) {
			r["a"] = runningServer{address: "10.0.0.1", port: 80, weight: 1, drain: true}
		}, 0},
		"drained, and of another place": {func(r map[string]runningServer) {
			r["a"] = runningServer{address: "10.0.0.9", port: 80, weight: 1, drain: true}
		}, 1},
		"drained, and to be off": {func(r map[string]runningServer) {
			r["c"] = runningServer{address: "10.0.0.3", port: 80, weight: 1, drain: true}
		}, 1},
		"off": {func(r map[string]runningServer) {
			r["a"] = runningServer{address: "10.0.0.1", port: 80, weight: 1, maint: true}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			running := map[string]runningServer{
				"a": {address: "10.0.0.1", port: 80, weight: 1}, "b": {address: "10.0.0.2", port: 80}, "c": {address: "10.0.0.3", port: 80, weight: 1, maint: true},
			}
			c.change(running)
			if got := findMissing(tree, statTable{"api": {"BACKEND": stat{}}}, serverTable{"api": running}); len(got) != c.want {
				t.Errorf("it is %q", got)
			}
		})
	}
}

func TestTheMainFilesSocketIsAskedFirst(t *testing.T) {
	tree := transaction.Tree{}
	tree.Put(confDir+"a.cfg", []byte("global\n stats socket /run/b.sock level admin\n"), 0o644, "", "")
	for socket, content := range map[string]string{"/run/a.sock": "global\n stats socket /run/a.sock level admin\n", "/run/b.sock": ""} {
		t.Run(socket, func(t *testing.T) {
			tree.Put(ConfigPath, []byte(content), 0o644, "", "")
			if api, err := openRuntime(nil, tree); err != nil || api.socket != socket {
				t.Errorf("%q is asked, %v", api.socket, err)
			}
		})
	}
}
