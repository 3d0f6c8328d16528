package haproxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// formatUnmodelled returns what is not modelled as lines PLACE: TEXT, with the ends of lines in a text as " | ".
func formatUnmodelled(all []service.Unmodelled) string {
	var b strings.Builder
	for _, u := range all {
		fmt.Fprintf(&b, "%s: %s\n", u.Place, strings.Join(strings.FieldsFunc(u.What, func(r rune) bool { return r == '\n' }), " |"))
	}
	return b.String()
}

// A helper of a cluster as people set one up, with all that is no frontend and no backend.
const helperConfig = `# by hand
global
    log /dev/log local0   # to the journal
    maxconn 4000

defaults
    mode tcp
    timeout connect 5s

userlist operators
    user admin password $5$abc
    user guest insecure-password s3cret

listen stats
    bind :9000
    mode http
    stats auth admin:s3cret

.if defined(BOOTSTRAP)
frontend machine-config
    bind :22623
    default_backend machine-config
.endif

frontend kube-api
    bind :6443
    option tcplog
    default_backend kube-api

backend kube-api
    balance source
    server bootstrap 192.168.7.20:6443 check
`

func TestWhatIsNoProxyIsListedWithItsLine(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{}
	tree.Put(ConfigPath, []byte(helperConfig), 0o644, "root", "root")
	tree.Put(confDir+"more.cfg", []byte("\nbackend elsewhere\n    server a 192.0.2.1:1\n"), 0o644, "root", "root")
	for _, err := range []error{
		SetBase(tree, Base{Mode: "tcp", Maxconn: 100}, owner.Mark{ID: "a", Workspace: "b"}),
		SetProxy(tree, Backend{Name: "ours", Mode: "tcp"}, owner.Mark{ID: "a", Workspace: "b"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	all, err := ListUnmodelled(tree)
	if err != nil {
		t.Fatal(err)
	}
	said := formatUnmodelled(all)
	for _, want := range []string{
		": global |    log /dev/log local0   # to the journal\n", ": defaults |    mode tcp |    timeout connect 5s\n",
		": userlist operators |    user admin password (a secret) |    user guest insecure-password (a secret)\n",
		": listen stats |    bind :9000 |    mode http |    stats auth (a secret)\n", ": .if defined(BOOTSTRAP)\n", "/etc/haproxy/conf.d/more.cfg:2: backend elsewhere |    server a 192.0.2.1:1\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not among\n%s", want, said)
		}
	}
	for _, not := range []string{"kube-api", "ours", "s3cret", "$5$", "by hand", "machine-config"} {
		if strings.Contains(said, not) {
			t.Errorf("%q is among\n%s", not, said)
		}
	}
	// Each place is where the text is.
	lines := strings.Split(string(tree[ConfigPath].Content), "\n")
	for _, u := range all {
		var n int
		if file, line, _ := strings.Cut(u.Place, ":"); file == ConfigPath {
			if _, err := fmt.Sscan(line, &n); err != nil {
				t.Fatal(err)
			}
			if first, _, _ := strings.Cut(u.What, "\n"); strings.TrimSpace(lines[n-1]) != strings.TrimSpace(first) {
				t.Errorf("line %d is %q, not %q", n, lines[n-1], first)
			}
		}
	}
}
