package network

import (
	"context"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/leftover"
)

// ListNames lists the networks of a hypervisor, whosever they are, by name.
func ListNames(ctx context.Context, c *hypervisor.Client) ([]string, error) {
	networks, err := c.Networks(ctx)
	var names []string
	for _, n := range networks {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return names, err
}

// Listed is a reservation as a list names it: its network, and what that knows its machine by.
type Listed struct {
	Network string
	hypervisor.DHCPHost
}

// ListReservations lists the reservations of all networks, whosever they are, but for those of machines with an interface there: these belong
// to their machines.
func ListReservations(ctx context.Context, c *hypervisor.Client) (all []Listed, err error) {
	networks, err := c.Networks(ctx)
	if err != nil {
		return nil, err
	}
	domains, err := c.Domains(ctx)
	if err != nil {
		return nil, err
	}
	machines := map[string]bool{}
	for _, d := range domains {
		for _, x := range listInterfaces(d.Config) {
			if x.MAC != nil {
				machines[strings.ToLower(x.MAC.Address)] = true
			}
		}
	}
	for _, n := range networks {
		for _, h := range hypervisor.DHCPHosts(n.Config) {
			if h.MAC == "" || !machines[h.MAC] {
				all = append(all, Listed{n.Name, h})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Listed) int { return strings.Compare(a.Network, b.Network) })
	return all, nil
}

// filledIn is what libvirt writes into a network's XML by itself, what says the same in other words, and what other resources are: a
// reservation is one by itself, or its machine's. The ports of NAT that libvirt fills in are in what Render writes: others are told.
var filledIn = []string{
	"/network/uuid", "/network/mac", "/network/bridge/@name", "/network/bridge/@stp=on", "/network/bridge/@delay=0", "/network/@connections", "/network/@ipv6=no",
	"/network/forward/nat/@ipv6=no",
	"/network/ip/@family=ipv4", "/network/ip/@netmask", "/network/ip/dhcp/host", "/network/route/@family=ipv4", "/network/dns/@enable=yes", "/network/dns/@forwardPlainNames=yes",
	"/network/domain/@localOnly=no", "/network/metadata/virtcluster:*",
}

// ListUnmodelled lists what of the network's definition no attribute says. It implements crud.Inspector.
func (s *Store) ListUnmodelled(ctx context.Context) ([]service.Unmodelled, error) {
	n, err := s.Client.Network(ctx, s.Ref)
	if err != nil {
		return nil, markAbsent(err)
	}
	got, err := readSpec(n, s.Known...)
	if err != nil {
		return nil, err
	}
	return listUnmodelled(n.ConfigXML, got.Definition)
}

// listUnmodelled lists what of a definition in XML the values that were read from it do not say.
func listUnmodelled(xml string, d Definition) ([]service.Unmodelled, error) {
	modelled, err := d.Render("")
	if err != nil {
		return nil, err
	}
	return leftover.Find(xml, modelled, filledIn...)
}
