package node

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// layClaims lays claim to what only one resource of the plan may have, and reports what another one has.
func (p *planner) layClaims(want *machine.Spec) {
	host := want.Hypervisor
	owner := planregistry.NameOnHypervisor(host, fmt.Sprintf("node %q", want.Name))
	paths := map[planregistry.Claim][]any{}
	var kept []planregistry.Kept
	var claims []planregistry.Claim
	refuse := func(path []any, summary, format string, args ...any) {
		at, detail := crud.AttributePath(path), fmt.Sprintf(format, args...)
		if len(path) > 1 { // Terraform points at the whole attribute
			detail = at.String() + ": " + detail
		}
		p.resp.Diagnostics.AddAttributeError(at, summary, detail)
	}
	lay := func(c planregistry.Claim, path ...any) {
		first, twice := paths[c]
		switch {
		case !twice:
			claims, paths[c] = append(claims, c), path
		case len(path) > 1 && first[1] != path[1]:
			refuse(path, "Taken by another interface", "%s belongs to interface %d of this node: write another one", c, first[1])
		}
	}
	for index, i := range want.Interfaces {
		here := func(path ...any) []any { return append([]any{"network_interfaces", index}, path...) }
		if i.MAC != "" {
			lay(planregistry.Claim{Kind: "MAC address", Scope: "all networks", Value: i.MAC}, here("mac")...)
		}
		segment := i.Network
		if i.Bridge != "" {
			segment = "bridge " + i.Bridge
		}
		if segment == "" {
			continue
		}
		address := func(ip netip.Addr, path ...any) {
			lay(planregistry.AddressClaim(host, segment, ip), here(path...)...)
			if virtual, there := p.at.Registry.Claims.FindVirtual(ip); there {
				refuse(here(path...), "Taken by another resource", "%s belongs to %s, and a virtual address is no machine's own: write another one", virtual.Claim, virtual.Holder)
			}
			if pool, there := p.at.Registry.Pools.FindMade(ip); there {
				refuse(here(path...), "Taken by another resource", "%s is one that the new %s gives out: write another one, or reserve it there", ip, pool)
			}
			if i.Bridge == "" && i.MAC != "" {
				kept = append(kept, planregistry.Kept{Hypervisor: host, Network: segment, Address: ip, MAC: strings.ToLower(i.MAC)})
			}
		}
		if ip, err := netip.ParseAddr(i.IP); err == nil {
			address(ip, "ip")
			if i.MAC != "" {
				lay(planregistry.ReservationClaim(host, segment, i.MAC), here("ip")...)
			}
		}
		if ip, err := netip.ParseAddr(i.IPv6); err == nil {
			address(ip, "ipv6")
		}
		if (i.IP != "" || i.IPv6 != "") && i.Hostname != "" { // libvirt takes a name once on a network
			lay(planregistry.ReservationClaim(host, segment, i.Hostname), here("hostname")...)
		}
		for m, text := range i.Addresses {
			if p, err := netip.ParsePrefix(text); err == nil {
				address(p.Addr(), "addresses", m)
			}
		}
	}
	for _, k := range p.at.Registry.Listed.ReplaceKept(owner, kept...) {
		at := paths[planregistry.AddressClaim(host, k.Kept.Network, k.Address)]
		refuse(at, "Address listed by the network", "the dhcp.hosts of network %q keeps %s for %s: write another address", k.Kept.Network, k.Address, k.Listed)
	}
	for _, own := range want.VolumeNames() {
		lay(planregistry.VolumeClaim(host, own.Pool, own.Name), "name")
	}
	volumes := map[string][]any{}
	for key, d := range want.Disks {
		if d.Volume != "" {
			volumes[d.Volume] = []any{"disks", service.Key(key), "volume"}
		}
		if c := planregistry.DiskClaim(host, d.Volume); d.Volume != "" && want.Running && paths[c] == nil {
			lay(c, "disks", service.Key(key), "volume")
		}
	}
	for _, gone := range p.at.Registry.Disks.ReplaceUses(owner, host, slices.Sorted(maps.Keys(volumes))...) {
		refuse(volumes[gone], "Volume destroyed by the plan", "%s is destroyed by the same plan: take the disk out of the node first, or keep the volume", gone)
	}
	for _, conflict := range p.at.Registry.Claims.Replace(owner, claims...) {
		refuse(paths[conflict.Claim], "Taken by another resource", "%s belongs to %s: write another one", conflict.Claim, conflict.Holder)
	}
}
