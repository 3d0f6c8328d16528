package haproxy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	const prev = "backend b; balance roundrobin; server a 10.0.0.1:80"
	for name, c := range map[string]struct {
		prev, next string
		want       []string
		ok         bool
	}{
		"nothing":            {prev, prev, nil, true},
		"a comment":          {prev, "# mine\n" + prev, nil, true},
		"one more":           {prev, prev + "; server c 10.0.0.3:80", []string{"c"}, true},
		"who leaves is last": {prev, "backend b; balance roundrobin; server c 10.0.0.3:80", []string{"c", "a"}, true},
		"another line":       {prev, prev + "; timeout server 5s", nil, false},
		"another section":    {prev, prev + "\nbackend c", nil, false},
		"a static algorithm": {"backend b; balance source; server a 10.0.0.1:80", "backend b; balance source", nil, false},
		"a consistent hash":  {"backend b; balance source; hash-type consistent; server a 10.0.0.1:80", "backend b; balance source; hash-type consistent", []string{"a"}, true},
		"inherited defaults": {"defaults; default-server weight 5\n" + prev, "defaults; default-server weight 5\n" + prev + "; server c 10.0.0.3:80", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			changes, ok := serverChanges(config(c.prev), config(c.next))
			var names []string
			for _, change := range changes {
				names = append(names, change.name)
			}
			if ok != c.ok || !slices.Equal(names, c.want) {
				t.Errorf("%q, %v", names, ok)
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
