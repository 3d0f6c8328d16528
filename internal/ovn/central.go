package ovn

import (
	"context"
	"fmt"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// MTUKey is the key under which NB_Global notes the largest packet of guests.
const MTUKey = mtuKey

// Notes returns external_ids of NB_Global: whose the databases are, and what that one keeps there.
func (n *Northbound) Notes(ctx context.Context) (map[string]string, error) {
	global, err := n.findGlobal(ctx)
	if err != nil {
		return nil, err
	}
	return global.ExternalIDs, nil
}

// Note has NB_Global note what is wanted under these keys; "" takes one away. The transaction is refused where somebody else changed the
// notes since they were seen.
func (n *Northbound) Note(ctx context.Context, want map[string]string) error {
	return n.North.Commit(ctx, func(ctx context.Context) ([]ovsdb.Operation, error) {
		global, err := n.findGlobal(ctx)
		if err != nil {
			return nil, err
		}
		changes := putKeys(externalIDs, global.ExternalIDs, want)
		if len(changes) == 0 {
			return nil, nil
		}
		return []ovsdb.Operation{whileOwned(NorthDB, global, global.UUID, global.ExternalIDs), mutate(NorthDB, global, global.UUID, changes...)}, nil
	})
}

// findConnection returns the row of where the southbound database listens for the owner of the notes; nil for none.
func (n *Northbound) findConnection(ctx context.Context) (*Connection, error) {
	return Row(ctx, n.South, func(c *Connection) bool { return c.ExternalIDs[markKey] != "" })
}

// Listener is where the southbound database listens, and as what it takes who connects there: "" for anyone who may do everything. A
// target of "" is nowhere.
type Listener struct{ Target, Role string }

// Listening returns where the southbound database listens for the owner of the notes.
func (n *Northbound) Listening(ctx context.Context) (Listener, error) {
	c, err := n.findConnection(ctx)
	if err != nil || c == nil {
		return Listener{}, err
	}
	return Listener{c.Target, c.Role}, nil
}

// Listen has the southbound database listen somewhere. Where it listens for others it goes on.
func (n *Northbound) Listen(ctx context.Context, want Listener) error {
	return n.South.Commit(ctx, func(ctx context.Context) ([]ovsdb.Operation, error) {
		c, err := n.findConnection(ctx)
		if err != nil {
			return nil, err
		}
		global, err := Row(ctx, n.South, All[SouthGlobal])
		if err != nil || global == nil {
			return nil, fmt.Errorf("read SB_Global of %s: %w", n.South, err)
		}
		switch {
		case c == nil && want.Target != "":
			return []ovsdb.Operation{
				insert(SouthDB, &Connection{}, "connection", map[string]any{"target": want.Target, "role": want.Role, externalIDs: pairs(map[string]string{markKey: "engine"})}),
				mutate(SouthDB, global, global.UUID, *ovsdb.NewMutation("connections", ovsdb.MutateOperationInsert, references("connection"))),
			}, nil
		case c != nil && want.Target == "":
			return []ovsdb.Operation{mutate(SouthDB, global, global.UUID, *ovsdb.NewMutation("connections", ovsdb.MutateOperationDelete, references(c.UUID)))}, nil
		case c != nil && (Listener{c.Target, c.Role}) != want:
			return []ovsdb.Operation{update(SouthDB, c, c.UUID, map[string]any{"target": want.Target, "role": want.Role})}, nil
		}
		return nil, nil
	})
}

// Follower is a chassis as the southbound database has it.
type Follower struct {
	ID, Hostname string
	// Addresses are where others send to.
	Addresses []string
	// Mappings are its bridge mappings, as it writes them.
	Mappings string
}

// Followers returns the chassis, by their ids.
func (n *Northbound) Followers(ctx context.Context) (map[string]Follower, error) {
	rows, err := Rows(ctx, n.South, All[ChassisRow])
	if err != nil {
		return nil, err
	}
	encaps, err := Rows(ctx, n.South, All[Encap])
	if err != nil {
		return nil, err
	}
	all := map[string]Follower{}
	for _, row := range rows {
		f := Follower{ID: row.Name, Hostname: row.Hostname, Mappings: row.OtherConfig["ovn-bridge-mappings"]}
		for _, e := range encaps {
			if slices.Contains(row.Encaps, e.UUID) {
				f.Addresses = append(f.Addresses, e.IP)
			}
		}
		all[row.Name] = f
	}
	return all, nil
}

// Forget takes chassis out of the southbound database: those that did not take themselves out.
func (n *Northbound) Forget(ctx context.Context, ids ...string) error {
	return n.South.Commit(ctx, func(ctx context.Context) (operations []ovsdb.Operation, err error) {
		rows, err := Rows(ctx, n.South, func(c *ChassisRow) bool { return slices.Contains(ids, c.Name) })
		for _, c := range rows {
			operations = append(operations, remove(SouthDB, &c, c.UUID))
		}
		if err != nil {
			return nil, err
		}
		progress, err := Rows(ctx, n.South, func(p *Progress) bool { return slices.Contains(ids, p.Name) })
		for _, p := range progress {
			operations = append(operations, remove(SouthDB, &p, p.UUID))
		}
		return operations, err
	})
}
