package node

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/cloudinit"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// seeded says whether the node has a cloud-init disk: it was asked for, or interfaces are to be configured
// inside a guest that Ignition does not configure.
func (v *version) seeded() bool {
	if v.parts.CloudInit != nil {
		return true
	}
	if known(v.Ignition) || known(v.Butane) {
		return false
	}
	for _, i := range v.parts.Interfaces {
		if known(i.Gateway) || len(elements(i.Addresses, i.Routes, i.Nameservers)) > 0 {
			return true
		}
	}
	return false
}

// seed adds the cloud-init disk. It is a virtio disk, because kernels made for virtual machines may lack
// drivers for CD-ROMs.
func (r *resolver) seed(ctx context.Context, b *build) error {
	if !r.v.seeded() {
		return nil
	}
	seed, err := seedOf(r.v, b.machine.UUID)
	if err != nil {
		return err
	}
	image, err := seed.Image()
	if err != nil {
		return err
	}
	own, err := r.file(ctx, b, machine.Seed, "-seed.iso", image)
	if err != nil {
		return err
	}
	if had := r.had(machine.Seed); had != nil {
		b.keep(*had, had.Bus)
		b.rewrite = append(b.rewrite, own)
		return nil
	}
	b.add(own, "virtio", true)
	return nil
}

// file is a volume with content, beside the root disk.
func (r *resolver) file(ctx context.Context, b *build, key, suffix string, content []byte) (ownVolume, error) {
	name := "default"
	switch {
	case r.existing != nil && r.existing.Mark.Disk(key).Pool != "":
		name = r.existing.Mark.Disk(key).Pool
	case r.v.Root != nil && known(r.v.Root.Pool):
		name = r.v.Root.Pool.ValueString()
	case len(b.volumes) > 0:
		name = b.volumes[0].pool.Name()
	}
	pool, err := r.facts.pool(ctx, r.client, name)
	if err == nil && !pool.Files() {
		err = fmt.Errorf("storage pool %q (%s) cannot hold files, and cloud-init and Ignition need one: put the root disk into a pool of type dir", pool.Name(), pool.Type())
	}
	path := r.v.seedPath()
	switch {
	case key == machine.Ignition && known(r.v.Butane):
		path = at("butane")
	case key == machine.Ignition:
		path = at("ignition")
	}
	return ownVolume{key: key, path: path, pool: pool, xml: contentVolume(r.v.Name.ValueString()+suffix, content), content: content}, err
}

// seedOf renders what cloud-init is told.
func seedOf(v *version, uuid string) (*cloudinit.Seed, error) {
	c := v.parts.CloudInit
	if c == nil {
		c = &cloudInitModel{}
	}
	s := &cloudinit.Seed{UserData: c.UserData.ValueString(), VendorData: c.VendorData.ValueString(), NetworkConfig: c.NetworkConfig.ValueString()}
	if s.UserData == "" {
		s.UserData = "#cloud-config\n{}\n"
	}
	if s.NetworkConfig == "" && len(v.parts.Interfaces) > 0 {
		s.NetworkConfig = cloudinit.NetworkConfig(guestInterfaces(v.parts.Interfaces))
	}
	var err error
	if s.MetaData, err = cloudinit.MetaData(c.MetaData.ValueString(), uuid, v.Name.ValueString()); err != nil {
		return nil, fmt.Errorf("cannot read cloud_init.meta_data: %w", err)
	}
	return s, nil
}

// keepMetaData keeps the prior text of metadata that tell the guest the same: an import finds them completed.
func keepMetaData(planned, prior *version) {
	is, was := planned.parts.CloudInit, prior.parts.CloudInit
	if is == nil || was == nil || !known(is.MetaData) || !known(was.MetaData) || is.MetaData.Equal(was.MetaData) {
		return
	}
	if cloudinit.SameMetaData(is.MetaData.ValueString(), was.MetaData.ValueString(), prior.ID.ValueString(), planned.Name.ValueString()) {
		is.MetaData = was.MetaData
	}
}

