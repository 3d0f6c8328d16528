package node

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/cloudinit"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// at is a path to an attribute.
func at(steps ...any) []any { return steps }

// problems is what is wrong with a node without asking any machine. What is unknown is not looked at.
func (v *version) problems() []service.Problem {
	var all []service.Problem
	problem := func(path []any, summary, format string, args ...any) {
		all = append(all, service.Problemf(path, summary, format, args...))
	}
	if known(v.MemoryMiB) && known(v.MaxMemoryMiB) && v.MemoryMiB.ValueInt64() > v.MaxMemoryMiB.ValueInt64() {
		problem(at("max_memory_mib"), "Maximum below the memory", "write at least memory_mib, which is %d", v.MemoryMiB.ValueInt64())
	}
	if known(v.VCPUs) && known(v.MaxVCPUs) && v.VCPUs.ValueInt64() > v.MaxVCPUs.ValueInt64() {
		problem(at("max_vcpus"), "Maximum below the number of vCPUs", "write at least vcpus, which is %d", v.VCPUs.ValueInt64())
	}
	if v.Firmware.ValueString() == "uefi-secure" && known(v.Machine) && !machine.SameChipset("q35", v.Machine.ValueString()) {
		problem(at("machine"), "Secure Boot needs a q35 machine", "write machine = \"q35\", or firmware = \"uefi\"")
	}
	if v.WaitFor.ValueString() == "guest_agent" && known(v.GuestAgent) && !v.GuestAgent.ValueBool() {
		problem(at("wait_for"), "No guest agent to wait for", "set guest_agent = true, or wait for \"lease\"")
	}
	if c := v.parts.CPU; c != nil {
		if c.Mode.ValueString() == "custom" && c.Model.IsNull() {
			problem(at("cpu", "model"), "Missing processor model", "mode \"custom\" needs a model such as \"EPYC\"")
		}
		if known(c.Model) && known(c.Mode) && c.Mode.ValueString() != "custom" {
			problem(at("cpu", "model"), "Model without mode \"custom\"", "mode %q chooses the model itself: leave out one of the two", c.Mode.ValueString())
		}
		if c.Nested.ValueBool() && v.Type.ValueString() == "qemu" {
			problem(at("cpu", "nested"), "Nested virtualisation needs type \"kvm\"", "an emulated processor has none to pass on")
		}
	}
	if b := v.parts.Boot; b != nil && b.Kernel.IsNull() && (known(b.Initrd) || known(b.Cmdline)) {
		problem(at("boot", "kernel"), "Missing kernel", "initrd and cmdline go with a kernel that is booted directly")
	}
	all = append(all, v.diskProblems()...)
	all = append(all, v.interfaceProblems()...)
	return append(all, v.firstBootProblems()...)
}

func (v *version) diskProblems() []service.Problem {
	var all []service.Problem
	if r := v.Root; r != nil && r.Image.IsNull() && !known(r.SizeGiB) {
		all = append(all, service.Problemf(at("root_disk"), "Missing size", "a root disk without an image needs a size_gib"))
	}
	volumes := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(v.parts.Disks)) {
		d := v.parts.Disks[key]
		here := at("disks", service.Key(key))
		if path := d.Volume.ValueString(); path != "" {
			if other, twice := volumes[path]; twice {
				all = append(all, service.Problemf(append(here, "volume"), "Duplicate volume", "disk %q of this node has it already: write another one", other))
			}
			volumes[path] = key
		}
		if err := machine.CheckKey(key); err != nil {
			all = append(all, service.Problemf(here, "Invalid disk name", "%v", err))
		}
		switch {
		case known(d.Volume) && known(d.SizeGiB):
			all = append(all, service.Problemf(append(here, "size_gib"), "Size of an attached volume", "the volume has its own size: set it there, and leave out size_gib here"))
		case known(d.Volume) && known(d.Pool):
			all = append(all, service.Problemf(append(here, "pool"), "Pool of an attached volume", "the volume is in its own pool: leave out pool here"))
		case d.Volume.IsNull() && !known(d.SizeGiB):
			all = append(all, service.Problemf(here, "Missing size", "write size_gib for a new volume, or volume for one that is there"))
		}
	}
	return all
}

