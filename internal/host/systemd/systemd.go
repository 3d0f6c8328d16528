// Package systemd asks a machine's systemd about its units.
package systemd

import (
	"context"
	"fmt"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// ActiveState returns systemd's ActiveState of a unit: "active", "inactive", "failed" and so on. A unit that systemd does
// not know is "inactive". A question that fails, whatever the reason, is an error: it proves nothing.
func ActiveState(ctx context.Context, h host.Host, unit string) (string, error) {
	out, err := h.Run(ctx, host.Cmd{Argv: []string{"systemctl", "show", "--property=ActiveState", "--value", unit}, Repeatable: true})
	if err != nil {
		return "", fmt.Errorf("ask systemd about %s: %w", unit, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Running says whether a unit's daemon is up, as Up does.
func Running(ctx context.Context, h host.Host, unit string) (bool, error) {
	state, err := ActiveState(ctx, h, unit)
	if err != nil {
		return false, err
	}
	up, err := Up(state)
	if err != nil {
		return false, fmt.Errorf("%s on %s: %w", unit, h, err)
	}
	return up, nil
}

// Up says whether a unit in an ActiveState (systemctl(1), show) has processes, or is about to get them or to lose them.
// Only "inactive" and "failed" are the proof that it has none.
func Up(state string) (bool, error) {
	switch state {
	case "active", "reloading", "refreshing", "activating", "deactivating", "maintenance":
		return true, nil
	case "inactive", "failed":
		return false, nil
	}
	return false, fmt.Errorf("systemd answers with the unknown state %q", state)
}
