package ovn

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
	"go4.org/netipx"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// Keys of external_ids of what OVN itself has no place for.
const (
	networkKey = "virtcluster-network" // of a DHCP_Options row: whose it is
	gatewayKey = "virtcluster-gateway"
	mtuKey     = "virtcluster-mtu"
	modeKey    = "virtcluster-mode" // where it is neither nat, which a network is without it, nor bridge, which its port says
)

// networkThing is a network by its name.
type networkThing struct{ name string }

// NewNetwork returns the network of a name.
func NewNetwork(name string) Thing[Network] { return networkThing{name} }

func (networkThing) Noun() string   { return "OVN network" }
func (t networkThing) Name() string { return t.name }

// networkRows are the rows of a network; what is not there is nil.
type networkRows struct {
	network *Switch
	dhcp    *DHCPOptions
	// told are all rows that say they are what guests of the network are told: of one that a person removed they stay, and another owner's
	// may be there beside its own.
	told     []DHCPOptions
	localnet *Port
	// others are the ports of guests and routers.
	others []Port
}

func (t networkThing) findRows(ctx context.Context, n *Northbound) (r networkRows, err error) {
	if r.told, err = Rows(ctx, n.North, func(d *DHCPOptions) bool { return d.ExternalIDs[networkKey] == t.name }); err != nil {
		return r, err
	}
	if r.network, err = Row(ctx, n.North, func(s *Switch) bool { return s.Name == t.name }); err != nil || r.network == nil {
		return r, err
	}
	whose := owner.Parse(r.network.ExternalIDs[markKey])
	if r.dhcp = r.findTold(func(m owner.Mark) bool { return m.ID == whose.ID }); r.dhcp == nil {
		r.dhcp = r.findTold(func(m owner.Mark) bool { return m.ID == "" || isOfSameState(m, whose) })
	}
	on := map[string]bool{}
	for _, uuid := range r.network.Ports {
		on[uuid] = true
	}
	ports, err := Rows(ctx, n.North, func(p *Port) bool { return on[p.UUID] })
	for _, p := range ports {
		if p.Type == "localnet" && (whose.ID == "" || p.ExternalIDs[networkKey] == t.name) {
			r.localnet = &p
		} else {
			r.others = append(r.others, p)
		}
	}
	return r, err
}

// findTold returns the row of what guests are told whose owner is meant, nil where there is none.
func (r networkRows) findTold(meant func(owner.Mark) bool) *DHCPOptions {
	for _, row := range r.told {
		if meant(owner.Parse(row.ExternalIDs[markKey])) {
			return &row
		}
	}
	return nil
}

// localnetName is the name of the port by which a bridged network is part of another one.
func (t networkThing) localnetName() string { return t.name + "-localnet" }

// Look implements Thing.
func (t networkThing) Look(ctx context.Context, n *Northbound) (Network, map[string]string, error) {
	r, err := t.findRows(ctx, n)
	if err != nil || r.network == nil {
		return Network{}, nil, err
	}
	ids := r.network.ExternalIDs
	if ids == nil {
		ids = map[string]string{}
	}
	got := r.readNetwork()
	if r.lacksSLAAC() {
		got.IPv6CIDR = netip.Prefix{}
	}
	if row := r.dhcp; row != nil {
		if row.CIDR != r.network.OtherConfig["subnet"] {
			got.CIDR = netip.Prefix{} // guests are told of another network than they are on: OVN tells them nothing
		}
		if row.Options["server_id"] == "" || row.Options["server_mac"] == "" {
			got.DHCP = nil // nor does it where nobody is the server
		}
	}
	return got, ids, nil
}

