package route

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// rollback is how long the machine waits to be reached again, before it goes back by itself.
const rollback = 30 * time.Second

// Store is one route of one machine.
type Store = hostnet.Store[Route, found]

// kind is the route with the destination and the metric of key, as hostnet's store has it.
type kind struct{ key Route }

// Open returns the store of the route with the destination and the metric of key.
func Open(site hostnet.Site, key Route, importID string, claim owner.Claim) *Store {
	return hostnet.OpenStore[Route, found](site, kind{key}, importID, "cidr", claim)
}

// List lists the routes of a machine that files of this provider keep, by their destinations and metrics, in order.
func List(ctx context.Context, h host.Host) (keys []Route, err error) {
	files, err := host.ReadGlobs(ctx, h, filePatterns(filePrefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("read which routes are kept on %s: %w", h, err)
	}
	for file := range files {
		if key, ok := parseFileName(path.Base(file)); ok && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b Route) int {
		return cmp.Or(a.To.Addr().Compare(b.To.Addr()), a.To.Bits()-b.To.Bits(), a.Metric-b.Metric)
	})
	return keys, nil
}

// found is the route as the machine has it.
type found struct {
	key     Route
	machine hostnet.Machine
	live    *hostnet.Route
	// path and text are those of the file that keeps it; "" where none does.
	path, text string
	// network is the .network file that systemd-networkd applies to the device of that file now; "" where it is not known.
	network string
}

// IsUnproven says whether the route may go back in a moment.
func (f found) IsUnproven() bool { return f.machine.Unproven }

// isOrphaned says whether the file that keeps the route belongs to a .network file that does not count for its device: the route would
// not be there at the next start.
func (f found) isOrphaned() bool {
	return backendOf(f.path) == hostnet.Networkd && f.network != "" && path.Dir(f.path) != dropInDir(f.network)
}

// Holder says what has the route's place.
func (f found) Holder() hostnet.Holder {
	h := hostnet.Holder{There: f.live != nil || f.path != "", Mark: owner.Parse(f.text), What: fmt.Sprintf("the route to %s", f.key.To)}
	if f.live != nil && f.live.Protocol == "kernel" {
		h.What, h.Fixed = fmt.Sprintf("%s, which is the network of %s itself,", f.key.To, f.live.Dev), true
	}
	return h
}

// keptScript prints the file that keeps the route, and the .network file that counts for its device.
//
//go:embed kept.sh
var keptScript string

// Look reads the machine's route, and what keeps it.
func (k kind) Look(ctx context.Context, h host.Host) (found, error) {
	m, err := hostnet.Look(ctx, h)
	if err != nil {
		return found{}, err
	}
	out, err := h.Run(ctx, host.RepeatableScript("read what keeps the route", keptScript, filePatterns(k.key.fileName())...))
	if err != nil {
		return found{}, fmt.Errorf("read what keeps the route to %s on %s: %w", k.key.To, h, err)
	}
	file, rest, _ := strings.Cut(string(out), "\n")
	network, text, _ := strings.Cut(rest, "\n")
	return found{key: k.key, machine: m, live: k.key.findRoute(m), path: file, text: text, network: network}, nil
}

// Read is the route as the machine has it.
func (k kind) Read(f found) (Route, error) {
	if f.live == nil && f.path == "" {
		return Route{}, fmt.Errorf("route to %s: %w", k.key.To, service.ErrAbsent)
	}
	r := Route{To: k.key.To, Metric: k.key.Metric, Backend: hostnet.Auto, ActiveBackend: backendOf(f.path)}
	if f.isOrphaned() {
		r.ActiveBackend = hostnet.Runtime
	}
	// One that is kept for the next start, and was taken away, leads nowhere.
	if f.live != nil {
		r.Device = f.live.Dev
		r.Via, _ = netip.ParseAddr(f.live.Gateway)
	}
	for word := range strings.FieldsSeq(f.text) {
		if backend, ok := strings.CutPrefix(word, "backend="); ok {
			r.Backend = backend
		}
	}
	return r, nil
}

// Complete chooses the device, and what keeps the route.
func (kind) Complete(ctx context.Context, h host.Host, f found, want Route) (Route, error) {
	want, _, err := completeRoute(ctx, h, f, want)
	return want, err
}

func completeRoute(ctx context.Context, h host.Host, f found, want Route) (Route, hostnet.Managers, error) {
	managers := hostnet.Managers{}
	want, err := want.chooseDevice(f.machine)
	if err == nil && want.Backend != hostnet.Runtime {
		managers, err = hostnet.LookAtManagers(ctx, h)
	}
	if err == nil {
		want, err = want.chooseBackend(managers)
	}
	return want, managers, err
}

// Put is the change that adds the route, or changes it in place.
func (kind) Put(ctx context.Context, h host.Host, f found, want Route, mark owner.Mark) (hostnet.Change, error) {
	want, managers, err := completeRoute(ctx, h, f, want)
	if err != nil {
		return hostnet.Change{}, err
	}
	file := want.routeFile(managers, mark)
	c := hostnet.Change{Files: []hostnet.File{file}, Timeout: rollback}
	if f.path != "" && f.path != file.Path {
		c.Files = append(c.Files, hostnet.File{Path: f.path, Absent: true})
		c.Do = removeDir(f.path)
	}
	c.Do += fmt.Sprintf("ip route replace %s dev %s proto static\n", want.toSetting(), want.Device)
	c.Undo = fmt.Sprintf("ip route del %s dev %s\n", want.toSetting(), want.Device)
	if f.live != nil {
		c.Undo = restoreCommand(f)
	}
	return c, nil
}

// removeDir is the script that removes the directory of a drop-in of systemd-networkd that was the last one.
func removeDir(file string) string {
	if backendOf(file) != hostnet.Networkd {
		return ""
	}
	return `rmdir "` + path.Dir(file) + `" 2>/dev/null || :` + "\n"
}

// restoreCommand is the command that makes the route what it is now.
func restoreCommand(f found) string {
	return fmt.Sprintf("ip route replace %s dev %s proto %s\n", f.live.Setting(), f.live.Dev, f.live.Protocol)
}

// Drop is the change that removes the route, and what keeps it.
func (k kind) Drop(_ context.Context, _ host.Host, f found) (hostnet.Change, error) {
	c := hostnet.Change{Timeout: rollback}
	if f.path != "" {
		c.Files = append(c.Files, hostnet.File{Path: f.path, Absent: true})
		c.Do = removeDir(f.path)
	}
	if f.live != nil {
		c.Do += fmt.Sprintf("ip route del %s dev %s\n", f.live.Setting(), f.live.Dev)
		c.Undo = restoreCommand(f)
		if k.key.To.Bits() == 0 {
			c.GivenUp = hostnet.GatewaysOf([]hostnet.Setting{f.live.Setting()})
		}
	}
	return c, nil
}
