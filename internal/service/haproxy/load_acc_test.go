package haproxy_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy/haproxytest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// rounds of the load test; each makes every kind of change once.
const rounds = 10

// site is HAProxy on the sandbox's first service node, and an engine to change it with.
type site struct {
	t      *testing.T
	host   host.Host
	engine transaction.Engine
	ip     string
}

func newSite(t *testing.T) *site {
	acctest.InSandbox(t)
	node, ip := haproxytest.Node(t)
	f := fleet.New(fleet.Config{SSH: sshhost.Options{PrivateKeyFile: os.Getenv("SANDBOX_SSH_KEY")}})
	t.Cleanup(func() { _ = f.Close() })
	h, err := f.Host(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, host: h, ip: ip}
	t.Cleanup(func() { haproxytest.GiveBack(t, &s.engine, h) })
	return s
}

func (s *site) commit(edit func(transaction.Tree) error) {
	s.t.Helper()
	if err := s.engine.Commit(s.t.Context(), s.host, haproxy.Daemon{}, transaction.Edit{Owner: "test", Apply: edit}); err != nil {
		s.t.Fatal(err)
	}
}

// worker is the process that serves now: it changes with every reload.
func (s *site) worker() string {
	out, err := s.host.Run(s.t.Context(), host.Cmd{Argv: []string{"sh", "-c", `echo "show info" | socat - UNIX-CONNECT:/run/haproxy/admin.sock | grep ^Pid:`}})
	if err != nil {
		s.t.Fatal(err)
	}
	return string(out)
}

// server answers requests with its own name, and /echo with every line it is sent.
func server(t *testing.T, name string) haproxy.Server {
	l, err := net.Listen("tcp", haproxytest.Gateway+":0")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, name) })
	mux.HandleFunc("/echo", func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		fmt.Fprintln(conn, name)
		for {
			line, err := buffered.ReadString('\n')
			if err != nil {
				return
			}
			fmt.Fprint(conn, line)
		}
	})
	srv := &http.Server{Handler: mux}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	on := true
	return haproxy.Server{Address: haproxytest.Gateway, Port: int64(l.Addr().(*net.TCPAddr).Port), Params: haproxy.Params{Check: &on}, State: haproxy.Ready}
}

// load asks as long as it is not stopped, a new connection for each request.
type load struct {
	requests, failures atomic.Int64
	first              atomic.Value
	stop               context.CancelFunc
	done               sync.WaitGroup
}

