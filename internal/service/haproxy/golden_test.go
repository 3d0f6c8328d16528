package haproxy

import (
	"path/filepath"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/goldentest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

func pointer[V any](v V) *V { return &v }

// golden are configurations that people run, from the distribution's file on. TestAccHAProxyTakesTheGoldenFiles
// asks the real checker about each.
var golden = map[string][]func(transaction.Tree) error{
	"okd.cfg": {
		base(Base{
			Maxconn: 20000, Mode: "tcp", Retries: 3, Log: []string{"/dev/log local0 info"}, Extra: []string{"tune.ssl.default-dh-param 2048"},
			Options:  []string{"dontlognull", "log-health-checks", "redispatch"},
			Timeouts: map[string]string{"connect": "10s", "client": "1m", "client-fin": "5s", "server": "1m", "server-fin": "5s", "tunnel": "1h", "http-request": "10s", "http-keep-alive": "10s", "queue": "1m", "check": "10s", "tarpit": "30s"},
			Health:   &Health{Bind: Bind{Address: "127.0.0.1", Port: 9000}, URI: "/healthz"},
			Stats: &Stats{Bind: Bind{Address: "10.0.0.100", Port: 9001, Transparent: true}, URI: "/stats", User: "admin", Password: `it's #1 "pass" \word`,
				Refresh: "10s", HideVersion: true},
		}),
		backend(Backend{
			Name: "api", Mode: "tcp", Balance: "roundrobin", HTTPCheck: &HTTPCheck{Method: "GET", URI: "/readyz", Expect: "status 200"},
			DefaultServer: &Params{Check: pointer(true), CheckSSL: pointer(true), Verify: "none", Inter: "10s", Fall: 2, Rise: 3},
			Servers: map[string]Server{
				"okd-master-01":    {Address: "10.0.0.1", Port: 6443, State: Ready},
				"okd-master-02":    {Address: "10.0.0.2", Port: 6443, State: Drain, Params: Params{Weight: pointer(int64(5))}},
				"okd-master-03":    {Address: "2001:db8::3", Port: 6443, State: Maint},
				"okd-bootstrap-01": {Address: "10.0.0.200", Port: 6443, State: Ready, Params: Params{Backup: pointer(true), CheckSSL: pointer(false)}},
			},
		}),
		backend(Backend{
			Name: "machine-config", Mode: "tcp", Balance: "leastconn", Timeouts: map[string]string{"server": "5m", "connect": "2s", "check": "2s", "queue": "1s", "tunnel": "1h", "server-fin": "1s"},
			Options: []string{"tcp-check"},
			Servers: map[string]Server{"okd-bootstrap-01": {Address: "10.0.0.200", Port: 22623, State: Ready, Params: Params{Check: pointer(true), Inter: "1s", Maxconn: 50}}},
		}),
		backend(Backend{
			Name: "ingress", Mode: "tcp", Balance: "source", HashType: "consistent",
			Servers: map[string]Server{"okd-worker-01": {Address: "10.0.0.4", Port: 443, State: Ready, Params: Params{Check: pointer(true), SendProxy: pointer(true), Options: "on-marked-down shutdown-sessions"}}},
		}),
		frontend(Frontend{
			Name: "api", Mode: "tcp", Maxconn: 5000, Options: []string{"tcplog"}, Timeouts: map[string]string{"client": "5m", "client-fin": "1s"}, DefaultBackend: "api",
			Binds: []Bind{{Address: "10.0.0.250", Port: 6443, Transparent: true}, {Address: "2001:db8::250", Port: 6443, Transparent: true}, {Address: "127.0.0.1", Port: 6443}},
		}),
		frontend(Frontend{Name: "machine-config", Mode: "tcp", Binds: []Bind{{Address: "10.0.0.250", Port: 22623, Transparent: true}}, DefaultBackend: "machine-config"}),
		frontend(Frontend{
			Name: "tls", Mode: "tcp", Binds: []Bind{{Address: "::", Port: 443, Options: "v4v6"}},
			Extra:          []string{"tcp-request inspect-delay 5s", "tcp-request content accept if { req.ssl_hello_type 1 }"},
			Rules:          []Rule{{Backend: "api", If: "{ req.ssl_sni -i api.okd.example }"}},
			DefaultBackend: "ingress",
		}),
	},
	"http.cfg": {
		backend(Backend{
			Name: "web", Mode: "http", Balance: "uri depth 2", HashType: "consistent djb2", Options: []string{"forwardfor", "no httpclose"},
			Extra:     []string{"http-check send hdr Host web.okd.example", `http-response set-header X-Served-By "%s # not a comment"`},
			HTTPCheck: &HTTPCheck{Method: "HEAD", URI: "/ok", Version: "HTTP/1.1"},
			Timeouts:  map[string]string{"http-request": "5s", "http-keep-alive": "2s", "tarpit": "10s"},
			Servers: map[string]Server{
				"a": {Address: "localhost", Port: 8080, State: Ready, Params: Params{Weight: pointer(int64(0)), Check: pointer(true), Options: "ssl verifyhost web.okd.example ca-file /etc/haproxy/site.pem", Verify: "required"}},
				"b": {Address: "10.0.0.5", Port: 8080, State: Ready, Params: Params{Weight: pointer(int64(256)), Check: pointer(false)}},
			},
		}),
		backend(Backend{Name: "empty"}),
		frontend(Frontend{
			Name: "web", Mode: "http", MonitorURI: "/healthz", Options: []string{"forwardfor except 127.0.0.0/8", "httplog", "no dontlognull"},
			Binds:    []Bind{{Address: "*", Port: 80, Options: "accept-proxy"}, {Address: "*", Port: 8443, Options: "ssl crt /etc/haproxy/site.pem alpn h2,http/1.1"}},
			Timeouts: map[string]string{"client": "30s", "http-request": "10s", "http-keep-alive": "5s", "tarpit": "5s"},
			ACLs: map[string][]string{
				"is_app":  {"hdr_end(host) -i .apps.okd.example", "hdr(host) -i apps.okd.example"},
				"is_evil": {`path_beg "/admin page"`},
			},
			Extra: []string{"http-request deny if is_evil"},
			Rules: []Rule{{Backend: "web", If: "is_app !is_evil"}, {Backend: "empty", Unless: "is_app"}},
		}),
	},
	// What no HAProxy knows: the test of the checker itself.
	"refused.cfg": {
		backend(Backend{Name: "api", Mode: "tcp", Balance: "roundrobin", Options: []string{"httpchkk"}}),
	},
	// What only a check with HAProxy's own HTTP client finds.
	"refused-client.cfg": {
		base(Base{Mode: "tcp", Extra: []string{"httpclient.ssl.ca-file /nowhere.pem"}}),
	},
}

func base(b Base) func(transaction.Tree) error {
	return func(t transaction.Tree) error { return SetBase(t, b, owner.Mark{}) }
}

func backend(b Backend) func(transaction.Tree) error {
	return func(t transaction.Tree) error { return AddProxy(t, b, owner.Mark{}) }
}

func frontend(f Frontend) func(transaction.Tree) error {
	return func(t transaction.Tree) error { return AddProxy(t, f, owner.Mark{}) }
}

func TestGoldenFiles(t *testing.T) {
	for name, edits := range golden {
		t.Run(name, func(t *testing.T) {
			tree := transaction.Tree{}
			tree.Put(ConfigPath, []byte(debianConfig), 0o644, "", "")
			for _, edit := range edits {
				if err := edit(tree); err != nil {
					t.Fatal(err)
				}
			}
			goldentest.Compare(t, filepath.Join("testdata", "golden", name), string(tree[ConfigPath].Content))
		})
	}
}
