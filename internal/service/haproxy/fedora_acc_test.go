package haproxy_test

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy/haproxytest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

//go:embed testdata/fedora.cfg
var fedora string

// fedoraUnit makes Debian's unit run HAProxy as Fedora's does.
const fedoraUnit = `[Service]
EnvironmentFile=
EnvironmentFile=-/etc/sysconfig/haproxy
Environment=
Environment="CONFIG=/etc/haproxy/haproxy.cfg" "PIDFILE=/run/haproxy.pid" "CFGDIR=/etc/haproxy/conf.d"
ExecStartPre=
ExecStartPre=/usr/sbin/haproxy -f $CONFIG -f $CFGDIR -c -q $OPTIONS
ExecStart=
ExecStart=/usr/sbin/haproxy -Ws -f $CONFIG -f $CFGDIR -p $PIDFILE $OPTIONS
ExecReload=
ExecReload=/usr/sbin/haproxy -f $CONFIG -f $CFGDIR -c -q $OPTIONS
ExecReload=/bin/kill -USR2 $MAINPID
`

// asFedora gives the machine Fedora's unit and configuration, with a file of a person's in conf.d, until the test ends.
func (s *site) asFedora(confD string) {
	s.t.Helper()
	s.run("cp /etc/haproxy/haproxy.cfg /tmp/debian.cfg; systemctl is-active haproxy > /tmp/debian.active || true")
	s.t.Cleanup(func() {
		haproxytest.Cleanup(s.t, "sh", "-c", `systemctl stop haproxy; rm -r /etc/systemd/system/haproxy.service.d /etc/haproxy/conf.d
			cp /tmp/debian.cfg /etc/haproxy/haproxy.cfg; systemctl daemon-reload; ! grep -qx active /tmp/debian.active || systemctl start haproxy`)
	})
	for path, content := range map[string]string{
		"/etc/systemd/system/haproxy.service.d/fedora.conf": fedoraUnit, haproxy.ConfigPath: fedora, "/etc/haproxy/conf.d/mine.cfg": confD,
	} {
		s.run(fmt.Sprintf("mkdir -p $(dirname %[1]s) && cat > %[1]s <<'END'\n%[2]sEND", path, content))
	}
	s.run("systemctl daemon-reload && systemctl restart haproxy")
}

func TestAccFedorasLayoutAndAPersonsFilesInConfD(t *testing.T) {
	s := newSite(t)
	theirs := server(t, "theirs")
	s.asFedora(fmt.Sprintf("frontend mine\n  bind *:8085\n  http-request return status 200 content-type text/plain string mine\n"+
		"backend theirs\n  server s1 %s:%d\n", theirs.Address, theirs.Port))
	process := func() string { return s.run("pgrep -P $(systemctl show -P MainPID haproxy) | tail -n 1") }
	asks := func(want map[int]string) {
		t.Helper()
		for port, name := range want {
			if got := s.run(fmt.Sprintf("curl -s --max-time 5 http://127.0.0.1:%d/ || true", port)); got != name {
				t.Errorf("port %d: %q, want %q", port, got, name)
			}
		}
	}
	asks(map[int]string{8085: "mine"})

	// Fedora's socket may not change servers: without the base, everything takes a reload.
	_, backend := s.proxies(map[string]haproxy.Server{"s1": server(t, "s1")})
	asks(map[int]string{8080: "s1", 8085: "mine"})
	before := process()
	backend.Servers = map[string]haproxy.Server{"s2": server(t, "s2")}
	s.commit(func(tree transaction.Tree) error { return haproxy.SetProxy(tree, backend, owner.Mark{}) })
	if process() == before {
		t.Error("servers changed without a reload")
	}
	asks(map[int]string{8080: "s2", 8085: "mine"})

	// The base is mode tcp, and what a person wrote goes on inheriting Fedora's mode http.
	s.commit(func(tree transaction.Tree) error {
		return errors.Join(
			haproxy.SetBase(tree, haproxy.Base{Mode: "tcp", Timeouts: map[string]string{"connect": "5s", "client": "1m", "server": "1m"}}, owner.Mark{}),
			haproxy.SetProxy(tree, haproxy.Frontend{Name: "to-theirs", Mode: "http", Binds: []haproxy.Bind{{Address: "*", Port: 8086}}, DefaultBackend: "theirs"}, owner.Mark{}),
		)
	})
	asks(map[int]string{8080: "s2", 8085: "mine", 8086: "theirs"})
	before = process()
	backend.Servers = map[string]haproxy.Server{"s2": backend.Servers["s2"], "s3": server(t, "s3")}
	s.commit(func(tree transaction.Tree) error { return haproxy.SetProxy(tree, backend, owner.Mark{}) })
	if process() != before {
		t.Error("a server is added by a reload")
	}

	tree, err := s.engine.Snapshot(t.Context(), s.host, haproxy.Daemon{})
	if err != nil {
		t.Fatal(err)
	}
	status, err := haproxy.ReadStatus(t.Context(), s.host, tree)
	if f := status.Frontends["mine"]; err != nil || len(f.Binds) != 1 || !f.Binds[0].Listening || len(status.Backends["test"].Servers) != 2 {
		t.Errorf("%+v, %v", status, err)
	}
	// The checker reads conf.d too.
	again := haproxy.Frontend{Name: "mine", Mode: "tcp", Binds: []haproxy.Bind{{Address: "*", Port: 8087}}, DefaultBackend: "nowhere"}
	err = s.engine.Commit(t.Context(), s.host, haproxy.Daemon{}, transaction.Edit{Owner: "test", Apply: func(tree transaction.Tree) error { return haproxy.SetProxy(tree, again, owner.Mark{}) }})
	var refused *transaction.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "same name as frontend 'mine'") {
		t.Errorf("%v", err)
	}
	if err := haproxy.AddProxy(tree, again, owner.Mark{}); err == nil || !strings.Contains(err.Error(), `conf.d/mine.cfg has a section "frontend mine"`) {
		t.Errorf("%v", err)
	}

	haproxytest.GiveBack(t, &s.engine, s.host)
	if got := acctest.On(t, "svc-1", "cat", haproxy.ConfigPath); got != strings.TrimSpace(fedora) {
		t.Errorf("Fedora's file did not come back:\n%s", got)
	}
}
