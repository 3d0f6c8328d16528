package haproxy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

var (
	word      = rapid.StringMatching(`[A-Za-z][A-Za-z0-9_.-]{0,8}`)
	condition = rapid.StringMatching(`(\{ [a-z]{1,5} -i [a-z.]{1,9} \}|is_[a-z]{1,4}|!is_[a-z]{1,4} "a b#c"|\\# x)`)
	duration  = rapid.StringMatching(`[1-9][0-9]{0,3}(ms|s|m|h|d)`)
	address   = rapid.SampledFrom([]string{"10.0.0.1", "10.19.41.160", "2001:db8::1", "fd00::7"})
	listen    = rapid.SampledFrom([]string{"*", "::", "10.0.0.250", "2001:db8::1"})
	port      = rapid.Int64Range(1, 65535)
	count     = rapid.Int64Range(0, 5000)
	mode      = rapid.SampledFrom([]string{"", "tcp", "http"})
	optionSet = rapid.Custom(func(t *rapid.T) []string {
		return sortedKeys(rapid.MapOf(rapid.SampledFrom([]string{"tcplog", "httplog clf", "no dontlognull", "forwardfor except 127.0.0.0/8"}), rapid.Just(true)).Draw(t, "options"))
	})
	// unknown lines: HAProxy has words that no attribute models.
	unknown = rapid.SliceOfN(rapid.StringMatching(`(tcp-request|http-request|stick-table|filter) [a-z]{1,8}( "x # y")?( # why)?`), 0, 3)
)

func maybe[V any](g *rapid.Generator[V]) *rapid.Generator[*V] {
	return rapid.Custom(func(t *rapid.T) *V {
		if rapid.Bool().Draw(t, "unset") {
			return nil
		}
		v := g.Draw(t, "value")
		return &v
	})
}

func durations(names []string) *rapid.Generator[map[string]string] {
	return rapid.MapOf(rapid.SampledFrom(names), duration)
}

var aBind = rapid.Custom(func(t *rapid.T) Bind {
	return Bind{Address: listen.Draw(t, "address"), Port: port.Draw(t, "port"), Transparent: rapid.Bool().Draw(t, "transparent"),
		Options: rapid.SampledFrom([]string{"", "ssl crt /etc/haproxy/a.pem", `ssl crt "/a b.pem" alpn h2,http/1.1`, "accept-proxy"}).Draw(t, "options")}
})

var aFrontend = rapid.Custom(func(t *rapid.T) Frontend {
	return Frontend{
		Name: word.Draw(t, "name"), Mode: mode.Draw(t, "mode"), Binds: rapid.SliceOfN(aBind, 0, 3).Draw(t, "binds"),
		Maxconn: count.Draw(t, "maxconn"), Timeouts: durations(FrontendTimeouts).Draw(t, "timeouts"), Options: optionSet.Draw(t, "options"),
		ACLs:  rapid.MapOf(word, rapid.SliceOfN(condition, 1, 2)).Draw(t, "acls"),
		Extra: unknown.Draw(t, "extra"),
		Rules: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Rule {
			r := Rule{Backend: word.Draw(t, "backend")}
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 1:
				r.If = condition.Draw(t, "if")
			case 2:
				r.Unless = condition.Draw(t, "unless")
			}
			return r
		}), 0, 3).Draw(t, "rules"),
		MonitorURI:     rapid.SampledFrom([]string{"", "/healthz"}).Draw(t, "monitor"),
		DefaultBackend: rapid.OneOf(rapid.Just(""), word).Draw(t, "default_backend"),
	}
})

var someParams = rapid.Custom(func(t *rapid.T) Params {
	on := maybe(rapid.Bool())
	return Params{
		Weight: maybe(rapid.Int64Range(0, 256)).Draw(t, "weight"), Backup: on.Draw(t, "backup"), Check: on.Draw(t, "check"),
		CheckSSL: on.Draw(t, "check_ssl"), SendProxy: on.Draw(t, "send_proxy"), Verify: rapid.SampledFrom([]string{"", "none", "required"}).Draw(t, "verify"),
		Inter: rapid.OneOf(rapid.Just(""), duration).Draw(t, "inter"), Fall: count.Draw(t, "fall"), Rise: count.Draw(t, "rise"), Maxconn: count.Draw(t, "maxconn"),
		Options: rapid.SampledFrom([]string{"", "ssl", "send-proxy-v2 sni str(check)", `source 10.0.0.9 on-marked-down shutdown-sessions`, `ssl ca-file "/a b#.pem"`}).Draw(t, "options"),
	}
})

var aBackend = rapid.Custom(func(t *rapid.T) Backend {
	b := Backend{
		DrainTimeout: rapid.SampledFrom([]string{"", "45s"}).Draw(t, "drain"),
		Name:         word.Draw(t, "name"), Mode: mode.Draw(t, "mode"), Balance: rapid.SampledFrom([]string{"", "roundrobin", "uri depth 2"}).Draw(t, "balance"),
		HashType: rapid.SampledFrom([]string{"", "consistent"}).Draw(t, "hash"), Timeouts: durations(BackendTimeouts).Draw(t, "timeouts"),
		Options: optionSet.Draw(t, "options"), Extra: unknown.Draw(t, "extra"),
		Servers: rapid.MapOf(word, rapid.Custom(func(t *rapid.T) Server {
			return Server{Address: address.Draw(t, "address"), Port: port.Draw(t, "port"), Params: someParams.Draw(t, "params"),
				State: rapid.SampledFrom([]string{Ready, Drain, Maint}).Draw(t, "state")}
		})).Draw(t, "servers"),
	}
	if rapid.Bool().Draw(t, "checked") {
		b.HTTPCheck = &HTTPCheck{Method: "GET", URI: "/readyz", Version: rapid.SampledFrom([]string{"", `HTTP/1.1\r\nHost:\ api`}).Draw(t, "version"),
			Expect: rapid.SampledFrom([]string{"", "status 200", `rstring "ok ok"`}).Draw(t, "expect")}
	}
	if p := someParams.Draw(t, "default_server"); p.formatParams() != "" {
		b.DefaultServer = &p
	}
	return b
})