// changeProblems is what is wrong with a change of a node that exists.
func (v *version) changeProblems(prior *version) []service.Problem {
	var all []service.Problem
	shrink := func(path []any, was, is types.Int64) {
		if known(was) && known(is) && is.ValueInt64() < was.ValueInt64() {
			all = append(all, service.Problemf(path, "A disk cannot shrink", "it has %d GiB, and what is beyond the new end would be lost: write at least %d", was.ValueInt64(), was.ValueInt64()))
		}
	}
	if v.Root != nil && prior.Root != nil {
		shrink(at("root_disk", "size_gib"), prior.Root.SizeGiB, v.Root.SizeGiB)
	}
	for key, d := range v.parts.Disks {
		was, had := prior.parts.Disks[key]
		if !had {
			continue
		}
		here := at("disks", service.Key(key))
		if was.Volume.IsNull() && d.Volume.IsNull() {
			shrink(append(here, "size_gib"), was.SizeGiB, d.SizeGiB)
			if known(was.Pool) && known(d.Pool) && !was.Pool.Equal(d.Pool) {
				all = append(all, service.Problemf(append(here, "pool"), "A disk cannot move to another pool", "give the new disk another name, copy its content inside the guest, and remove the old one"))
			}
		}
	}
	first := !equal(prior.parts.CloudInit, v.parts.CloudInit) || !prior.Ignition.Equal(v.Ignition) || !prior.Butane.Equal(v.Butane)
	if first && !v.Ignition.IsUnknown() && !v.Butane.IsUnknown() && !v.model.CloudInit.IsUnknown() {
		w := service.Warningf(at("name"), "The guest has booted before", "cloud-init and Ignition look at their configuration at the first boot of a machine only: the new one is put in place for the day the node is made anew (terraform apply -replace)")
		all = append(all, w)
	}
	return all
}

func equal(a, b *cloudInitModel) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.UserData.Equal(b.UserData) && a.MetaData.Equal(b.MetaData) && a.VendorData.Equal(b.VendorData) && a.NetworkConfig.Equal(b.NetworkConfig)
}

// firstBootProblems is what cloud-init and Ignition would complain about when nobody is there to read it.
func (v *version) firstBootProblems() []service.Problem {
	var all []service.Problem
	check := func(path []any, text types.String, with func(string) error, kind string) {
		if !known(text) {
			return
		}
		if err := with(text.ValueString()); err != nil {
			all = append(all, service.Problemf(path, "Malformed "+kind, "%v", err))
		}
	}
	if c := v.parts.CloudInit; c != nil {
		check(at("cloud_init", "user_data"), c.UserData, cloudinit.CheckUserData, "user data")
		check(at("cloud_init", "vendor_data"), c.VendorData, cloudinit.CheckUserData, "vendor data")
		check(at("cloud_init", "meta_data"), c.MetaData, cloudinit.CheckMapping, "metadata")
		check(at("cloud_init", "network_config"), c.NetworkConfig, cloudinit.CheckNetworkConfig, "network configuration")
	}
	if known(v.Ignition) && known(v.Butane) {
		all = append(all, service.Problemf(at("butane"), "Two Ignition configurations", "Butane is translated to Ignition: write only one of ignition and butane"))
	}
	check(at("ignition"), v.Ignition, checkIgnition, "Ignition configuration")
	check(at("butane"), v.Butane, func(text string) error {
		_, err := translate(text)
		return err
	}, "Butane configuration")
	if doubts := v.doubts(); doubts != "" {
		path := at("ignition")
		if known(v.Butane) {
			path = at("butane")
		}
		all = append(all, service.Warningf(path, "Doubtful first-boot configuration", "%s", doubts))
	}
	return all
}

