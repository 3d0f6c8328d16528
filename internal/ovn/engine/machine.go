package engine

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
)

// machineScript looks at a machine and changes it.
//
//go:embed machine.sh
var machineScript string

// Machine is what a machine has of OVN.
type Machine struct {
	ID string
	// MTU is that of Device, which has the tunnel address; "" where none has.
	MTU    int64
	Device string
	// Versions of "ovn" and "openvswitch", where they are installed.
	Versions map[string]string
	// Stored says that there are databases of OVN, be they stopped, and Made that these were made for an owner of them.
	Stored, Made bool
	// Certificates are those by which the machine proves itself, as their files are, by "central", "chassis" and "authority".
	Certificates map[string][]byte
	// Active are the units that run, and Connection what ovn-controller says of its own.
	Active     []string
	Connection string
}

func runScript(ctx context.Context, h host.Host, repeatable bool, args ...string) (string, error) {
	cmd := host.Script("machine.sh "+args[0], machineScript, args...)
	cmd.Repeatable = repeatable
	out, err := h.Run(ctx, cmd)
	return string(out), err
}

// Look looks at a machine, and at its device with a tunnel address.
func Look(ctx context.Context, h host.Host, tunnel netip.Addr) (Machine, error) {
	m := Machine{Versions: map[string]string{}, Certificates: map[string][]byte{}}
	args := []string{"look"}
	if tunnel.IsValid() {
		args = append(args, tunnel.String())
	}
	out, err := runScript(ctx, h, true, args...)
	if err != nil {
		return m, fmt.Errorf("look at OVN on %s: %w", h, err)
	}
	for line := range strings.Lines(out) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "machine":
			m.ID = rest
		case "mtu":
			number, device, _ := strings.Cut(rest, " ")
			m.Device = device
			if m.MTU, err = strconv.ParseInt(number, 10, 64); err != nil {
				return m, fmt.Errorf("look at OVN on %s: %w", h, err)
			}
		case "ovn", "openvswitch":
			m.Versions[word] = rest
		case "certificate":
			name, text, _ := strings.Cut(rest, " ")
			if m.Certificates[name], err = base64.StdEncoding.DecodeString(text); err != nil {
				return m, fmt.Errorf("look at OVN on %s: %w", h, err)
			}
		case "stored":
			m.Stored = true
		case "made":
			m.Made = true
		case "active":
			m.Active = append(m.Active, rest)
		case "connection":
			m.Connection = rest
		}
	}
	return m, nil
}

// The units that do the work: those that are enabled begin and end with others of these.
var (
	centralUnits = []string{"ovn-ovsdb-server-nb", "ovn-ovsdb-server-sb", "ovn-northd"}
	switchUnits  = []string{"ovsdb-server", "ovs-vswitchd"}
	chassisUnits = []string{"ovn-controller"}
)

func (m Machine) hasRunning(units ...string) bool {
	return !slices.ContainsFunc(units, func(unit string) bool { return !slices.Contains(m.Active, unit) })
}

// Services of a service node that the two roles take.
var (
	centralServices = []string{"ovn-central"}
	chassisServices = []string{"openvswitch", "ovn-host"}
)

// listServices returns what each machine of an engine takes, by its endpoint.
func (e Engine) listServices() map[string][]string {
	all := map[string][]string{}
	add := func(endpoint string, services []string) {
		key := host.WithoutKey(endpoint)
		for existing := range all {
			if host.WithoutKey(existing) == key {
				endpoint = existing
			}
		}
		all[endpoint] = append(all[endpoint], services...)
	}
	for _, endpoint := range e.Central {
		add(endpoint, centralServices)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Chassis)) {
		add(e.Chassis[name].Endpoint, chassisServices)
	}
	return all
}

// CheckInstalled returns an error for each machine that answers and lacks programs, by its endpoint, with the command that installs them.
func (s *Store) CheckInstalled(ctx context.Context) map[string]error {
	_, failures := each(s.known.listServices(), func(endpoint string, services []string) (none struct{}, err error) {
		h, err := s.machines.Host(ctx, endpoint)
		if err == nil {
			err = provision.CheckInstalled(ctx, h, services)
		}
		return none, err
	})
	maps.DeleteFunc(failures, func(_ string, err error) bool { return !errors.As(err, new(*provision.MissingError)) })
	return failures
}

// mergeRoles returns what each machine takes, where some endpoints of these roles may be several ways to one host: its services are noted there together.
// machines are the ids of those that answer, by their endpoints. A chassis keeps the endpoint that it is known by.
func (e Engine) mergeRoles(roles map[string][]string, machines map[string]string) map[string][]string {
	merged, kept := map[string][]string{}, map[[2]string]string{}
	endpoints := slices.SortedFunc(maps.Keys(roles), func(a, b string) int {
		return cmp.Or(strings.Compare(e.findChassis(b), e.findChassis(a)), strings.Compare(a, b))
	})
	for _, endpoint := range endpoints {
		way, _ := host.ParseEndpoint(endpoint) // was parsed when it was reached
		machine := [2]string{machines[endpoint], way.Host}
		at, found := kept[machine]
		if !found || machine[0] == "" {
			at = endpoint
			kept[machine] = at
		}
		merged[at] = append(merged[at], roles[endpoint]...)
	}
	return merged
}

// findChassis returns the name of the chassis that a machine is, "" where it is none.
func (e Engine) findChassis(endpoint string) string {
	for name, chassis := range e.Chassis {
		if host.WithoutKey(chassis.Endpoint) == host.WithoutKey(endpoint) {
			return name
		}
	}
	return ""
}

// each does something for each key of a map side by side, and returns what came of it; a failure is said with its key.
func each[K ~string, V, R any](of map[K]V, do func(K, V) (R, error)) (map[K]R, map[K]error) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	results, failures := map[K]R{}, map[K]error{}
	for key, value := range of {
		wait.Go(func() {
			r, err := do(key, value)
			mu.Lock()
			defer mu.Unlock()
			if results[key] = r; err != nil {
				failures[key] = err
			}
		})
	}
	wait.Wait()
	return results, failures
}

// onSwitch does something with the database of a machine's Open vSwitch.
func onSwitch[R any](h host.Host, do func(*ovn.Database) (R, error)) (R, error) {
	m, ok := h.(ovn.Machine)
	if !ok {
		var none R
		return none, fmt.Errorf("the databases of %s cannot be asked: they are reached by SSH, or on this machine", h)
	}
	d := ovn.NewDatabase(m, ovn.SwitchDB)
	defer d.Close()
	return do(d)
}
