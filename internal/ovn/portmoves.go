package ovn

import (
	"context"
	"slices"
	"strings"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// movingKey is the key of external_ids of a port whose machine goes from one chassis to another: the ids of both, as its options have them meanwhile.
const movingKey = "virtcluster-moving"

// Options of a port by which OVN has several chassis have it at once, all but the first one from the moment on at which its guest is heard there
// (ovn-nb(5), since OVN 22.09).
const (
	chassisOption    = "requested-chassis"
	activationOption = "activation-strategy"
)

// Mover has ports follow a machine that runs from one chassis to another. On both hypervisors there is a machine with the same ports for as long as
// its memory and its disks are copied: two chassis would take each port from the other all that time.
type Mover struct {
	North *Northbound
	// Machine is the UUID of the machine's domain, and Owns says whose ports are its own.
	Machine string
	Owns    func(owner.Mark) bool
}

// Begin has both chassis, by the names of their hosts, have the ports until End. Packets go to both; the second one passes them from the moment on at
// which QEMU announces the guest there. It changes nothing where one of the hosts is no chassis, or OVN is too old to know of two. What there is to
// warn of comes back.
func (m Mover) Begin(ctx context.Context, from, to string) ([]service.Problem, error) {
	var ids []string
	for _, host := range []string{from, to} {
		chassis, err := m.North.findChassisOf(ctx, host)
		if err != nil || chassis == nil {
			return nil, err
		}
		ids = append(ids, chassis.Name)
	}
	if knows, err := m.North.knowsSeveralChassis(ctx); err != nil || !knows {
		return nil, err
	}
	return m.setChassis(ctx, strings.Join(ids, ","))
}

// End has the ports be on the chassis where their machine is, as before Begin. It changes nothing of ports that Begin did not change.
func (m Mover) End(ctx context.Context) ([]service.Problem, error) { return m.setChassis(ctx, "") }

// setChassis has the machine's ports be on several chassis at once, or, for "", on whichever has the machine.
func (m Mover) setChassis(ctx context.Context, ids string) ([]service.Problem, error) {
	err := m.North.Commit(ctx, func(ctx context.Context) (operations []ovsdb.Operation, err error) {
		rows, err := Rows(ctx, m.North.North, m.isMoved)
		slices.SortFunc(rows, func(a, b Port) int { return strings.Compare(a.Name, b.Name) })
		for _, p := range rows {
			operations = append(operations, p.putChassis(ids)...)
		}
		return operations, err
	})
	if isLag(err) {
		return []service.Problem{warnOfLag(err)}, nil
	}
	return nil, err
}

// isMoved says whether a port is the machine's, and nobody else chose its chassis.
func (m Mover) isMoved(p *Port) bool {
	return p.ExternalIDs[machineKey] == m.Machine && p.Options[chassisOption] == p.ExternalIDs[movingKey] && m.Owns(owner.Parse(p.ExternalIDs[markKey]))
}

// putChassis has the port be on several chassis, or, for "", on whichever has its machine, and its row say that this is so by the move.
func (p *Port) putChassis(ids string) []ovsdb.Operation {
	options := map[string]string{chassisOption: ids, activationOption: ""}
	if ids != "" {
		options[activationOption] = "rarp"
	}
	keys := append(putKeys("options", p.Options, options), putKeys(externalIDs, p.ExternalIDs, map[string]string{movingKey: ids})...)
	if len(keys) == 0 {
		return nil
	}
	return []ovsdb.Operation{whileOwned(NorthDB, p, p.UUID, p.ExternalIDs), mutate(NorthDB, p, p.UUID, keys...)}
}

// knowsSeveralChassis says whether OVN has ports on several chassis at once, as its southbound database says.
func (n *Northbound) knowsSeveralChassis(ctx context.Context) (bool, error) {
	c, err := n.South.connect(ctx)
	if err != nil {
		return false, err
	}
	_, knows := c.Schema().Tables["Port_Binding"].Columns["additional_chassis"]
	return knows, nil
}

// findChassisOf returns the chassis of a host, by what the host calls itself; nil where it is none.
func (n *Northbound) findChassisOf(ctx context.Context, host string) (*ChassisRow, error) {
	rows, err := Rows(ctx, n.South, All[ChassisRow])
	return chooseChassis(rows, host), err
}

// chooseChassis returns the chassis that calls itself as a host does, or, where none does, the only one that does so but for their domains.
func chooseChassis(rows []ChassisRow, host string) *ChassisRow {
	for _, is := range []func(ChassisRow) bool{
		func(c ChassisRow) bool { return strings.EqualFold(c.Hostname, host) },
		func(c ChassisRow) bool { return shortName(c.Hostname) == shortName(host) },
	} {
		if found, _ := splitRows(rows, is); len(found) == 1 {
			return &found[0]
		}
	}
	return nil
}