func (v *version) interfaceProblems() []service.Problem {
	var all []service.Problem
	names, macs := map[string]int{}, map[string]int{}
	for n := range v.parts.Interfaces {
		i := &v.parts.Interfaces[n]
		here := at("network_interfaces", n)
		problem := func(attribute, summary, format string, args ...any) {
			all = append(all, service.Problemf(append(slices.Clone(here), attribute), summary, format, args...))
		}
		switch {
		case i.Network.IsNull() && i.Bridge.IsNull():
			problem("network", "Interface without a network", "write network or bridge")
		case known(i.Network) && known(i.Bridge):
			problem("bridge", "Interface with network and bridge", "write only one of network and bridge")
		}
		if known(i.MAC) {
			mac, err := alloc.CanonicalMAC(i.MAC.ValueString())
			if err != nil {
				problem("mac", "Invalid MAC address", "%v", err)
			} else if mac[1] == '1' || mac[1] == '3' || mac[1] == '5' || mac[1] == '7' || mac[1] == '9' || mac[1] == 'b' || mac[1] == 'd' || mac[1] == 'f' {
				problem("mac", "Multicast MAC address", "an interface's first byte is even, such as 52: %s is a multicast address", mac)
			}
			if other, taken := macs[mac]; taken {
				problem("mac", "Duplicate MAC address", "interface %d of this node has it already", other)
			}
			macs[mac] = n
		}
		if known(i.Name) {
			if other, taken := names[i.Name.ValueString()]; taken {
				problem("name", "Duplicate interface name", "interface %d of this node has it already", other)
			}
			names[i.Name.ValueString()] = n
		}
		if i.Network.IsNull() && known(i.IP) {
			problem("ip", "Reservation on a bridge", "only a network's DHCP can reserve an address: write it as addresses = [\"%s/24\"] to set it inside the guest", i.IP.ValueString())
		}
		if i.Network.IsNull() && known(i.IPv6) {
			problem("ipv6", "Reservation on a bridge", "only a network's DHCP can reserve an address: write it among addresses to set it inside the guest")
		}
		all = append(all, addressProblems(i, here)...)
		guarded := i.PortSecurity.ValueBool() && !i.IP.IsUnknown() && !i.IPv6.IsUnknown() && !i.Addresses.IsUnknown() && !i.AllowedAddresses.IsUnknown()
		if guarded && !slices.ContainsFunc(elements(i.Addresses, i.AllowedAddresses), attr.Value.IsUnknown) && len(sendable(i)) == 0 {
			problem("port_security", "No address to send from", "port_security passes only the interface's own addresses and allowed_addresses, and there are none: write ip, addresses or allowed_addresses")
		}
		if known(i.PortSecurity) && !i.PortSecurity.ValueBool() && len(i.AllowedAddresses.Elements()) > 0 {
			problem("allowed_addresses", "Allowed addresses without port_security", "without port_security everything is passed: set it, or leave out allowed_addresses")
		}
	}
	return all
}

func elements(lists ...types.List) []attr.Value {
	var all []attr.Value
	for _, l := range lists {
		all = append(all, l.Elements()...)
	}
	return all
}

// addressProblems checks the spelling of an interface's addresses, and that its gateways can be reached.
func addressProblems(i *interfaceModel, here []any) []service.Problem {
	var all []service.Problem
	problem := func(path []any, summary, format string, args ...any) {
		all = append(all, service.Problemf(append(slices.Clone(here), path...), summary, format, args...))
	}
	address := func(v types.String, is6 bool, path ...any) {
		if !known(v) {
			return
		}
		a, err := netip.ParseAddr(v.ValueString())
		switch {
		case err != nil:
			problem(path, "Invalid address", "%q is not an address: write one such as %s", v.ValueString(), example(is6))
		case a.Is6() != is6:
			problem(path, "Address of the other family", "%s does not belong here: write one such as %s", a, example(is6))
		}
	}
	address(i.IP, false, "ip")
	address(i.IPv6, true, "ipv6")
	var subnets []netip.Prefix
	for n, text := range texts(i.Addresses) {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			problem(at("addresses", n), "Invalid address", "%q is not an address with a prefix length: write one such as 10.19.41.157/24", text)
			continue
		}
		subnets = append(subnets, p)
	}
	allKnown := len(subnets) == len(i.Addresses.Elements())
	reachable := func(text types.String, path ...any) {
		if !known(text) {
			return
		}
		a, err := netip.ParseAddr(text.ValueString())
		if err != nil {
			problem(path, "Invalid address", "%q is not an address: write one such as 10.19.41.254", text.ValueString())
			return
		}
		same := slices.DeleteFunc(slices.Clone(subnets), func(p netip.Prefix) bool { return p.Addr().Is4() != a.Is4() })
		if allKnown && len(same) > 0 && !a.IsLinkLocalUnicast() && !slices.ContainsFunc(same, func(p netip.Prefix) bool { return p.Contains(a) }) {
			problem(path, "Gateway outside the interface's subnets", "%s is not in %s: the guest could not reach it", a, same[0].Masked())
		}
	}
	reachable(i.Gateway, "gateway")
	for n, r := range routesOf(i.Routes) {
		if _, err := netip.ParsePrefix(r.CIDR.ValueString()); err != nil && known(r.CIDR) {
			problem(at("routes", n, "cidr"), "Invalid prefix", "%q is not a prefix: write one such as 10.128.0.0/14", r.CIDR.ValueString())
		}
		reachable(r.Via, "routes", n, "via")
	}
	for n, text := range texts(i.Nameservers) {
		if _, err := netip.ParseAddr(text); err != nil {
			problem(at("nameservers", n), "Invalid address", "%q is not an address", text)
		}
	}
	for n, text := range texts(i.AllowedAddresses) {
		if _, err := netip.ParseAddr(text); err != nil {
			if _, err := netip.ParsePrefix(text); err != nil {
				problem(at("allowed_addresses", n), "Invalid address", "%q is neither an address nor a prefix", text)
			}
		}
	}
	return all
}

func example(is6 bool) string {
	if is6 {
		return "fd00::10"
	}
	return "10.0.0.1"
}
