package ovn

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

func openVSwitch(ctx context.Context, d *Database) (*OpenVSwitch, error) {
	row, err := Row(ctx, d, All[OpenVSwitch])
	if err == nil && row == nil {
		err = fmt.Errorf("%s has no row in Open_vSwitch", d)
	}
	return row, err
}

// Settings returns what a machine follows OVN by: external_ids of Open_vSwitch.
func Settings(ctx context.Context, d *Database) (map[string]string, error) {
	row, err := openVSwitch(ctx, d)
	if err != nil {
		return nil, err
	}
	return row.ExternalIDs, nil
}

// Set changes settings of a machine; "" takes one away. The transaction is refused where somebody else changed them since they were seen.
func Set(ctx context.Context, d *Database, want map[string]string) error {
	return d.Commit(ctx, func(ctx context.Context) ([]ovsdb.Operation, error) {
		row, err := openVSwitch(ctx, d)
		if err != nil {
			return nil, err
		}
		changes := putKeys(externalIDs, row.ExternalIDs, want)
		if len(changes) == 0 {
			return nil, nil
		}
		return []ovsdb.Operation{whileOwned(SwitchDB, row, row.UUID, row.ExternalIDs), mutate(SwitchDB, row, row.UUID, changes...)}, nil
	})
}

// Bridges returns the names of the bridges that Open vSwitch has.
func Bridges(ctx context.Context, d *Database) (names []string, err error) {
	rows, err := Rows(ctx, d, All[Bridge])
	for _, b := range rows {
		names = append(names, b.Name)
	}
	slices.Sort(names)
	return names, err
}

// Integration is the bridge that ovn-controller makes, and has guests on, by what it changes of one that is there.
type Integration struct {
	FailMode string `json:"fail_mode,omitempty"`
	Datapath string `json:"datapath_type,omitempty"`
	// Used are the names of ports that neither are the bridge's own nor were made by ovn-controller.
	Used []string `json:"-"`
}

// ReadIntegration returns the bridge that guests are plugged into, nil where there is none.
func ReadIntegration(ctx context.Context, d *Database) (*Integration, error) {
	b, err := Row(ctx, d, func(b *Bridge) bool { return b.Name == IntegrationBridge })
	if err != nil || b == nil {
		return nil, err
	}
	ports, err := Rows(ctx, d, func(p *SwitchPort) bool { return slices.Contains(b.Ports, p.UUID) })
	return newIntegration(b, ports), err
}

// patchKeys are the keys of external_ids of the two ports by which ovn-controller joins its bridge and that of a mapping, and controllerKeys those of all ports that it
// makes: these and tunnels to other chassis.
var (
	patchKeys      = []string{"ovn-localnet-port", "ovn-l2gateway-port"}
	controllerKeys = append([]string{"ovn-chassis-id"}, patchKeys...)
)

func newIntegration(b *Bridge, ports []SwitchPort) *Integration {
	i := &Integration{Datapath: b.Type}
	if b.FailMode != nil {
		i.FailMode = *b.FailMode
	}
	for _, p := range ports {
		if p.Name != b.Name && !slices.ContainsFunc(controllerKeys, func(key string) bool { return p.ExternalIDs[key] != "" }) {
			i.Used = append(i.Used, p.Name)
		}
	}
	slices.Sort(i.Used)
	return i
}

// RestoreIntegration has the bridge that guests are plugged into be as it was before ovn-controller, which is stopped, had it.
func RestoreIntegration(ctx context.Context, d *Database, was Integration) error {
	return d.Commit(ctx, func(ctx context.Context) ([]ovsdb.Operation, error) {
		b, err := Row(ctx, d, func(b *Bridge) bool { return b.Name == IntegrationBridge })
		if err != nil || b == nil {
			return nil, err
		}
		mode := texts()
		if was.FailMode != "" {
			mode = texts(was.FailMode)
		}
		return []ovsdb.Operation{update(SwitchDB, b, b.UUID, map[string]any{"datapath_type": was.Datapath, "fail_mode": mode})}, nil
	})
}

// RemovePatches removes the ports that join the bridge of ovn-controller, which is stopped, and those of mappings: it leaves them as it ends.
func RemovePatches(ctx context.Context, d *Database) error {
	return d.Commit(ctx, func(ctx context.Context) ([]ovsdb.Operation, error) {
		bridges, err := Rows(ctx, d, All[Bridge])
		if err != nil {
			return nil, err
		}
		ports, err := Rows(ctx, d, All[SwitchPort])
		return removePatches(bridges, ports), err
	})
}

// removePatches removes ports of which the bridge of ovn-controller has the other end: both are known by the same words.
func removePatches(bridges []Bridge, ports []SwitchPort) (operations []ovsdb.Operation) {
	at := slices.IndexFunc(bridges, func(b Bridge) bool { return b.Name == IntegrationBridge })
	if at < 0 {
		return nil
	}
	for _, b := range bridges {
		var gone []string
		for _, p := range ports {
			isJoined := slices.ContainsFunc(ports, func(other SwitchPort) bool {
				return slices.Contains(bridges[at].Ports, other.UUID) && slices.ContainsFunc(patchKeys, func(key string) bool { return p.ExternalIDs[key] != "" && p.ExternalIDs[key] == other.ExternalIDs[key] })
			})
			if isJoined && slices.Contains(b.Ports, p.UUID) {
				gone = append(gone, p.UUID)
			}
		}
		if len(gone) > 0 {
			operations = append(operations, mutate(SwitchDB, &b, b.UUID, *ovsdb.NewMutation("ports", ovsdb.MutateOperationDelete, references(gone...))))
		}
	}
	return operations
}

// switchLimit is how long Open vSwitch may take to do what its database says. It does within milliseconds.
const switchLimit = 20 * time.Second

// RemoveIntegration removes the bridge that ovn-controller has made, which is stopped, and returns once Open vSwitch, where it runs, has: stopped before, it leaves
// the bridge's devices behind.
func RemoveIntegration(ctx context.Context, d *Database) error {
	asked := 0
	err := d.Commit(ctx, func(ctx context.Context) ([]ovsdb.Operation, error) {
		asked = 0
		row, err := openVSwitch(ctx, d)
		if err != nil {
			return nil, err
		}
		b, err := Row(ctx, d, func(b *Bridge) bool { return b.Name == IntegrationBridge })
		if err != nil || b == nil {
			return nil, err
		}
		asked = row.NextConfig + 1
		return []ovsdb.Operation{
			mutate(SwitchDB, row, row.UUID, *ovsdb.NewMutation("bridges", ovsdb.MutateOperationDelete, references(b.UUID)), *ovsdb.NewMutation("next_cfg", ovsdb.MutateOperationAdd, 1)),
		}, nil
	})
	for end := time.Now().Add(switchLimit); err == nil && ctx.Err() == nil && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		row, failure := openVSwitch(ctx, d)
		if failure != nil || row.CurrentConfig >= asked {
			return failure
		}
	}
	return cmp.Or(err, ctx.Err())
}

// MarkKey is where settings and notes have the mark of their owner.
const MarkKey = markKey