func startLoad(url string) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{stop: cancel}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 4 {
		l.done.Go(func() {
			for ctx.Err() == nil {
				l.requests.Add(1)
				resp, err := client.Get(url)
				if err == nil && resp.StatusCode != http.StatusOK {
					err = fmt.Errorf("status %s", resp.Status)
				}
				if err != nil {
					l.failures.Add(1)
					l.first.CompareAndSwap(nil, err.Error())
				} else {
					_ = resp.Body.Close()
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	return l
}

// longLived is a connection that says something all the time, and which server has it.
type longLived struct {
	server string
	err    atomic.Value
	lines  atomic.Int64
	close  func() error
}

func dialLongLived(t *testing.T, address string) *longLived {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET /echo HTTP/1.1\r\nHost: test\r\n\r\n")
	r := bufio.NewReader(conn)
	name, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	l := &longLived{server: strings.TrimSpace(name), close: conn.Close}
	go func() {
		for {
			if _, err := fmt.Fprintln(conn, "still there"); err != nil {
				l.err.Store(err.Error())
				return
			}
			if line, err := r.ReadString('\n'); err != nil || line != "still there\n" {
				l.err.Store(fmt.Sprintf("%q, %v", line, err))
				return
			}
			l.lines.Add(1)
			time.Sleep(20 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { _ = conn.Close() })
	return l
}

func TestAccNoChangeDropsAConnection(t *testing.T) {
	s := newSite(t)
	servers := map[string]haproxy.Server{"s1": server(t, "s1"), "s2": server(t, "s2")}
	extra := server(t, "s3")
	backend := haproxy.Backend{Name: "load", Mode: "tcp", Balance: "roundrobin", DefaultServer: &haproxy.Params{Inter: "500ms", Fall: 2, Rise: 1}, Servers: servers}
	frontend := haproxy.Frontend{Name: "load", Mode: "tcp", Binds: []haproxy.Bind{{Address: "*", Port: 8080}, {Address: "10.0.100.250", Port: 8080, Transparent: true}},
		DefaultBackend: "load", Timeouts: map[string]string{"client": "1m"}}
	put := func(edit func()) func() {
		return func() {
			edit()
			s.commit(func(tree transaction.Tree) error {
				if err := haproxy.SetProxy(tree, backend, owner.Mark{}); err != nil {
					return err
				}
				return haproxy.SetProxy(tree, frontend, owner.Mark{})
			})
		}
	}
	put(func() {})()

	with := func(name string, srv *haproxy.Server) func() {
		return put(func() {
			backend.Servers = cloneServers(backend.Servers)
			if srv == nil {
				delete(backend.Servers, name)
			} else {
				backend.Servers[name] = *srv
			}
		})
	}
	drained, maint := servers["s2"], servers["s2"]
	drained.State, maint.State = haproxy.Drain, haproxy.Maint
	ready := servers["s2"]
	timeouts := []string{"1m", "2m"}
	changes := []struct {
		name    string
		reloads bool
		run     func()
	}{
		{"add a server", false, with("s3", &extra)},
		{"drain a server", false, with("s2", &drained)},
		{"put a server into maintenance", false, with("s2", &maint)},
		{"bring it back", false, with("s2", &ready)},
		{"remove a server", false, with("s3", nil)},
		{"reorder the binds", true, put(func() { frontend.Binds = slices.Clone(frontend.Binds); slices.Reverse(frontend.Binds) })},
		{"change the frontend", true, put(func() { slices.Reverse(timeouts); frontend.Timeouts = map[string]string{"client": timeouts[0]} })},
		{"change the backend", true, put(func() { backend.Timeouts = map[string]string{"server": timeouts[0]} })},
	}

	l := startLoad("http://" + s.ip + ":8080/")
	defer l.done.Wait()
	defer l.stop()
	var conn *longLived
	for conn = dialLongLived(t, s.ip+":8080"); conn.server != "s1"; conn = dialLongLived(t, s.ip+":8080") {
		_ = conn.close() // one on s1 is wanted: s1 is never taken away
	}
	for range rounds {
		for _, c := range changes {
			t.Run(c.name, func(t *testing.T) {
				before := s.worker()
				c.run()
				if reloaded := s.worker() != before; reloaded != c.reloads {
					t.Errorf("%s: reloaded %v, want %v", c.name, reloaded, c.reloads)
				}
				if err := conn.err.Load(); err != nil {
					t.Fatalf("%s: the long-lived connection broke after %d lines: %v", c.name, conn.lines.Load(), err)
				}
				if n := l.failures.Load(); n > 0 {
					t.Fatalf("%s: %d of %d requests failed, the first with: %v", c.name, n, l.requests.Load(), l.first.Load())
				}
			})
		}
	}
	t.Logf("%d rounds of %d changes: 0 of %d requests failed, and one connection lived through %d lines", rounds, len(changes), l.requests.Load(), conn.lines.Load())
}

func TestAccAServerWithConnectionsIsRemovedByAReloadThatKeepsThem(t *testing.T) {
	s := newSite(t)
	backend := haproxy.Backend{Name: "load", Mode: "tcp", Balance: "roundrobin", Servers: map[string]haproxy.Server{"s1": server(t, "s1")}}
	frontend := haproxy.Frontend{Name: "load", Mode: "tcp", Binds: []haproxy.Bind{{Address: "*", Port: 8080}}, DefaultBackend: "load"}
	s.commit(func(tree transaction.Tree) error {
		if err := haproxy.SetProxy(tree, backend, owner.Mark{}); err != nil {
			return err
		}
		return haproxy.SetProxy(tree, frontend, owner.Mark{})
	})
	conn := dialLongLived(t, s.ip+":8080")
	before := s.worker()
	backend.Servers = map[string]haproxy.Server{"s2": server(t, "s2")}
	s.commit(func(tree transaction.Tree) error { return haproxy.SetProxy(tree, backend, owner.Mark{}) })
	if s.worker() == before {
		t.Error("a server with a connection was deleted at run time")
	}
	lines := conn.lines.Load()
	time.Sleep(200 * time.Millisecond)
	if err := conn.err.Load(); err != nil || conn.lines.Load() == lines {
		t.Errorf("the connection broke: %v", err)
	}
	if next := dialLongLived(t, s.ip+":8080"); next.server != "s2" {
		t.Errorf("a new connection goes to %s", next.server)
	}
}

func cloneServers(m map[string]haproxy.Server) map[string]haproxy.Server {
	out := map[string]haproxy.Server{}
	for name, s := range m {
		out[name] = s
	}
	return out
}
