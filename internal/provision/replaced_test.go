package provision

import (
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// TestWhatKeptTheTimeKeepsItAgain installs chrony on a machine that the distribution's own daemon keeps the time of, which has to go for it, and
// gives it back.
func TestWhatKeptTheTimeKeepsItAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after UnitState
		noMirror      bool
		chrony        string
		warnings      int
	}{
		"it ran":                    {before: UnitState{"loaded", "enabled", "active"}, after: UnitState{"loaded", "enabled", "active"}, chrony: "not-found"},
		"a person had it off":       {before: UnitState{"loaded", "disabled", "inactive"}, after: UnitState{"loaded", "disabled", "inactive"}, chrony: "not-found"},
		"it cannot be had any more": {before: UnitState{"loaded", "enabled", "active"}, after: UnitState{Load: "not-found", Active: "inactive"}, noMirror: true, chrony: "active", warnings: 1},
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
			b.noMirror = c.noMirror
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
			if files := b.Files(); len(files) != 0 {
				t.Errorf("left: %v", files)
			}
		})
	}
}
