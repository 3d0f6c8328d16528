package ovn

import (
	"context"
	"fmt"
	"slices"

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

// RemoveIntegration removes the bridge that ovn-controller has made, which is stopped.
func RemoveIntegration(ctx context.Context, d *Database) error {
	return d.Commit(ctx, func(ctx context.Context) ([]ovsdb.Operation, error) {
		row, err := openVSwitch(ctx, d)
		if err != nil {
			return nil, err
		}
		b, err := Row(ctx, d, func(b *Bridge) bool { return b.Name == integration })
		if err != nil || b == nil {
			return nil, err
		}
		return []ovsdb.Operation{mutate(SwitchDB, row, row.UUID, *ovsdb.NewMutation("bridges", ovsdb.MutateOperationDelete, references(b.UUID)))}, nil
	})
}

// MarkKey is where settings and notes have the mark of their owner.
const MarkKey = markKey
