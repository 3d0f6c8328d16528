package provision

import (
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/systemd"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision/packages"
)

// Inventory is what a machine has.
type Inventory struct {
	// OS is the distribution's name for people: "Debian GNU/Linux 12 (bookworm)".
	OS     string
	Family packages.Family
	// Versions of the services that are installed, and of what these replace.
	Versions map[string]string
	// Units of the services, installed or not, and of what these replace.
	Units map[string]UnitState
	// Record is what was found on the machine before it was prepared.
	Record Record
}

// UnitState is a systemd unit as `systemctl show` tells it.
type UnitState struct {
	// Load is "loaded", "not-found" or "masked"; Enabled is "enabled", "disabled", "static" and so on;
	// Active is "active", "inactive", "failed" and so on.
	Load, Enabled, Active string
}

func (u UnitState) isEnabled() bool {
	switch u.Enabled {
	case "enabled", "enabled-runtime", "static", "alias", "indirect", "generated", "linked":
		return u.Load == "loaded"
	}
	return false
}

// isActive says whether the unit is up; its state was understood when it was read.
func (u UnitState) isActive() bool {
	up, err := systemd.Up(u.Active)
	return err == nil && up
}

// inventoryScript prints what the machine has of services, as lines that parseInventory reads.
//
//go:embed inventory.sh
var inventoryScript string

// Look reads a machine's inventory in one round trip.
func Look(ctx context.Context, h host.Host) (Inventory, error) { return takeInventory(ctx, h, true) }

// lookTries is how often a machine is looked at that answers, and cannot say: systemctl waits 25 seconds each time.
const lookTries = 3

// takeInventory does without the versions where nobody wants to know them: each costs the start of a daemon.
func takeInventory(ctx context.Context, h host.Host, versions bool) (Inventory, error) {
	args := []string{recordPath}
	all := lookedAt()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		if !versions {
			s.Version = ":"
		}
		args = append(args, name, s.Command, s.Version, s.Unit)
	}
	cmd := host.RepeatableScript("look at the services", inventoryScript, args...)
	out, err := h.Run(ctx, cmd)
	// A machine that is just starting, or emulated, may let systemd's answers be late: looking again does no harm.
	for tries := 1; tries < lookTries && errors.As(err, new(*host.ExitError)); tries++ {
		out, err = h.Run(ctx, cmd)
	}
	if err != nil {
		return Inventory{}, err
	}
	inv, err := parseInventory(string(out))
	if err != nil {
		return inv, fmt.Errorf("look at the services of %s: %w", h, err)
	}
	return inv, nil
}

func parseInventory(text string) (Inventory, error) {
	inv := Inventory{Versions: map[string]string{}, Units: map[string]UnitState{}}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		// The last word is the value, in base64; one that is empty is no word at all.
		fields := map[string]int{"os": 1, "record": 1, "version": 2, "units": 1, "end": 1}
		if len(words) == 0 || len(words) < fields[words[0]] {
			return inv, fmt.Errorf("unexpected answer %.80q", line)
		}
		name, value := "", []byte(nil)
		if fields[words[0]] == 2 {
			name = words[1]
		}
		if n := fields[words[0]]; len(words) > n {
			var err error
			if value, err = base64.StdEncoding.DecodeString(words[n]); err != nil {
				return inv, fmt.Errorf("unexpected answer %.80q: %w", line, err)
			}
		}
		if words[0] == "end" {
			return inv, nil
		}
		if err := inv.takeField(words[0], name, value); err != nil {
			return inv, err
		}
	}
	return inv, errors.New("the answer is incomplete")
}

// takeField reads one field of the answer.
func (inv *Inventory) takeField(field, name string, value []byte) (err error) {
	switch field {
	case "os":
		release := packages.ParseOSRelease(value)
		inv.OS, inv.Family = release["PRETTY_NAME"], packages.FamilyOf(release)
	case "record":
		inv.Record, err = parseRecord(value)
	case "version":
		inv.Versions[name] = firstVersion(string(value))
	case "units":
		err = inv.takeUnits(string(value))
	}
	return err
}

// takeUnits reads the states of the units of all services, in the order of their names.
func (inv *Inventory) takeUnits(text string) error {
	states := strings.Split(strings.TrimSpace(text), "\n\n")
	all := lookedAt()
	if len(states) != len(all) {
		return fmt.Errorf("systemd was asked about %d units and answered %.200q", len(all), text)
	}
	for i, name := range slices.Sorted(maps.Keys(all)) {
		unit := parseUnit(states[i])
		if _, err := systemd.Up(unit.Active); err != nil {
			return fmt.Errorf("%s: %w", all[name].Unit, err)
		}
		inv.Units[name] = unit
	}
	return nil
}

func parseUnit(text string) UnitState {
	var u UnitState
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "LoadState":
			u.Load = value
		case "UnitFileState":
			u.Enabled = value
		case "ActiveState":
			u.Active = value
		}
	}
	return u
}

var versionNumber = regexp.MustCompile(`\d+(\.\d+)+`)

// firstVersion picks the first dotted number; what says none is "unknown".
func firstVersion(text string) string {
	if v := versionNumber.FindString(text); v != "" {
		return v
	}
	return "unknown"
}

// Has says whether a service is installed and its unit enabled, where that is its own: what a service node promises.
func (inv Inventory) Has(service string) bool {
	_, installed := inv.Versions[service]
	return installed && (Services[service].Aside || inv.Units[service].isEnabled())
}
