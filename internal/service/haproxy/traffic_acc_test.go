package haproxy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy/haproxytest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

func TestAccTLSNamesAndProxyHeadersAreRouted(t *testing.T) {
	s := newSite(t)
	s.run(`openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=web.test -days 2 -keyout /tmp/key.pem -out /tmp/crt.pem 2>/dev/null
		cat /tmp/crt.pem /tmp/key.pem > /etc/haproxy/site.pem`)
	on := true
	s.commit(func(tree transaction.Tree) error {
		return errors.Join(
			haproxy.SetProxy(tree, haproxy.Backend{Name: "web", Mode: "http", Servers: map[string]haproxy.Server{"s1": server(t, "web")}}, owner.Mark{}),
			haproxy.SetProxy(tree, haproxy.Backend{Name: "admin", Mode: "http", Servers: map[string]haproxy.Server{"s1": server(t, "admin")}}, owner.Mark{}),
			haproxy.SetProxy(tree, haproxy.Backend{Name: "tls", Mode: "tcp", Servers: map[string]haproxy.Server{
				"self": {Address: "::1", Port: 8443, State: haproxy.Ready, Params: haproxy.Params{SendProxy: &on}}}}, owner.Mark{}),
			haproxy.SetProxy(tree, haproxy.Backend{Name: "nobody", Mode: "tcp"}, owner.Mark{}),
			haproxy.SetProxy(tree, haproxy.Frontend{
				Name: "terminates", Mode: "http", Binds: []haproxy.Bind{{Address: "::1", Port: 8443, Options: "accept-proxy ssl crt /etc/haproxy/site.pem alpn h2,http/1.1"}},
				ACLs:  map[string][]string{"is_admin": {"path_beg /admin", "path_beg /root"}},
				Extra: []string{"http-request return status 200 content-type text/plain lf-string %[src] if { path /who }"},
				Rules: []haproxy.Rule{{Backend: "admin", If: "is_admin"}}, DefaultBackend: "web",
			}, owner.Mark{}),
			haproxy.SetProxy(tree, haproxy.Frontend{
				Name: "passes", Mode: "tcp", Binds: []haproxy.Bind{{Address: "*", Port: 8444}},
				Extra: []string{"tcp-request inspect-delay 5s", "tcp-request content accept if { req.ssl_hello_type 1 }"},
				Rules: []haproxy.Rule{{Backend: "tls", If: "{ req.ssl_sni -i web.test }"}}, DefaultBackend: "nobody",
			}, owner.Mark{}),
		)
	})
	ask := func(name, path string) string {
		return s.run("curl -sk --max-time 5 --interface 127.0.0.3 --resolve " + name + ":8444:127.0.0.1 https://" + name + ":8444" + path + " || echo refused")
	}
	for _, c := range [][3]string{
		{"web.test", "/", "web"}, {"web.test", "/admin", "admin"}, {"web.test", "/root", "admin"}, {"other.test", "/", "refused"},
		{"web.test", "/who", "127.0.0.3"}, // the PROXY header brought the client's address
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			if got := ask(c[0], c[1]); got != c[2] {
				t.Errorf("https://%s%s: %q, want %q", c[0], c[1], got, c[2])
			}
		})
	}
}

func TestAccAddressesOfBothFamiliesAnswerOnceTheMachineHoldsThem(t *testing.T) {
	s := newSite(t)
	s.commit(func(tree transaction.Tree) error {
		return errors.Join(
			haproxy.SetProxy(tree, haproxy.Backend{Name: "test", Mode: "tcp", Servers: map[string]haproxy.Server{"s1": server(t, "s1")}}, owner.Mark{}),
			haproxy.SetProxy(tree, haproxy.Frontend{Name: "test", Mode: "tcp", DefaultBackend: "test", Binds: []haproxy.Bind{
				{Address: "127.0.0.1", Port: 8080}, {Address: "::1", Port: 8080},
				{Address: "192.0.2.250", Port: 8080, Transparent: true}, {Address: "2001:db8::250", Port: 8080, Transparent: true},
			}}, owner.Mark{}),
		)
	})
	ask := func(address string) string {
		return s.run("curl -s --noproxy '*' --max-time 2 http://" + address + ":8080/ || echo nobody")
	}
	process := s.worker()
	vips := map[string]string{"192.0.2.250": "192.0.2.250/32", "[2001:db8::250]": "2001:db8::250/128 nodad"}
	for address, vip := range vips {
		t.Run("before the machine holds "+address, func(t *testing.T) {
			if got := ask(address); got != "nobody" {
				t.Errorf("%q answers", got)
			}
		})
		s.run("ip address add " + vip + " dev lo")
		t.Cleanup(func() {
			haproxytest.Cleanup(t, "sh", "-c", "ip address delete "+strings.TrimSuffix(vip, " nodad")+" dev lo")
		})
	}
	for _, address := range []string{"127.0.0.1", "[::1]", "192.0.2.250", "[2001:db8::250]"} {
		if got := ask(address); got != "s1" {
			t.Errorf("%s: %q, want s1", address, got)
		}
	}
	if s.worker() != process {
		t.Error("HAProxy was reloaded meanwhile")
	}
}
