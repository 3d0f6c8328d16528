package hypervisor

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/digitalocean/go-libvirt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
)

// GuestAddresses asks the guest agent for the addresses of each interface by its MAC address, in the order
// the guest lists them; loopback and link-local ones are left out. It fails where no agent answers.
func (c *Client) GuestAddresses(ctx context.Context, uuid string) (map[string][]netip.Addr, error) {
	ref, err := newDomainRef(uuid)
	if err != nil {
		return nil, err
	}
	interfaces, err := callIdempotent(ctx, c, fmt.Sprintf("ask the guest agent of domain %s for addresses", uuid), func(l *libvirt.Libvirt) ([]libvirt.DomainInterface, error) {
		return l.DomainInterfaceAddresses(ref, uint32(libvirt.DomainInterfaceAddressesSrcAgent), 0)
	})
	if err != nil {
		return nil, err
	}
	byMAC := map[string][]netip.Addr{}
	for _, i := range interfaces {
		if len(i.Hwaddr) == 0 {
			continue
		}
		mac, err := alloc.CanonicalMAC(i.Hwaddr[0])
		if err != nil {
			continue // a tunnel without an Ethernet address
		}
		for _, a := range i.Addrs {
			ip, err := netip.ParseAddr(a.Addr)
			if err == nil && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() {
				byMAC[mac] = append(byMAC[mac], ip)
			}
		}
	}
	return byMAC, nil
}
