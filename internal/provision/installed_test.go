package provision

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/chrony"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// TestWhatKeptTheTimeKeepsItAgain installs chrony on a machine that the distribution's own daemon keeps the time of, which has to go for it, and
// gives it back.
func TestWhatKeptTheTimeKeepsItAgain(t *testing.T) {
	t.Parallel()
	theirs := string(chrony.Server{LocalStratum: 8}.Render(owner.Mark{ID: "abcdefgh12345678", Workspace: "0123456789abcdef"}))
	for name, c := range map[string]struct {
		before, after UnitState
		noMirror      bool
		served        string
		chrony        string
		warnings      int
	}{
		"it ran":                    {before: UnitState{"loaded", "enabled", "active"}, after: UnitState{"loaded", "enabled", "active"}, chrony: "not-found"},
		"a person had it off":       {before: UnitState{"loaded", "disabled", "inactive"}, after: UnitState{"loaded", "disabled", "inactive"}, chrony: "not-found"},
		"it cannot be had any more": {before: UnitState{"loaded", "enabled", "active"}, after: UnitState{Load: "not-found", Active: "inactive"}, noMirror: true, chrony: "active", warnings: 1},
		"another state's is served": {before: UnitState{"loaded", "enabled", "active"}, after: UnitState{Load: "not-found", Active: "inactive"}, served: theirs, chrony: "active", warnings: 1},
		"nothing kept it before":    {before: UnitState{Load: "not-found", Active: "inactive"}, after: UnitState{Load: "not-found", Active: "inactive"}, chrony: "inactive"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, services := newBox(), []string{"chrony"}
			if c.before.Load == "loaded" {
				b = newBox("systemd-timesyncd")
			}
			b.set("systemd-timesyncd.service", func(u *UnitState) { *u = c.before })
			if _, err := Prepare(t.Context(), b, tenant{mark: mine}, services, services, true); err != nil {
				t.Fatal(err)
			}
			if slices.Contains(b.installed, "systemd-timesyncd") || b.units["chrony.service"].Active != "active" {
				t.Fatalf("it has %q, and chrony is %+v", b.installed, b.units["chrony.service"])
			}
			if b.noMirror = c.noMirror; c.served != "" {
				if err := b.Write(t.Context(), host.File{Path: chrony.Path, Content: []byte(c.served)}); err != nil {
					t.Fatal(err)
				}
			}
			var engine transaction.Engine
			warnings, err := Leave(t.Context(), b, &engine, tenant{mark: mine}, services)
			if err != nil || len(warnings) != c.warnings || c.warnings > 0 && !strings.Contains(warnings[0], "chrony on") {
				t.Fatalf("%q, %v", warnings, err)
			}
			if got := b.units["systemd-timesyncd.service"]; got != c.after {
				t.Errorf("it is %+v", got)
			}
			if got := b.units["chrony.service"]; got.Active != c.chrony && got.Load != c.chrony {
				t.Errorf("chrony is %+v", got)
			}
			if files := b.Files(); (len(files) != 0) != (c.served != "") || b.Content(chrony.Path) != c.served {
				t.Errorf("left: %v", files)
			}
		})
	}
}

// TestAUnitThatComesWithAPackageIsOutOfTheWay has a program that the provider runs in units of its own be installed, be it by a run that was killed
// before it could end the package's own, and be there already.
func TestAUnitThatComesWithAPackageIsOutOfTheWay(t *testing.T) {
	t.Parallel()
	const unit = "kea-dhcp4-server.service"
	ours, theirs := UnitState{"loaded", "disabled", "inactive"}, UnitState{"loaded", "enabled", "active"}
	for name, c := range map[string]struct {
		before        UnitState
		there, killed bool
		after         UnitState
	}{
		"it was installed just now": {before: UnitState{Load: "not-found", Active: "inactive"}, after: ours},
		"it had been removed":       {before: UnitState{Load: "masked", Active: "inactive"}, after: ours},
		"a run before was killed":   {before: UnitState{Load: "not-found", Active: "inactive"}, killed: true, after: ours},
		"a person's runs":           {before: theirs, there: true, after: theirs},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepare := func(b *box) error {
				_, err := Prepare(t.Context(), b, tenant{mark: mine}, []string{"kea"}, []string{"kea"}, true)
				return err
			}
			leave := func(b *box) error {
				_, err := Leave(t.Context(), b, &transaction.Engine{}, tenant{mark: mine}, []string{"kea"})
				return err
			}
			for then, end := range map[string]func(*box) error{"again": prepare, "given back": leave} {
				b := newBox()
				if c.there {
					b = newBox("kea")
				}
				b.set(unit, func(u *UnitState) { *u = c.before })
				b.killed = c.killed
				if err := prepare(b); !errors.Is(err, errKilled) && err != nil || (err != nil) != c.killed {
					t.Fatal(err)
				}
				if b.killed = false; b.units[unit] != c.after && !c.killed {
					t.Errorf("it is %+v", b.units[unit])
				}
				if err := end(b); err != nil || b.units[unit] != c.after || strings.Contains(b.Content(recordPath), "ending") {
					t.Errorf("%s: %v, it is %+v, with the record %s", then, err, b.units[unit], b.Content(recordPath))
				}
				// One that a person has run since is theirs.
				b.set(unit, func(u *UnitState) { *u = theirs })
				if err := prepare(b); err != nil || b.units[unit] != theirs {
					t.Errorf("%s, and a person's since: %v, it is %+v", then, err, b.units[unit])
				}
			}
		})
	}
}

// TestWhatAPersonInstallsAfterAFailedInstallationIsThePersons has a person install what the provider could not, before the service node is
// prepared once more, without that service or with it, and is given back.
func TestWhatAPersonInstallsAfterAFailedInstallationIsThePersons(t *testing.T) {
	t.Parallel()
	theirs := UnitState{"loaded", "enabled", "active"}
	for name, again := range map[string][]string{"kea": {"bind"}, "haproxy": {"haproxy"}, "chrony": {"chrony"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox("bind", "systemd-timesyncd")
			prepare := func(services ...string) error {
				_, err := Prepare(t.Context(), b, tenant{mark: mine}, services, services, true)
				return err
			}
			b.noMirror = true
			if err := prepare(name); !errors.As(err, new(*host.ExitError)) {
				t.Fatalf("the installation ended with %v", err)
			}
			unit := Services[name].Unit
			b.installed = append(b.installed, name)
			b.set(unit, func(u *UnitState) { *u = theirs })
			if err := prepare(again...); err != nil {
				t.Fatal(err)
			}
			if _, err := Leave(t.Context(), b, &transaction.Engine{}, tenant{mark: mine}, again); err != nil {
				t.Fatal(err)
			}
			if b.units[unit] != theirs || !slices.Contains(b.installed, "systemd-timesyncd") || len(b.Files()) > 0 {
				t.Errorf("it is %+v; left: %v", b.units[unit], b.Files())
			}
		})
	}
}