// readNetwork returns what the rows of a network say.
func (r networkRows) readNetwork() Network {
	ids := r.network.ExternalIDs
	got := Network{Name: r.network.Name, Mode: modeOf(r.network)}
	if r.localnet != nil {
		got.Mode, got.BridgeMapping = Bridged, r.localnet.Options["network_name"]
	}
	got.CIDR, _ = netip.ParsePrefix(r.network.OtherConfig["subnet"])
	got.Gateway, _ = netip.ParseAddr(ids[gatewayKey])
	got.IPv6CIDR = ipv6Of(r.network)
	got.MTU, _ = strconv.ParseInt(ids[mtuKey], 10, 64)
	if r.dhcp != nil {
		got.readDHCP(*r.dhcp, r.network.OtherConfig["exclude_ips"])
	}
	return got
}

// readDHCP reads what guests are told: the gateway and the MTU are what they are told.
func (n *Network) readDHCP(row DHCPOptions, excluded string) {
	n.DHCP = &DHCP{Options: map[string]string{}}
	for name, value := range row.Options {
		switch name {
		case "server_id", "server_mac":
		case "router":
			n.Gateway, _ = netip.ParseAddr(value)
		case "mtu":
			n.MTU, _ = strconv.ParseInt(value, 10, 64)
		case "lease_time":
			n.DHCP.LeaseSeconds, _ = strconv.ParseInt(value, 10, 64)
		case "dns_server":
			for word := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune("{}, ", r) }) {
				if a, err := netip.ParseAddr(word); err == nil {
					n.DHCP.Nameservers = append(n.DHCP.Nameservers, a)
				}
			}
		default:
			n.DHCP.Options[name] = readOption(name, value)
		}
	}
	if row.Options["router"] == "" {
		n.Gateway = netip.Addr{}
	}
	if row.Options["mtu"] == "" {
		n.MTU = 0
	}
	n.DHCP.Pool = poolOf(n.CIDR, excluded)
}

// formatOption is an option as OVN takes it, and readOption its inverse. A text without quotes has OVN answer that network's guests nothing
// at all: it is shown as it stands there.
func formatOption(name, value string) string {
	if slices.Contains(textOptions, name) {
		return `"` + value + `"`
	}
	return value
}

func readOption(name, value string) string {
	if !slices.Contains(textOptions, name) {
		return value
	}
	if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
		return value[1 : len(value)-1]
	}
	return "without quotes: " + value
}

// poolOf is what of a network is given out, by what is not.
func poolOf(network netip.Prefix, excluded string) (pool []string) {
	if !network.IsValid() {
		return nil
	}
	var b netipx.IPSetBuilder
	b.AddRange(rangeOfHosts(network))
	for word := range strings.FieldsSeq(excluded) {
		first, last, several := strings.Cut(word, "..")
		if !several {
			last = first
		}
		from, err := netip.ParseAddr(first)
		to, err2 := netip.ParseAddr(last)
		if err == nil && err2 == nil {
			b.RemoveRange(netipx.IPRangeFrom(from, to))
		}
	}
	set, err := b.IPSet()
	if err != nil {
		return nil
	}
	for _, r := range set.Ranges() {
		pool = append(pool, r.String())
	}
	return pool
}

// formatNotes is what external_ids of the switch has, beside the mark: what OVN itself has no place for. "" stands for none.
func (n Network) formatNotes() map[string]string {
	ids := map[string]string{gatewayKey: textOf(n.Gateway), mtuKey: numberOf(n.MTU), modeKey: n.Mode}
	if n.Mode == Translated || n.Mode == Bridged {
		ids[modeKey] = ""
	}
	return ids
}

// modeOf is the mode that a network is noted to have, bridge aside.
func modeOf(s *Switch) string {
	if noted := s.ExternalIDs[modeKey]; noted != "" {
		return noted
	}
	return Translated
}

// otherConfig is what other_config of the switch has.
func (n Network) otherConfig() map[string]string {
	c := map[string]string{"subnet": "", "exclude_ips": "", prefixOption: n.formatIPv6()}
	if n.CIDR.IsValid() {
		c["subnet"], c["exclude_ips"] = n.CIDR.String(), n.formatExcluded()
	}
	return c
}

