package haproxybackend_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/haproxybackend"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy/haproxytest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// hold opens a connection through HAProxy to a server that keeps it, and is there when the server greets.
func hold(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "hello\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return conn
}

// openNode connects to the service node, and has it given back at the end without the sections "test".
func openNode(t *testing.T, node string) (*fleet.Fleet, host.Host) {
	t.Helper()
	f := fleet.New(fleet.Config{SSH: sshhost.Options{PrivateKeyFile: os.Getenv("SANDBOX_SSH_KEY")}})
	t.Cleanup(func() { _ = f.Close() })
	h, err := f.Host(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		err := f.Engine.Commit(ctx, h, haproxy.Daemon{}, transaction.Edit{Owner: "test", Apply: func(tree transaction.Tree) error {
			return errors.Join(haproxy.DropProxy(tree, "backend", "test"), haproxy.DropProxy(tree, "frontend", "test"))
		}})
		_, _, given := f.Engine.GiveBack(ctx, h, haproxy.Daemon{})
		if err := errors.Join(err, given); err != nil {
			t.Error(err)
		}
	})
	return f, h
}

func TestAccADrainThatComesToItsLimitWarnsOfTheSessionsThatAreLeft(t *testing.T) {
	acctest.InSandbox(t)
	node, ip := haproxytest.Node(t)
	l, err := net.Listen("tcp", haproxytest.Gateway+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, "hello")
			go func() { _, _ = io.Copy(io.Discard, conn); _ = conn.Close() }()
		}
	}()
	f, h := openNode(t, node)
	server := haproxy.Server{Address: haproxytest.Gateway, Port: int64(l.Addr().(*net.TCPAddr).Port), State: haproxy.Ready}
	ready := haproxy.Backend{Name: "test", Mode: "tcp", Servers: map[string]haproxy.Server{"s1": server}}
	server.State = haproxy.Drain
	drains := haproxy.Backend{Name: "test", Mode: "tcp", Servers: map[string]haproxy.Server{"s1": server}}
	frontend := haproxy.Frontend{Name: "test", Mode: "tcp", Binds: []haproxy.Bind{{Address: "*", Port: 8080}}, DefaultBackend: "test"}
	err = f.Engine.Commit(t.Context(), h, haproxy.Daemon{}, transaction.Edit{Owner: "test", Apply: func(tree transaction.Tree) error {
		return errors.Join(haproxy.SetProxy(tree, ready, owner.Mark{}), haproxy.SetProxy(tree, frontend, owner.Mark{}))
	}})
	if err != nil {
		t.Fatal(err)
	}
	update := func(prior, want haproxy.Backend, limit string) []string {
		s, err := haproxybackend.Open(t.Context(), f, node, "test", limit)
		if err == nil {
			_, err = s.Update(t.Context(), prior, want)
		}
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, p := range s.(crud.Warner).Warnings() {
			said = append(said, crud.AttributePath(p.Path).String()+": "+p.Detail)
		}
		return said
	}
	held := []net.Conn{hold(t, ip+":8080"), hold(t, ip+":8080")}
	at := path.Root("servers").AtMapKey("s1").AtName("state").String()
	if said := update(ready, drains, "1s"); len(said) != 1 || !strings.HasPrefix(said[0], at+": 2 of its sessions had not ended after 1s") {
		t.Errorf("with two sessions: %q", said)
	}
	for _, conn := range held {
		_ = conn.Close()
	}
	if said := append(update(drains, ready, "0s"), update(ready, drains, "30s")...); said != nil {
		t.Errorf("without sessions: %q", said)
	}
}

func TestAccWhatIsDrainedAtRunTimeStaysSoWhileOthersChange(t *testing.T) {
	acctest.InSandbox(t)
	node, _ := haproxytest.Node(t)
	f, h := openNode(t, node)
	change := func(apply func(transaction.Tree) error) transaction.Tree {
		t.Helper()
		err := f.Engine.Commit(t.Context(), h, haproxy.Daemon{}, transaction.Edit{Owner: "test", Apply: apply})
		tree, errRead := f.Engine.Snapshot(t.Context(), h, haproxy.Daemon{})
		if err := errors.Join(err, errRead); err != nil {
			t.Fatal(err)
		}
		return tree
	}
	put := func(p haproxy.Proxy) func(transaction.Tree) error {
		return func(tree transaction.Tree) error { return haproxy.SetProxy(tree, p, owner.Mark{}) }
	}
	one := haproxy.Server{Address: haproxytest.Gateway, Port: 81, State: haproxy.Ready}
	ready := haproxy.Backend{Name: "test", Mode: "tcp", Servers: map[string]haproxy.Server{"s1": one}}
	tree := change(func(tree transaction.Tree) error {
		base := haproxy.Base{Mode: "tcp", Timeouts: map[string]string{"client": "1m", "connect": "1m", "server": "1m"}}
		return errors.Join(haproxy.SetBase(tree, base, owner.Mark{}), put(ready)(tree))
	})
	t.Cleanup(func() { // before the sections "test" go
		edit := transaction.Edit{Owner: "test", Apply: haproxy.DropBase}
		if err := f.Engine.Commit(context.WithoutCancel(t.Context()), h, haproxy.Daemon{}, edit); err != nil {
			t.Error(err)
		}
	})
	if err := haproxy.DrainServers(t.Context(), h, tree, []haproxy.ServerRef{{Backend: "test", Name: "s1"}}); err != nil {
		t.Fatal(err)
	}
	state := func() string {
		t.Helper()
		running, err := haproxy.AskRunning(t.Context(), h, tree)
		if err != nil {
			t.Fatal(err)
		}
		return running.Observe(ready, ready.Servers).Servers["s1"].State
	}
	update := func(prior, want haproxy.Backend) {
		t.Helper()
		s, err := haproxybackend.Open(t.Context(), f, node, "test", "0s")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Update(t.Context(), prior, want); err != nil || got.Servers["s1"].State != haproxy.Ready {
			t.Errorf("the update leads to %+v, %v", got, err)
		}
	}
	tree = change(put(haproxy.Frontend{Name: "test", Mode: "tcp", Binds: []haproxy.Bind{{Address: "*", Port: 8080}}, DefaultBackend: "test"}))
	if got := state(); got != haproxy.Drain {
		t.Errorf("after a reload it is %s", got)
	}
	more := ready
	more.Servers = map[string]haproxy.Server{"s1": one, "s2": {Address: haproxytest.Gateway, Port: 82, State: haproxy.Ready}}
	update(ready, more)
	if got := state(); got != haproxy.Drain {
		t.Errorf("after a server more it is %s", got)
	}
	one.State = haproxy.Drain
	drained := more
	drained.Servers = map[string]haproxy.Server{"s1": one, "s2": more.Servers["s2"]}
	update(drained, more)
	if got := state(); got != haproxy.Ready {
		t.Errorf("after a plan that showed it, it is %s", got)
	}
}
