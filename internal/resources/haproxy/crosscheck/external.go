package crosscheck

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
)

// link is a network interface of a machine.
type link struct {
	name     string
	prefixes []netip.Prefix
	// gateway says that the default route leaves by it.
	gateway bool
}

// links asks the machine for its interfaces.
func (n Node) links(ctx context.Context) ([]link, error) {
	h, err := n.fleet.Host(ctx, n.id)
	if err != nil {
		return nil, err
	}
	var addresses []struct {
		Name string `json:"ifname"`
		Info []struct {
			Local  string `json:"local"`
			Length int    `json:"prefixlen"`
		} `json:"addr_info"`
	}
	if err := askIP(ctx, h, &addresses, "address", "show", "up"); err != nil {
		return nil, err
	}
	gateways := map[string]bool{}
	for _, family := range []string{"-4", "-6"} {
		var routes []struct {
			Device string `json:"dev"`
		}
		if err := askIP(ctx, h, &routes, family, "route", "show", "default"); err != nil {
			return nil, err
		}
		for _, r := range routes {
			gateways[r.Device] = true
		}
	}
	var links []link
	for _, a := range addresses {
		l := link{name: a.Name, gateway: gateways[a.Name]}
		for _, i := range a.Info {
			if p, err := netip.ParsePrefix(fmt.Sprintf("%s/%d", i.Local, i.Length)); err == nil && !p.Addr().IsLoopback() && !p.Addr().IsLinkLocalUnicast() {
				l.prefixes = append(l.prefixes, p)
			}
		}
		if len(l.prefixes) > 0 {
			links = append(links, l)
		}
	}
	return links, nil
}

func askIP(ctx context.Context, h host.Host, into any, argv ...string) error {
	out, err := h.Run(ctx, host.Cmd{Argv: append([]string{"ip", "-json"}, argv...)})
	if err != nil {
		return err
	}
	if len(out) == 0 {
		return nil
	}
	return json.Unmarshal(out, into)
}

// exposed says why an address can be reached from outside; "" when nothing says so. On a machine with
// several networks, the outside is where the default route leads.
func exposed(b haproxy.Bind, links []link) string {
	if b.Wildcard() {
		if len(links) == 1 {
			return ""
		}
		return b.Endpoint() + " is on every network of the machine"
	}
	address, err := netip.ParseAddr(b.Address)
	if err != nil || address.IsLoopback() {
		return ""
	}
	if !address.IsPrivate() && !address.IsLinkLocalUnicast() {
		return address.String() + " is a public address"
	}
	outside, inside := "", false
	for _, l := range links {
		if !l.gateway {
			inside = true
			continue
		}
		for _, p := range l.prefixes {
			if p.Masked().Contains(address) {
				outside = l.name
			}
		}
	}
	if outside != "" && inside {
		return fmt.Sprintf("%s is in the network of %s, which has the default route", address, outside)
	}
	return ""
}