// dhcpOptions is what guests are told.
func (n Network) dhcpOptions() map[string]string {
	// An address that answers is what a client renews its lease at: the gateway's, or, where there is none, the first one, which no router has.
	server := n.Gateway
	if !server.IsValid() {
		server = rangeOfHosts(n.CIDR).From()
	}
	o := map[string]string{
		"server_id": server.String(), "server_mac": hardwareAddress(n.Name),
		"lease_time": strconv.FormatInt(n.DHCP.LeaseSeconds, 10),
	}
	if n.Gateway.IsValid() {
		o["router"] = n.Gateway.String()
	}
	if n.MTU != 0 {
		o["mtu"] = strconv.FormatInt(n.MTU, 10)
	}
	if len(n.DHCP.Nameservers) > 0 {
		o["dns_server"] = "{" + strings.Join(textsOf(n.DHCP.Nameservers), ", ") + "}"
	}
	for name, value := range n.DHCP.Options {
		o[name] = formatOption(name, value)
	}
	return o
}

// Put implements Thing.
func (t networkThing) Put(ctx context.Context, n *Northbound, want Network, mark string) ([]ovsdb.Operation, error) {
	r, err := t.findRows(ctx, n)
	if err == nil && want.MTU == 0 {
		want.MTU, err = n.MTU(ctx)
	}
	if err != nil {
		return nil, err
	}
	ids := want.formatNotes()
	ids[markKey] = mark
	if r.network == nil {
		// Who removed the network alone left what its guests were told: it is for the state that wrote it.
		who := owner.Parse(mark)
		r.dhcp = r.findTold(func(m owner.Mark) bool { return isOfSameState(m, who) })
		texts := func(of map[string]string) ovsdb.OvsMap { return pairs(withoutEmpty(of)) }
		row := map[string]any{"name": t.name, "other_config": texts(want.otherConfig()), externalIDs: texts(ids)}
		operations := []ovsdb.Operation{unlessNamed(NorthDB, &Switch{}, "name", t.name)}
		if want.Mode == Bridged {
			operations = append(operations, t.newLocalnet(want))
			row["ports"] = references("localnet")
		}
		operations = append(operations, insert(NorthDB, &Switch{}, "network", row))
		return append(operations, t.putDHCP(r, want, mark)...), nil
	}
	s := r.network
	var operations []ovsdb.Operation
	if changes := append(putKeys("other_config", s.OtherConfig, want.otherConfig()), putKeys(externalIDs, s.ExternalIDs, ids)...); len(changes) > 0 {
		operations = append(operations, mutate(NorthDB, s, s.UUID, changes...))
	}
	switch {
	case want.Mode == Bridged && r.localnet == nil:
		operations = append(operations, t.newLocalnet(want), mutate(NorthDB, s, s.UUID, *ovsdb.NewMutation("ports", ovsdb.MutateOperationInsert, references("localnet"))))
	case want.Mode != Bridged && r.localnet != nil:
		operations = append(operations, mutate(NorthDB, s, s.UUID, *ovsdb.NewMutation("ports", ovsdb.MutateOperationDelete, references(r.localnet.UUID))))
	case r.localnet != nil:
		changes := append(putKeys("options", r.localnet.Options, map[string]string{"network_name": want.BridgeMapping}), putKeys(externalIDs, r.localnet.ExternalIDs, map[string]string{networkKey: t.name})...)
		if len(changes) > 0 {
			operations = append(operations, mutate(NorthDB, r.localnet, r.localnet.UUID, changes...))
		}
	}
	if want.Mode == Isolated && modeOf(s) != Isolated {
		if err := t.findLeader(ctx, n, r, func(m owner.Mark) bool { return !isOfSameState(m, owner.Parse(mark)) }); err != nil {
			return nil, err
		}
	}
	operations = append(append(operations, t.putDHCP(r, want, mark)...), r.putSLAAC(want)...)
	routers, err := t.putRouters(ctx, n, r, want, mark)
	if err != nil {
		return nil, err
	}
	operations = append(operations, routers...)
	if len(operations) == 0 {
		return nil, nil
	}
	return append([]ovsdb.Operation{whileOwned(NorthDB, s, s.UUID, s.ExternalIDs)}, operations...), nil
}

