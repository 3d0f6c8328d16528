package machine

import (
	"context"
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// readAddresses says where a machine can be reached, by the names of its interfaces: what its guest has as far as anybody
// knows, and else what it is configured to have.
func readAddresses(ctx context.Context, c *hypervisor.Client, leases leaseLister, got *Spec, d *hypervisor.Domain) (map[string]string, error) {
	addresses := map[string]string{}
	var fromAgent map[string][]netip.Addr
	asked := false
	for n := range got.Interfaces {
		i := &got.Interfaces[n]
		address := i.ConfiguredAddress()
		if !address.IsValid() {
			address = i.drawn
		}
		if i.Network != "" && d.Active() && (!address.IsValid() || i.IP.IsValid()) {
			all, err := leases(ctx, i.Network)
			if err != nil && !hypervisor.IsNotFound(err) {
				return nil, err
			}
			address = chooseLeasedAddress(listLeasedAddresses(all, i.MAC, nil), address)
		}
		if !address.IsValid() && d.Active() && got.GuestAgent && IsAgentConnected(d) {
			if !asked {
				// An agent that does not answer, because the guest is busy, says nothing.
				fromAgent, _ = c.GuestAddresses(ctx, d.UUID)
				asked = true
			}
			address = preferIPv4(fromAgent[i.MAC])
		}
		if address.IsValid() {
			addresses[i.Name] = address.String()
		}
	}
	return addresses, nil
}

// leaseLister lists the leases of a network.
type leaseLister func(ctx context.Context, network string) ([]hypervisor.Lease, error)

// chooseLeasedAddress returns the address that an interface has by its leases: the one that it is configured to have where that is among them, or
// where there are none of its family.
func chooseLeasedAddress(leased []netip.Addr, configured netip.Addr) netip.Addr {
	if !configured.IsValid() {
		return preferIPv4(leased)
	}
	same := slices.DeleteFunc(slices.Clone(leased), func(a netip.Addr) bool { return a.Is4() != configured.Is4() })
	if len(same) == 0 || slices.Contains(same, configured) {
		return configured
	}
	return preferIPv4(same)
}

// IsAgentConnected says whether the guest's agent has opened its channel: only then is it worth asking.
func IsAgentConnected(d *hypervisor.Domain) bool {
	if d.Live == nil || d.Live.Devices == nil {
		return false
	}
	for _, ch := range d.Live.Devices.Channels {
		if isAgentChannel(ch) {
			return ch.Target.VirtIO.State == "connected"
		}
	}
	return false
}

// ListAddresses says where a domain can be reached and what its MAC addresses are, by the names of its interfaces. The domain may be anybody's:
// where a database is not to be asked, its interfaces there have the addresses that its mark has.
func ListAddresses(ctx context.Context, c *hypervisor.Client, find Northbounds, d *hypervisor.Domain) (addresses, macs map[string]string, err error) {
	got := &Spec{Hardware: Hardware{GuestAgent: true}}
	if got.Interfaces, err = readInterfaces(ctx, c, &HypervisorCache{}, find, nil, d, Read(d.Config)); err != nil {
		return nil, nil, err
	}
	if addresses, err = readAddresses(ctx, c, c.Leases, got, d); err != nil {
		return nil, nil, err
	}
	macs = map[string]string{}
	for _, i := range got.Interfaces {
		macs[i.Name] = i.MAC
	}
	return addresses, macs, nil
}
