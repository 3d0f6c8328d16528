package network

import (
	"context"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// ListPlugs names the networks on a hypervisor that each of some MAC addresses is plugged into, as its machines are configured: by
// their names, or by the bridges that they have. A bridge that no network has is "the bridge NAME".
func ListPlugs(ctx context.Context, c *hypervisor.Client, macs []string) (map[string][]string, error) {
	domains, err := c.Domains(ctx)
	if err != nil {
		return nil, err
	}
	networks, err := c.PlanNetworks(ctx)
	if err != nil {
		return nil, err
	}
	return matchPlugs(domains, networks, macs), nil
}

func matchPlugs(domains []*hypervisor.Domain, networks []*hypervisor.Network, macs []string) map[string][]string {
	plugs := map[string][]string{}
	for _, d := range domains {
		for _, x := range d.Config.Devices.Interfaces {
			if x.MAC == nil || x.Source == nil {
				continue
			}
			at := slices.IndexFunc(macs, func(mac string) bool { return strings.EqualFold(mac, x.MAC.Address) })
			if name := nameSource(x.Source, networks); at >= 0 && name != "" {
				plugs[macs[at]] = append(plugs[macs[at]], name)
			}
		}
	}
	return plugs
}

// nameSource names what an interface is plugged into; "" where that is neither a network nor a bridge.
func nameSource(source *libvirtxml.DomainInterfaceSource, networks []*hypervisor.Network) string {
	switch {
	case source.Network != nil:
		return source.Network.Network
	case source.Bridge != nil:
		for _, n := range networks {
			if n.Bridge() == source.Bridge.Bridge {
				return n.Name
			}
		}
		return "the bridge " + source.Bridge.Bridge
	}
	return ""
}
