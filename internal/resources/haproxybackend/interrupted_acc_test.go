package haproxybackend_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy/haproxytest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// TestAccAServerIsReadAsItWasBeforeAnInterruptedChange breaks off a change of a server's address when HAProxy has it already, and only its
// end is missing. The next change undoes it, whosever that is: read as if it were done, a plan would be empty and wrong after that.
func TestAccAServerIsReadAsItWasBeforeAnInterruptedChange(t *testing.T) {
	acctest.InSandbox(t)
	node, _ := haproxytest.Node(t)
	reach := func() (*fleet.Fleet, host.Host) {
		t.Helper()
		f := fleet.New(fleet.Config{SSH: sshhost.Options{PrivateKeyFile: os.Getenv("SANDBOX_SSH_KEY")}})
		t.Cleanup(func() { _ = f.Close() })
		h, err := f.Host(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		return f, h
	}
	at := func(address string) haproxy.Backend {
		return haproxy.Backend{Name: "test", Mode: "tcp", Servers: map[string]haproxy.Server{"s1": {Address: address, Port: 80, State: haproxy.Ready}}}
	}
	put := func(ctx context.Context, b haproxy.Backend) error {
		f, h := reach()
		return f.Engine.Commit(ctx, h, haproxy.Daemon{}, transaction.Edit{Owner: "test", Apply: func(tree transaction.Tree) error { return haproxy.SetProxy(tree, b, owner.Mark{}) }})
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		f, h := reach()
		err := f.Engine.Commit(ctx, h, haproxy.Daemon{}, transaction.Edit{Owner: "test", Apply: func(tree transaction.Tree) error { return haproxy.DropProxy(tree, "backend", "test") }})
		_, _, given := f.Engine.GiveBack(ctx, h, haproxy.Daemon{})
		if err := errors.Join(err, given); err != nil {
			t.Error(err)
		}
	})
	if err := put(t.Context(), at("10.0.2.79")); err != nil {
		t.Fatal(err)
	}
	broken := false
	ctx := failpoint.WithJudge(t.Context(), func(what string, answered bool) error {
		if broken = broken || !answered && strings.Contains(what, "end the commit"); broken {
			return errors.New("the test broke the connection")
		}
		return nil
	})
	if err := put(ctx, at("10.0.2.213")); err == nil || !broken {
		t.Fatalf("the change was not interrupted: %v", err)
	}
	read := func(when string) {
		t.Helper()
		f, _ := reach()
		opening := crud.StoreContext{ProviderData: crud.ProviderData{Fleet: f}, Claim: new(owner.Run).Adopt()}
		p, err := crud.OpenPart(t.Context(), opening, node, haproxy.NewBackendPart(part.Identity{Name: "test"}))
		if err != nil {
			t.Fatal(err)
		}
		got, err := haproxy.NewBackendStore(p, "test", at("10.0.2.79").Servers, 0).Get(t.Context())
		if err != nil || got.Servers["s1"].Address != "10.0.2.79" {
			t.Errorf("%s the server is at %s: %v", when, got.Servers["s1"].Address, err)
		}
	}
	if served := acctest.On(t, "svc-1", "sh", "-c", "ls /var/lib/virtcluster/haproxy/journal.json && grep 10.0.2.213 /etc/haproxy/haproxy.cfg"); served == "" {
		t.Error("nothing of it is there")
	}
	read("after an interrupted change")
	if err := put(t.Context(), haproxy.Backend{Name: "other", Mode: "tcp"}); err != nil {
		t.Fatal(err)
	}
	read("after the next one")
	f, h := reach()
	if err := f.Engine.Commit(t.Context(), h, haproxy.Daemon{}, transaction.Edit{Owner: "test", Apply: func(tree transaction.Tree) error { return haproxy.DropProxy(tree, "backend", "other") }}); err != nil {
		t.Fatal(err)
	}
}