// guestInterfaces are the interfaces as cloud-init configures them.
func guestInterfaces(all []interfaceModel) []cloudinit.Interface {
	var guest []cloudinit.Interface
	for _, i := range all {
		g := cloudinit.Interface{Name: i.Name.ValueString(), MAC: canonicalMAC(i.MAC.ValueString()), MTU: i.MTU.ValueInt64()}
		for _, text := range texts(i.Addresses) {
			if p, err := netip.ParsePrefix(text); err == nil {
				g.Addresses = append(g.Addresses, p)
			}
		}
		g.DHCP4, g.DHCP6 = asksDHCP(&i)
		g.Gateway, _ = netip.ParseAddr(i.Gateway.ValueString())
		for _, r := range routesOf(i.Routes) {
			to, err := netip.ParsePrefix(r.CIDR.ValueString())
			via, err2 := netip.ParseAddr(r.Via.ValueString())
			if err == nil && err2 == nil {
				g.Routes = append(g.Routes, cloudinit.Route{To: to, Via: via})
			}
		}
		for _, text := range texts(i.Nameservers) {
			if a, err := netip.ParseAddr(text); err == nil {
				g.Nameservers = append(g.Nameservers, a)
			}
		}
		guest = append(guest, g)
	}
	return guest
}

// asksDHCP says whether the guest asks DHCP for an interface's addresses of each family.
func asksDHCP(i *interfaceModel) (v4, v6 bool) {
	static := slices.ContainsFunc(texts(i.Addresses), func(text string) bool {
		p, err := netip.ParsePrefix(text)
		return err == nil && p.Addr().Is4()
	})
	return known(i.IP) || !static, known(i.IPv6)
}

// routesOf converts a list of routes; unknown ones are left out.
func routesOf(l types.List) []routeModel {
	var all []routeModel
	for _, e := range l.Elements() {
		o, ok := e.(types.Object)
		if !ok || !known(o) {
			continue
		}
		cidr, _ := o.Attributes()["cidr"].(types.String)
		via, _ := o.Attributes()["via"].(types.String)
		all = append(all, routeModel{cidr, via})
	}
	return all
}

// markInterface is what the domain's metadata say about the inside of an interface; unmarkInterface reads it.
func markInterface(i *interfaceModel) machine.MarkedInterface {
	var routes []string
	for _, r := range routesOf(i.Routes) {
		routes = append(routes, r.CIDR.ValueString()+">"+r.Via.ValueString())
	}
	k := machine.MarkedInterface{
		MAC: canonicalMAC(i.MAC.ValueString()), Name: i.Name.ValueString(), Addresses: strings.Join(texts(i.Addresses), " "),
		Gateway: i.Gateway.ValueString(), Routes: strings.Join(routes, " "), Nameservers: strings.Join(texts(i.Nameservers), " "),
		Allowed: strings.Join(texts(i.AllowedAddresses), " "),
	}
	if known(i.IPv6) {
		k.IPv6, k.Hostname = canonicalAddress(i.IPv6.ValueString()), i.Hostname.ValueString()
	}
	return k
}

func unmarkInterface(k machine.MarkedInterface, i *interfaceModel) {
	i.Name, i.Gateway = optional(k.Name), optional(k.Gateway)
	i.Addresses, i.Nameservers, i.AllowedAddresses = textList(strings.Fields(k.Addresses)), textList(strings.Fields(k.Nameservers)), textList(strings.Fields(k.Allowed))
	i.Routes = types.ListNull(routeType())
	var routes []attr.Value
	for _, r := range strings.Fields(k.Routes) {
		cidr, via, _ := strings.Cut(r, ">")
		routes = append(routes, types.ObjectValueMust(routeType().(types.ObjectType).AttrTypes, map[string]attr.Value{
			"cidr": types.StringValue(cidr), "via": types.StringValue(via),
		}))
	}
	if len(routes) > 0 {
		i.Routes = types.ListValueMust(routeType(), routes)
	}
}

func labelsOf(m *model) map[string]string {
	labels := map[string]string{}
	for name, v := range m.Labels.Elements() {
		if s, ok := v.(types.String); ok && known(s) {
			labels[name] = s.ValueString()
		}
	}
	return labels
}
