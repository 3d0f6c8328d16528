package provision

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// A machine that is made anew is the service node that the one before it was: its services are installed and enabled, and their users noted.
func TestAMachineThatIsMadeAnewIsTheServiceNodeThatItWas(t *testing.T) {
	t.Parallel()
	old, engine := newBox("bind", "keepalived"), &transaction.Engine{}
	theirs := owner.Mark{ID: "theirs", Workspace: "elsewhere"}
	prepare := func(user owner.Mark, services ...string) {
		t.Helper()
		if _, err := Prepare(t.Context(), old, tenant{mark: user}, services, services, true); err != nil {
			t.Fatal(err)
		}
	}
	prepare(mine, "bind", "keepalived")
	prepare(theirs, "bind", "nftables")
	c, err := TakeContents(t.Context(), old, engine)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.listServices(); !slices.Equal(got, []string{"bind", "nftables", "keepalived"}) {
		t.Errorf("its services are %v", got)
	}
	made := newBox("bind")
	if warnings, err := c.Put(t.Context(), made, engine); err != nil || len(warnings) > 0 {
		t.Fatalf("%v, %v", warnings, err)
	}
	inv, err := Look(t.Context(), made)
	if err != nil || !inv.Has("bind") || !inv.Has("nftables") || !inv.Has("keepalived") {
		t.Errorf("%+v, %v", inv, err)
	}
	if got := inv.Record; len(got.Users) != 2 || !slices.Equal(got.Users["mine"].Services, []string{"bind", "keepalived"}) || got.Users["theirs"].Workspace != theirs.Workspace {
		t.Errorf("its users are %v", got.Users)
	}
	// What the new machine was like before is its own.
	if got := inv.Record.Before; got["bind"].Enabled != "disabled" || got["keepalived"].Load != "not-found" {
		t.Errorf("it was %v before", got)
	}
}

func TestAMachineThatWasNoServiceNodeIsNone(t *testing.T) {
	t.Parallel()
	c, err := TakeContents(t.Context(), newBox("bind"), &transaction.Engine{})
	if err != nil {
		t.Fatal(err)
	}
	made := newBox()
	if _, err := c.Put(t.Context(), made, &transaction.Engine{}); err != nil || len(made.ran) > 0 {
		t.Errorf("%v, ran %q", err, made.ran)
	}
}

// Packages are installed on the new machine where the old one's users let them be.
func TestPackagesAreLeftToWhoKeepsThem(t *testing.T) {
	t.Parallel()
	old := newBox("bind")
	if _, err := Prepare(t.Context(), old, tenant{mark: mine}, []string{"bind"}, []string{"bind"}, false); err != nil {
		t.Fatal(err)
	}
	c, err := TakeContents(t.Context(), old, &transaction.Engine{})
	if err != nil {
		t.Fatal(err)
	}
	made := newBox()
	_, err = c.Put(t.Context(), made, &transaction.Engine{})
	if !errors.As(err, new(*MissingError)) || !strings.Contains(err.Error(), "apt-get install bind9") || made.installs() != 0 {
		t.Errorf("%v, ran %q", err, made.ran)
	}
}

// What has something to serve and does not run is stopped; what has nothing to serve need not run.
func TestAServiceThatHasSomethingToServeAndDoesNotRunIsStopped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		written, state string
		stopped        []string
	}{
		"it runs":           {"global_defs {\n}\n", "active", nil},
		"it is stopped":     {"global_defs {\n}\n", "inactive", []string{"keepalived"}},
		"it serves nothing": {"", "inactive", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox("keepalived")
			if _, err := Prepare(t.Context(), b, tenant{mark: mine}, []string{"keepalived"}, []string{"keepalived"}, true); err != nil {
				t.Fatal(err)
			}
			if c.written != "" {
				b.Put("/var/lib/virtcluster/keepalived/original.json", `{"files": []}`)
				b.Put("/etc/keepalived/keepalived.conf", c.written)
			}
			b.On(hosttest.Answer(c.state+"\n", 0, ""), "systemctl", "show")
			stopped, err := FindStopped(t.Context(), b, &transaction.Engine{})
			if err != nil || !slices.Equal(stopped, c.stopped) {
				t.Errorf("%v, %v", stopped, err)
			}
		})
	}
}
