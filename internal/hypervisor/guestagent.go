package hypervisor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/digitalocean/go-libvirt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
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

// guestPatience is how many seconds a guest agent may take for one answer.
const guestPatience = 20

// GuestAgent is the guest agent of one domain; it is what agenthost speaks through.
type GuestAgent struct {
	client *Client
	domain string
}

// GuestAgent returns the agent of a domain by the domain's name.
func (c *Client) GuestAgent(domain string) *GuestAgent { return &GuestAgent{client: c, domain: domain} }

// Command passes one command to the agent, and returns its answer, both as JSON. Where the connection to the
// hypervisor broke meanwhile, the error wraps host.ErrCut.
func (g *GuestAgent) Command(ctx context.Context, json string) (string, error) {
	answer, err := callOnce(ctx, g.client, fmt.Sprintf("ask the guest agent of domain %q", g.domain), func(l *libvirt.Libvirt) (string, error) {
		ref, err := l.DomainLookupByName(g.domain)
		if err != nil {
			return "", err
		}
		text, err := l.QEMUDomainAgentCommand(ref, json, guestPatience, 0)
		if err == nil && len(text) == 0 {
			err = errors.New("an empty answer")
		}
		if err != nil {
			return "", err
		}
		return text[0], nil
	})
	if _, broke := errors.AsType[*BrokenError](err); broke {
		return "", fmt.Errorf("%w: %w", host.ErrCut, err)
	}
	return answer, err
}