var aBase = rapid.Custom(func(t *rapid.T) Base {
	b := Base{
		Maxconn: count.Draw(t, "maxconn"), Log: rapid.SliceOfN(rapid.Just("/dev/log local0"), 0, 2).Draw(t, "log"), Extra: unknown.Draw(t, "extra"),
		DefaultsExtra: unknown.Draw(t, "defaults_extra"), Mode: mode.Draw(t, "mode"), Retries: count.Draw(t, "retries"),
		Options: optionSet.Draw(t, "options"), Timeouts: durations(BaseTimeouts).Draw(t, "timeouts"),
	}
	if rapid.Bool().Draw(t, "health") {
		b.Health = &Health{Bind: aBind.Draw(t, "bind"), URI: "/healthz"}
	}
	if rapid.Bool().Draw(t, "stats") {
		b.Stats = &Stats{Bind: aBind.Draw(t, "bind"), URI: "/stats", Refresh: rapid.OneOf(rapid.Just(""), duration).Draw(t, "refresh"), HideVersion: rapid.Bool().Draw(t, "hide")}
		if rapid.Bool().Draw(t, "auth") {
			b.Stats.User, b.Stats.Password = word.Draw(t, "user"), rapid.StringMatching(`[!-~ ]{1,20}`).Draw(t, "password")
			b.Stats.PasswordVersion = rapid.Int64Range(0, 3).Draw(t, "version")
		}
	}
	return b
})

// A generated tree has what a distribution or a person wrote before and after the provider's own.
var aTree = rapid.Custom(func(t *rapid.T) transaction.Tree {
	content := rapid.SampledFrom([]string{"", debianConfig, fedoraConfig, "# mine\nglobal\n  maxconn 10\n\n# about to listen\nlisten old\n  bind :1\n# the end\n\n"}).Draw(t, "file")
	tree := transaction.Tree{}
	tree.Put(ConfigPath, []byte(content), 0o644, "root", "root")
	return tree
})

func TestParseUndoesRender(t *testing.T) {
	t.Run("frontend", rapid.MakeCheck(func(t *rapid.T) {
		tree, want := aTree.Draw(t, "tree"), aFrontend.Draw(t, "frontend")
		before := string(tree[ConfigPath].Content)
		succeed(t, AddProxy(tree, want, owner.Mark{}))
		got, err := FindFrontend(tree, want.Name)
		succeed(t, err)
		same(t, want, got)
		succeed(t, SetProxy(tree, got, owner.Mark{}))
		succeed(t, DropProxy(tree, "frontend", want.Name))
		same(t, before, string(tree[ConfigPath].Content))
	}))
	t.Run("backend", rapid.MakeCheck(func(t *rapid.T) {
		tree, want := aTree.Draw(t, "tree"), aBackend.Draw(t, "backend")
		before := string(tree[ConfigPath].Content)
		succeed(t, AddProxy(tree, want, owner.Mark{}))
		got, err := FindBackend(tree, want.Name)
		succeed(t, err)
		same(t, want, got)
		succeed(t, DropProxy(tree, "backend", want.Name))
		same(t, before, string(tree[ConfigPath].Content))
	}))
	t.Run("base", rapid.MakeCheck(func(t *rapid.T) {
		tree, want := aTree.Draw(t, "tree"), aBase.Draw(t, "base")
		before := string(tree[ConfigPath].Content)
		succeed(t, SetBase(tree, want, owner.Mark{}))
		got, err := FindBase(tree)
		succeed(t, err)
		same(t, want, got)
		if secret := want.Stats != nil && want.Stats.User != ""; secret != (tree[ConfigPath].Perm() == 0o640) {
			t.Fatalf("mode %o with a password: %v", tree[ConfigPath].Perm(), secret)
		}
		succeed(t, DropBase(tree))
		same(t, before, string(tree[ConfigPath].Content))
		same(t, 0o644, int(tree[ConfigPath].Perm()))
	}))
	t.Run("everything at once, in any order", rapid.MakeCheck(func(t *rapid.T) {
		tree := aTree.Draw(t, "tree")
		before := string(tree[ConfigPath].Content)
		base, f, b := aBase.Draw(t, "base"), aFrontend.Draw(t, "frontend"), aBackend.Draw(t, "backend")
		other := tree.Clone()
		succeed(t, AddProxy(tree, b, owner.Mark{}))
		succeed(t, SetBase(tree, withoutVersion(base), owner.Mark{}))
		succeed(t, AddProxy(tree, f, owner.Mark{}))
		succeed(t, AddProxy(other, f, owner.Mark{}))
		succeed(t, AddProxy(other, b, owner.Mark{}))
		succeed(t, SetBase(other, withoutVersion(base), owner.Mark{}))
		same(t, string(other[ConfigPath].Content), string(tree[ConfigPath].Content))
		succeed(t, Strip(tree))
		same(t, before, string(tree[ConfigPath].Content))
	}))
}

// withoutVersion takes the random salt out of the file.
func withoutVersion(b Base) Base {
	if b.Stats != nil {
		b.Stats.PasswordVersion = 0
	}
	return b
}

func same(t *rapid.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
}

func succeed(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
