package ovn

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// outsideAddress is one that a router has in a network of the chassis, by the attribute that says so.
type outsideAddress struct {
	address netip.Addr
	path    []any
}

// listOutside returns the addresses that the router has outside, as far as they are known.
func (r Router) listOutside() (all []outsideAddress) {
	if r.External == nil || r.External.BridgeMapping == "" {
		return nil
	}
	if a := r.External.Address.Addr(); a.IsValid() {
		all = append(all, outsideAddress{a, []any{"external", "address"}})
	}
	for _, outside := range slices.Sorted(maps.Keys(r.Floating)) {
		if a, err := netip.ParseAddr(outside); err == nil {
			all = append(all, outsideAddress{a, []any{"floating", service.Key(outside)}})
		}
	}
	return all
}

// checkOutside finds addresses that another router, whoever made it, has in the same network of the chassis: both would answer for one, and whoever
// asked last would be led to either.
func (r routerRows) checkOutside(want Router) error {
	for _, a := range want.listOutside() {
		if holder := r.findOutside(want.External.BridgeMapping, a.address); holder != "" {
			return service.At(a.path, fmt.Errorf("router %q has %s on network %q of the chassis already: write an address that nobody has", holder, a.address, want.External.BridgeMapping))
		}
	}
	return nil
}

// findOutside returns the name of another router that has an address in a network of the chassis, "" for none.
func (r routerRows) findOutside(mapping string, a netip.Addr) string {
	for _, network := range slices.Sorted(maps.Keys(r.mappings)) {
		if r.mappings[network] != mapping {
			continue
		}
		for _, port := range r.neighbours[network] {
			at := slices.IndexFunc(r.others, func(row RouterRow) bool { return slices.Contains(row.Ports, port.UUID) })
			if at < 0 {
				continue
			}
			isIts := func(x NAT) bool { return slices.Contains(r.others[at].NAT, x.UUID) && x.External == a.String() }
			isOwn := func(text string) bool { p, err := netip.ParsePrefix(text); return err == nil && p.Addr() == a }
			if slices.ContainsFunc(port.Networks, isOwn) || slices.ContainsFunc(r.othersNAT, isIts) {
				return r.others[at].Name
			}
		}
	}
	return ""
}

// putOutside makes, changes or removes what makes the router part of a network of the chassis, and returns the group of chassis that its
// port there refers to.
func (t routerThing) putOutside(r routerRows, want Router) (group string, operations []ovsdb.Operation) {
	if want.External == nil {
		if r.external != nil {
			operations = append(operations, remove(NorthDB, r.external, r.external.UUID))
		}
		if r.group != nil {
			operations = append(operations, remove(NorthDB, r.group, r.group.UUID))
		}
		return "", operations
	}
	ids := t.childIDs()
	members := map[string]child{}
	for i, chassis := range want.External.Chassis {
		members[chassis] = child{columns: map[string]any{"chassis_name": chassis, "priority": len(want.External.Chassis) - i}}
	}
	if r.group == nil {
		group = "group"
		operations = append(operations, putChildren(&GroupMember{}, &ChassisGroup{}, "", "ha_chassis", nil, members)...)
		operations = append(operations, insert(NorthDB, &ChassisGroup{}, group, map[string]any{"name": t.outsideName(), "ha_chassis": childNames("ha_chassis", members), externalIDs: ids}))
	} else {
		group = r.group.UUID
		operations = append(operations, putChildren(&GroupMember{}, &ChassisGroup{}, group, "ha_chassis", keyRows(r.members, func(m *GroupMember) string { return m.Chassis }), members)...)
	}
	ports := map[string]child{
		"localnet": {columns: map[string]any{"name": t.outsideName() + "-localnet", "type": "localnet", "addresses": texts("unknown"), "options": pairs(map[string]string{"network_name": want.External.BridgeMapping}), externalIDs: ids}},
		"router":   {columns: map[string]any{"name": t.portFrom(t.outsideName()), "type": "router", "addresses": texts("router"), "options": pairs(outsideOptions(t.outsideName())), externalIDs: ids}},
	}
	if r.external == nil {
		operations = append(operations, putChildren(&Port{}, &Switch{}, "", "ports", nil, ports)...)
		return group, append(operations, unlessNamed(NorthDB, &Switch{}, "name", t.outsideName()), insert(NorthDB, &Switch{}, "outside", map[string]any{"name": t.outsideName(), "ports": childNames("ports", ports), externalIDs: ids}))
	}
	return group, append(operations, putChildren(&Port{}, &Switch{}, r.external.UUID, "ports", keyRows(r.outside, func(p *Port) string { return p.Type }), ports)...)
}

// outsideOptions are those of the port that leads from the external network to a port of the router. By nat-addresses the chassis that is the
// way out, once it is, says so on the wire: neighbours would send to another MAC address, or another chassis, until they forget it.
func outsideOptions(port string) map[string]string {
	return map[string]string{"router-port": port, "nat-addresses": "router"}
}

// readExternal reads where the router is part of a network of the chassis. Where its port there is not on its group of chassis, none is its way out.
func (r *Router) readExternal(rows routerRows, port RouterPort) {
	at := map[string]Port{}
	for _, p := range rows.outside {
		at[p.Type] = p
	}
	if _, leads := at["router"]; !leads || len(port.Networks) == 0 {
		return // it is not part of it any more
	}
	r.External = &External{BridgeMapping: at["localnet"].Options["network_name"]}
	r.External.Address, _ = netip.ParsePrefix(port.Networks[0])
	if rows.group == nil || port.Group == nil || *port.Group != rows.group.UUID {
		return
	}
	members := slices.SortedFunc(slices.Values(rows.members), func(a, b GroupMember) int { return b.Priority - a.Priority })
	for _, m := range members {
		r.External.Chassis = append(r.External.Chassis, m.Chassis)
	}
}
