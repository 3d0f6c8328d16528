package provision

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// box is a machine with systemd and apt, as far as provisioning sees it.
type box struct {
	*hosttest.Host
	os        string
	installed []string
	units     map[string]UnitState // by unit
	ran       []string
	// noMirror says that nothing can be installed.
	noMirror bool
	// killed says that nobody hears of an installation's end.
	killed bool
}

var errKilled = errors.New("killed")

func newBox(installed ...string) *box {
	b := &box{Host: hosttest.New(), os: "ID=debian\nPRETTY_NAME=\"Debian 12\"\n", installed: installed, units: map[string]UnitState{}}
	for name, s := range lookedAt() {
		b.units[s.Unit] = UnitState{Load: "not-found", Active: "inactive"}
		if slices.Contains(installed, name) {
			b.units[s.Unit] = UnitState{Load: "loaded", Enabled: "disabled", Active: "inactive"}
		}
	}
	b.On(b.shell, "sh", "-c")
	b.On(b.enable, "systemctl", "enable", "--quiet")
	return b
}

func (b *box) set(unit string, change func(*UnitState)) {
	u := b.units[unit]
	change(&u)
	b.units[unit] = u
}

func (b *box) enable(_ context.Context, _ *hosttest.Host, cmd host.Cmd) ([]byte, error) {
	b.ran = append(b.ran, cmd.String())
	for _, unit := range cmd.Argv[3:] {
		b.set(unit, func(u *UnitState) { u.Enabled = "enabled" })
	}
	return nil, nil
}

// shell does what the scripts do.
func (b *box) shell(_ context.Context, _ *hosttest.Host, cmd host.Cmd) (out []byte, err error) {
	b.ran = append(b.ran, cmd.String())
	args := cmd.Argv[3:]
	switch {
	case cmd.Argv[2] == inventoryScript:
		return []byte(b.inventory()), nil
	case cmd.Argv[2] == startScript:
		b.set(args[1], func(u *UnitState) { u.Active = "active" })
	case cmd.Argv[2] == restoreScript:
		for of := range slices.Chunk(args[1:], 3) {
			b.set(of[0], func(u *UnitState) {
				u.Enabled = map[string]string{"enable": "enabled", "disable": "disabled"}[of[1]]
				u.Active = map[string]string{"start": "active", "stop": "inactive"}[of[2]]
			})
		}
	case strings.HasPrefix(cmd.String(), "apt-get install"):
		if b.killed {
			defer func() { err = errKilled }()
		}
		if b.noMirror {
			return nil, &host.ExitError{Cmd: cmd.String(), Host: b.String(), Code: 1, Stderr: "no mirror"}
		}
		for _, name := range strings.Fields(args[2]) { // they go for others
			b.installed = slices.DeleteFunc(b.installed, func(s string) bool { return s == name })
			b.units[lookedAt()[name].Unit] = UnitState{Load: "not-found", Active: "inactive"}
		}
		for name, s := range lookedAt() {
			if slices.Contains(args[3:], s.Packages["debian"][0]) {
				b.installed = append(b.installed, name)
				b.units[s.Unit] = UnitState{Load: "loaded", Enabled: "enabled", Active: "active"}
			}
		}
	}
	return nil, nil
}

func (b *box) inventory() string {
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	text := "os " + encode(b.os) + "\n"
	if record := b.Content(recordPath); record != "" {
		text += "record " + encode(record) + "\n"
	}
	var units []string
	for _, name := range slices.Sorted(maps.Keys(lookedAt())) {
		u := b.units[lookedAt()[name].Unit]
		if slices.Contains(b.installed, name) {
			text += "version " + name + " " + encode(name+" version 1.2.3-4") + "\n"
		}
		units = append(units, fmt.Sprintf("LoadState=%s\nUnitFileState=%s\nActiveState=%s\n", u.Load, u.Enabled, u.Active))
	}
	return text + "units " + encode(strings.Join(units, "\n")) + "\nend\n"
}

func (b *box) installs() int {
	return len(slices.DeleteFunc(slices.Clone(b.ran), func(s string) bool { return !strings.HasPrefix(s, "apt-get") }))
}

// mine is the mark of the service node that the tests are about.
var mine = owner.Mark{ID: "mine", Workspace: "here"}

// thisRun is the run that tests do everything in.
var thisRun = owner.BeginRun()

// tenant is the claim that a service node has, or lost.
type tenant struct {
	mark owner.Mark
	lost bool
}

func (c tenant) Mark() owner.Mark           { return c.mark }
func (c tenant) Owns(found owner.Mark) bool { return found.ID == c.mark.ID }
func (c tenant) Anonymous() bool            { return c.lost }
func (c tenant) Run() *owner.Run            { return thisRun }
