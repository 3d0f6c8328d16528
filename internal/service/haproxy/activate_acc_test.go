package haproxy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

func (s *site) run(script string) string {
	s.t.Helper()
	out, err := s.host.Run(s.t.Context(), host.Cmd{Argv: []string{"sh", "-c", script}})
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// observe returns what the running process does with the servers of a backend.
func (s *site) observe(tree transaction.Tree, written haproxy.Backend, known map[string]haproxy.Server) (haproxy.Backend, error) {
	running, err := haproxy.AskRunning(s.t.Context(), s.host, tree)
	return running.Observe(written, known), err
}

// proxies puts a frontend on port 8080 and a backend of the name "test".
func (s *site) proxies(servers map[string]haproxy.Server) (haproxy.Frontend, haproxy.Backend) {
	s.t.Helper()
	f := haproxy.Frontend{Name: "test", Mode: "tcp", Binds: []haproxy.Bind{{Address: "*", Port: 8080}}, DefaultBackend: "test"}
	b := haproxy.Backend{Name: "test", Mode: "tcp", Balance: "roundrobin", Servers: servers}
	s.commit(func(tree transaction.Tree) error {
		return errors.Join(haproxy.SetProxy(tree, b, owner.Mark{}), haproxy.SetProxy(tree, f, owner.Mark{}))
	})
	return f, b
}

// The checker sees neither an address in use nor a directory that is missing. The second failure comes at once,
// so that the reload which puts the old configuration back falls into the same second.
func TestAccWhatOnlyAReloadFindsRollsBackWithHAProxysWords(t *testing.T) {
	s := newSite(t)
	f, _ := s.proxies(map[string]haproxy.Server{"s1": server(t, "s1")})
	f.Binds = []haproxy.Bind{{Address: "*", Port: 22}}
	before := s.run("cat " + haproxy.ConfigPath)
	for words, edit := range map[string]func(transaction.Tree) error{
		"cannot bind socket (Address already in use) for [0.0.0.0:22]": func(tree transaction.Tree) error { return haproxy.SetProxy(tree, f, owner.Mark{}) },
		"/nowhere/haproxy.sock": func(tree transaction.Tree) error {
			return haproxy.SetBase(tree, haproxy.Base{Mode: "tcp", Extra: []string{"stats socket /nowhere/haproxy.sock"}}, owner.Mark{})
		},
	} {
		t.Run(words, func(t *testing.T) {
			start := time.Now()
			err := s.engine.Commit(t.Context(), s.host, haproxy.Daemon{}, transaction.Edit{Owner: "test", Apply: edit})
			var back *transaction.RolledBackError
			if !errors.As(err, &back) || back.Restore != nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%v", err)
			}
			if d := time.Since(start); d > 12*time.Second {
				t.Errorf("it took %v to find %q", d, words)
			}
			if after := s.run("cat " + haproxy.ConfigPath); after != before {
				t.Errorf("the file is another:\n%s", after)
			}
			if c := dialLongLived(t, s.ip+":8080"); c.server != "s1" {
				t.Errorf("%s answers", c.server)
			}
		})
	}
}

func TestAccWhatDoesNotStartIsSaidAndTheOldConfigurationStarts(t *testing.T) {
	s := newSite(t)
	f, _ := s.proxies(map[string]haproxy.Server{"s1": server(t, "s1")})
	s.run("systemctl stop haproxy.service")
	f.Binds = []haproxy.Bind{{Address: "*", Port: 22}}
	err := s.engine.Commit(t.Context(), s.host, haproxy.Daemon{}, transaction.Edit{Owner: "test", Apply: func(tree transaction.Tree) error {
		return haproxy.SetProxy(tree, f, owner.Mark{})
	}})
	for _, words := range []string{"start haproxy on ", "cannot bind socket"} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q is not in: %v", words, err)
		}
	}
	if c := dialLongLived(t, s.ip+":8080"); c.server != "s1" {
		t.Errorf("%s answers", c.server)
	}
}

// A unit that checks and signals is signalled; one that somebody made do more on a reload does it.
func TestAccUnitWithAReloadOfItsOwnIsAskedForIt(t *testing.T) {
	s := newSite(t)
	f, _ := s.proxies(map[string]haproxy.Server{"s1": server(t, "s1")})
	reload := func(maxconn int64, want string) {
		t.Helper()
		f.Maxconn = maxconn
		s.commit(func(tree transaction.Tree) error { return haproxy.SetProxy(tree, f, owner.Mark{}) })
		if got := s.run("cat /run/reloads 2>/dev/null || :"); got != want {
			t.Errorf("the unit's own reload left %q, want %q", got, want)
		}
		if c := dialLongLived(t, s.ip+":8080"); c.server != "s1" {
			t.Errorf("%s answers", c.server)
		}
	}
	reload(100, "")
	s.run(`mkdir -p /run/systemd/system/haproxy.service.d
		printf '[Service]\nExecReload=/bin/sh -c "echo reloaded >>/run/reloads"\n' >/run/systemd/system/haproxy.service.d/own.conf
		systemctl daemon-reload`)
	defer s.run("rm -r /run/systemd/system/haproxy.service.d /run/reloads; systemctl daemon-reload")
	reload(101, "reloaded")
}

