package hypervisor

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/digitalocean/go-libvirt"
)

// Lease is an address that a network's DHCP has given out.
type Lease struct {
	MAC      string // lower case; "" where only the client id is known
	IP       netip.Addr
	Prefix   int
	Hostname string
	ClientID string
	Expires  time.Time
}

// Leases lists the current leases of a network; an inactive one has none.
func (c *Client) Leases(ctx context.Context, network string) ([]Lease, error) {
	return callIdempotent(ctx, c, fmt.Sprintf("read leases of network %q", network), func(l *libvirt.Libvirt) ([]Lease, error) {
		ref, err := lookupNetwork(l, network)
		if err != nil {
			return nil, err
		}
		active, err := l.NetworkIsActive(ref)
		if err != nil || active == 0 {
			return nil, err
		}
		raw, _, err := l.NetworkGetDhcpLeases(ref, nil, 1, 0)
		if err != nil {
			return nil, err
		}
		var leases []Lease
		for _, r := range raw {
			address, err := netip.ParseAddr(r.Ipaddr)
			if err != nil {
				return nil, fmt.Errorf("parse a lease: %w", err)
			}
			leases = append(leases, Lease{
				MAC: strings.ToLower(readOptString(r.Mac)), IP: address, Prefix: int(r.Prefix), Hostname: readOptString(r.Hostname),
				ClientID: readOptString(r.Clientid), Expires: time.Unix(r.Expirytime, 0).UTC(),
			})
		}
		return leases, nil
	})
}

func readOptString(s libvirt.OptString) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}