func (t networkThing) newLocalnet(want Network) ovsdb.Operation {
	return insert(NorthDB, &Port{}, "localnet", map[string]any{
		"name": t.localnetName(), "type": "localnet", "addresses": texts("unknown"), "options": pairs(map[string]string{"network_name": want.BridgeMapping}), externalIDs: pairs(map[string]string{networkKey: t.name}),
	})
}

// putDHCP makes what guests are told, changes it, or removes it. Ports of machines that are to be told refer to it from then on.
func (t networkThing) putDHCP(r networkRows, want Network, mark string) []ovsdb.Operation {
	row := r.dhcp
	switch {
	case want.DHCP == nil && row == nil:
		return nil
	case want.DHCP == nil:
		return []ovsdb.Operation{remove(NorthDB, row, row.UUID)}
	}
	columns := map[string]any{"cidr": want.CIDR.String(), "options": pairs(want.dhcpOptions()), externalIDs: pairs(map[string]string{markKey: mark, networkKey: t.name})}
	if row == nil {
		operations := []ovsdb.Operation{insert(NorthDB, &DHCPOptions{}, "dhcp", columns)}
		for _, p := range r.others {
			if p.ExternalIDs[asksKey] != "" && p.DHCPv4 == nil {
				operations = append(operations, update(NorthDB, &p, p.UUID, map[string]any{"dhcpv4_options": references("dhcp")}))
			}
		}
		return operations
	}
	if row.CIDR == want.CIDR.String() && maps.Equal(row.Options, want.dhcpOptions()) && row.ExternalIDs[markKey] == mark {
		return nil
	}
	return []ovsdb.Operation{update(NorthDB, row, row.UUID, columns)}
}

// listUsers returns the ports on the network without those that a router of the same state left, which somebody removed: they go with the network.
func (t networkThing) listUsers(ctx context.Context, n *Northbound, r networkRows) ([]Port, error) {
	routers, err := Rows(ctx, n.North, All[RouterRow])
	isLeft := func(p Port) bool {
		router := p.ExternalIDs[routerKey]
		isThere := slices.ContainsFunc(routers, func(row RouterRow) bool { return row.Name == router })
		return router != "" && !isThere && isOfSameState(owner.Parse(p.ExternalIDs[markKey]), owner.Parse(r.network.ExternalIDs[markKey]))
	}
	return slices.DeleteFunc(slices.Clone(r.others), isLeft), err
}

// Drop implements Thing.
func (t networkThing) Drop(ctx context.Context, n *Northbound) ([]ovsdb.Operation, error) {
	r, err := t.findRows(ctx, n)
	if err != nil {
		return nil, err
	}
	if r.network == nil {
		if left := r.findTold(owner.Mark.IsHere); left != nil {
			return []ovsdb.Operation{remove(NorthDB, left, left.UUID)}, nil
		}
		return nil, nil
	}
	ports, err := t.listUsers(ctx, n, r)
	if err != nil {
		return nil, err
	}
	if len(ports) > 0 {
		return nil, fmt.Errorf("%d ports are on network %q in %s, such as %q: take the machines and routers off it first", len(ports), t.name, n, ports[0].Name)
	}
	if acls := len(r.network.ACLs); acls > 0 {
		return nil, fmt.Errorf("network %q in %s has %d ACLs, which are not its own: take them off it first by `ovn-nbctl acl-del`", t.name, n, acls)
	}
	operations := []ovsdb.Operation{whileOwned(NorthDB, r.network, r.network.UUID, r.network.ExternalIDs), remove(NorthDB, r.network, r.network.UUID)}
	if r.dhcp != nil {
		operations = append(operations, remove(NorthDB, r.dhcp, r.dhcp.UUID))
	}
	return operations, nil
}
