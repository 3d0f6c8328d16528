package node

import (
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// claim lays claim to what only one resource of the plan may have, and reports what another one has.
func (n *node) claim(v *version, resp *resource.ModifyPlanResponse) {
	host := v.Hypervisor.ValueString()
	name := v.Name.ValueString()
	owner := planregistry.On(host, fmt.Sprintf("node %q", name))
	paths := map[planregistry.Claim][]any{}
	var claims []planregistry.Claim
	refuse := func(path []any, summary, format string, args ...any) {
		at, detail := crud.AttributePath(path), fmt.Sprintf(format, args...)
		if len(path) > 1 { // Terraform points at the whole attribute
			detail = at.String() + ": " + detail
		}
		resp.Diagnostics.AddAttributeError(at, summary, detail)
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
	for index, i := range v.parts.Interfaces {
		here := func(path ...any) []any { return append([]any{"network_interfaces", index}, path...) }
		mac := canonicalMAC(i.MAC.ValueString())
		if known(i.MAC) {
			lay(planregistry.Claim{Kind: "MAC address", Scope: "all networks", Value: mac}, here("mac")...)
		}
		segment := i.Network.ValueString()
		if known(i.Bridge) {
			segment = "bridge " + i.Bridge.ValueString()
		}
		if segment == "" {
			continue
		}
		if ip, err := netip.ParseAddr(i.IP.ValueString()); err == nil {
			lay(planregistry.AddressClaim(host, segment, ip), here("ip")...)
			if known(i.MAC) {
				lay(planregistry.ReservationClaim(host, segment, mac), here("ip")...)
			}
		}
		if ip, err := netip.ParseAddr(i.IPv6.ValueString()); err == nil {
			lay(planregistry.AddressClaim(host, segment, ip), here("ipv6")...)
		}
		if (known(i.IP) || known(i.IPv6)) && known(i.Hostname) { // libvirt takes a name once on a network
			lay(planregistry.ReservationClaim(host, segment, i.Hostname.ValueString()), here("hostname")...)
		}
		for m, text := range texts(i.Addresses) {
			if p, err := netip.ParsePrefix(text); err == nil {
				lay(planregistry.AddressClaim(host, segment, p.Addr()), here("addresses", m)...)
			}
		}
	}
	for _, own := range v.volumeNames() {
		lay(planregistry.VolumeClaim(host, own.pool, own.name), "name")
	}
	for key, d := range v.parts.Disks {
		if c := planregistry.DiskClaim(host, d.Volume.ValueString()); known(d.Volume) && v.Running.ValueBool() && paths[c] == nil {
			lay(c, "disks", service.Key(key), "volume")
		}
	}
	for _, conflict := range n.Fleet.Claims.Replace(owner, claims...) {
		refuse(paths[conflict.Claim], "Taken by another resource", "%s belongs to %s: write another one", conflict.Claim, conflict.Holder)
	}
}
