package ovn

import (
	"context"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// userspaceDatapath is the name of the datapath by which Open vSwitch forwards packets itself.
const userspaceDatapath = "netdev"

// zeroSNAT is what a datapath can do so that the ports of connections do not collide: translate to the address 0.0.0.0 (ovs-vswitchd.conf.db(5),
// Datapath). ovn-controller has it do so where it says that it can. Open vSwitch 3.1.0, which does so itself in the user-space datapath, aborts in
// conn_update_state of its conntrack.c when the ports of such a connection come again, and everything on the machine is without a network.
const zeroSNAT = "ct_zero_snat"

// zeroSNATKey is the key of external_ids of a datapath that notes what it said of zeroSNAT by itself.
const zeroSNATKey = markKey + "-ct-zero-snat"

const capabilities = "capabilities"

// findUserspace returns the user-space datapath of a machine, nil where there is none yet: ovn-controller makes the row, and Open vSwitch says then what
// it can do.
func findUserspace(ctx context.Context, d *Database) (*Datapath, error) {
	row, err := openVSwitch(ctx, d)
	if err != nil {
		return nil, err
	}
	uuid := row.Datapaths[userspaceDatapath]
	p, err := Row(ctx, d, func(p *Datapath) bool { return p.UUID == uuid })
	if err != nil || p == nil || len(p.Capabilities) == 0 {
		return nil, err
	}
	return p, nil
}

// OffersZeroSNAT says whether a machine's user-space datapath says that it can translate to 0.0.0.0.
func OffersZeroSNAT(ctx context.Context, d *Database) (bool, error) {
	p, err := findUserspace(ctx, d)
	return p != nil && p.Capabilities[zeroSNAT] == "true", err
}

// WithholdZeroSNAT has a machine's user-space datapath not say any more that it can translate to 0.0.0.0. It returns false while there is no datapath yet.
func WithholdZeroSNAT(ctx context.Context, d *Database) (there bool, err error) {
	err = d.Commit(ctx, func(ctx context.Context) ([]ovsdb.Operation, error) {
		p, err := findUserspace(ctx, d)
		there = p != nil
		if err != nil || !there {
			return nil, err
		}
		return p.withholdZeroSNAT(), nil
	})
	return there, err
}

// RestoreZeroSNAT has a machine's user-space datapath say again what it said before WithholdZeroSNAT.
func RestoreZeroSNAT(ctx context.Context, d *Database) error {
	return d.Commit(ctx, func(ctx context.Context) ([]ovsdb.Operation, error) {
		p, err := findUserspace(ctx, d)
		if err != nil || p == nil {
			return nil, err
		}
		return p.restoreZeroSNAT(), nil
	})
}

func (p *Datapath) withholdZeroSNAT() []ovsdb.Operation {
	if p.Capabilities[zeroSNAT] != "true" {
		return nil
	}
	return p.setZeroSNAT("false", "true")
}

func (p *Datapath) restoreZeroSNAT() []ovsdb.Operation {
	if p.ExternalIDs[zeroSNATKey] == "" {
		return nil
	}
	return p.setZeroSNAT(p.ExternalIDs[zeroSNATKey], "")
}

// setZeroSNAT has the datapath say something of zeroSNAT, with a note of what it said itself.
func (p *Datapath) setZeroSNAT(is, note string) []ovsdb.Operation {
	changes := append(putKeys(capabilities, p.Capabilities, map[string]string{zeroSNAT: is}), putKeys(externalIDs, p.ExternalIDs, map[string]string{zeroSNATKey: note})...)
	return []ovsdb.Operation{whileSame(SwitchDB, p, p.UUID, capabilities, pairs(p.Capabilities)), mutate(SwitchDB, p, p.UUID, changes...)}
}
