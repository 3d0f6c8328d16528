package ovn

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// integration is the bridge that ovn-controller makes, and has guests on.
const integration = "br-int"

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
		b, err := Row(ctx, d, func(b *Bridge) bool { return b.Name == integration })
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