// What drains is left to the backend's own update, which the plan of that showed: TestAccWhatIsDrainedAtRunTimeStaysSoWhileOthersChange.
func TestAccWhatAnOperatorOrdersAtRunTimeIsSeenAndMended(t *testing.T) {
	s := newSite(t)
	_, want := s.proxies(map[string]haproxy.Server{"s1": server(t, "s1"), "s2": server(t, "s2"), "s3": server(t, "s3")})
	for command, check := range map[string]func(haproxy.Backend) bool{
		"set server test/s1 state maint":                     func(b haproxy.Backend) bool { return b.Servers["s1"].State == haproxy.Maint },
		"set server test/s3 weight 7":                        func(b haproxy.Backend) bool { return b.Servers["s3"].Weight != nil && *b.Servers["s3"].Weight == 7 },
		"set server test/s3 addr 192.0.2.1 port 80":          func(b haproxy.Backend) bool { return b.Servers["s3"].Address == "192.0.2.1" },
		"add server test/s4 192.0.2.1:8080":                  nil,
		"set server test/s1 state maint; del server test/s1": nil,
	} {
		t.Run(command, func(t *testing.T) {
			s.run(fmt.Sprintf("echo '%s' | socat - UNIX-CONNECT:/run/haproxy/admin.sock", command))
			tree, err := s.engine.Snapshot(t.Context(), s.host, haproxy.Daemon{})
			if err != nil {
				t.Fatal(err)
			}
			written, err := haproxy.FindBackend(tree, "test")
			if err != nil {
				t.Fatal(err)
			}
			if seen, err := s.observe(tree, written, want.Servers); err != nil || check != nil && !check(seen) {
				t.Errorf("after %q: %+v, %v", command, seen.Servers, err)
			}
			s.commit(func(tree transaction.Tree) error { return haproxy.SetProxy(tree, want, owner.Mark{}) })
			if seen, err := s.observe(tree, written, want.Servers); err != nil || fmt.Sprint(seen.Servers) != fmt.Sprint(written.Servers) {
				t.Errorf("%q is not mended: %+v, %v", command, seen.Servers, err)
			}
			if err := (haproxy.Daemon{}).Verify(t.Context(), s.host, tree); err != nil {
				t.Errorf("%q is not mended: %v", command, err)
			}
		})
	}
}

// What somebody ordered of the servers of a person's own backend outlives a reload that is this provider's.
func TestAccWhatAnOperatorOrdersOfAPersonsServersOutlivesAReload(t *testing.T) {
	s := newSite(t)
	f, _ := s.proxies(map[string]haproxy.Server{"s1": server(t, "s1")})
	s.run("cp " + haproxy.ConfigPath + " /run/haproxy.before; printf '\nbackend theirs\n  mode tcp\n  server s1 192.0.2.1:80\n  server s2 192.0.2.2:80\n  server s3 192.0.2.3:80\n' >>" + haproxy.ConfigPath + "; systemctl reload haproxy.service")
	defer s.run("mv /run/haproxy.before " + haproxy.ConfigPath + "; systemctl reload haproxy.service")
	tell := func(command string) string {
		return s.run("echo '" + command + "' | socat - UNIX-CONNECT:/run/haproxy/admin.sock")
	}
	for _, order := range []string{"server theirs/s1 state maint", "server theirs/s2 weight 7", "server theirs/s3 addr 192.0.2.33 port 81"} {
		tell("set " + order)
	}
	// The columns of what an operator orders: name, address, states, weight and port, without the time since.
	look := func() string {
		return s.run("echo 'show servers state theirs' | socat - UNIX-CONNECT:/run/haproxy/admin.sock | awk 'NF > 10 { print $4, $5, $7, $8, $19 }'")
	}
	before, worker := look(), s.worker()
	f.Maxconn = 100
	s.commit(func(tree transaction.Tree) error { return haproxy.SetProxy(tree, f, owner.Mark{}) })
	if after := look(); after != before || !strings.Contains(before, "192.0.2.33") {
		t.Errorf("after the reload:\n%s\nbefore:\n%s", after, before)
	}
	if s.worker() == worker {
		t.Error("nothing was reloaded")
	}
}

func TestAccDrainingWaitsForSessionsInOldWorkersToo(t *testing.T) {
	s := newSite(t)
	f, b := s.proxies(map[string]haproxy.Server{"s1": server(t, "s1"), "s2": server(t, "s2")})
	var conn *longLived
	for conn = dialLongLived(t, s.ip+":8080"); conn.server != "s1"; conn = dialLongLived(t, s.ip+":8080") {
		_ = conn.close()
	}
	// A reload leaves the connection to the old worker.
	f.Maxconn = 100
	s.commit(func(tree transaction.Tree) error { return haproxy.SetProxy(tree, f, owner.Mark{}) })
	b.Servers = cloneServers(b.Servers)
	drained := b.Servers["s1"]
	drained.State = haproxy.Drain
	b.Servers["s1"] = drained
	s.commit(func(tree transaction.Tree) error { return haproxy.SetProxy(tree, b, owner.Mark{}) })
	wait := func(ctx context.Context, limit time.Duration) (map[string]int64, error) {
		tree, err := s.engine.Snapshot(ctx, s.host, haproxy.Daemon{})
		if err != nil {
			t.Fatal(err)
		}
		return haproxy.WaitDrained(ctx, s.host, tree, "test", []string{"s1"}, limit)
	}
	if left, err := wait(t.Context(), time.Second); left["s1"] != 1 || err != nil {
		t.Errorf("%v sessions are left, %v; want the one of the old worker", left, err)
	}
	if err := conn.err.Load(); err != nil {
		t.Errorf("the connection broke: %v", err)
	}
	time.AfterFunc(time.Second, func() { _ = conn.close() })
	start := time.Now()
	if left, err := wait(t.Context(), 20*time.Second); len(left) != 0 || err != nil || time.Since(start) > 10*time.Second {
		t.Errorf("%v sessions are left after %v, %v", left, time.Since(start), err)
	}
}
