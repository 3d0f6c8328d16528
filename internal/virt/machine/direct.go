package machine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// Direct is a device of the hypervisor that an interface is put upon (macvtap), in place of a bridge or network.
type Direct struct {
	Device string `attr:"device"`
	// Mode is libvirt's: "bridge", "vepa", "private" or Passthrough.
	Mode string `attr:"mode"`
}

// Passthrough is the mode in which one interface has all of its device, which takes on the guest's MAC address.
const Passthrough = "passthrough"

// readDirect returns nil where an interface is upon no device.
func readDirect(x *libvirtxml.DomainInterface) *Direct {
	if x.Source.Direct == nil {
		return nil
	}
	return &Direct{x.Source.Direct.Dev, cmp.Or(x.Source.Direct.Mode, "vepa")} // which is libvirt's default
}

// validateDirect finds what libvirt does not do for an interface upon a device.
func (i *InterfaceSpec) validateDirect(problem func(attribute, summary, format string, args ...any)) {
	switch {
	case i.Network+i.Bridge+i.OVNNetwork != "":
		problem("direct", "Interface with two networks", "write only one of network, bridge, direct and ovn_network")
	case i.PortSecurity || len(i.SecurityRules) > 0:
		problem("direct", "Filter upon a device", "libvirt filters nothing of an interface upon a device: leave port_security and security_rules out, or write bridge or network in place of direct")
	case i.MTU != 0:
		problem("mtu", "MTU upon a device", "an interface upon device %q has that one's MTU: leave mtu out", i.Direct.Device)
	case i.VirtualPort != "":
		problem("virtual_port", "Virtual port without a bridge", "device %q is no bridge: leave virtual_port out", i.Direct.Device)
	case !i.VLAN.isNone():
		problem("vlan", "VLAN upon a device", "nothing tells VLANs apart upon device %q: write the device of the VLAN (a VLAN interface), and leave vlan out", i.Direct.Device)
	}
}

// validateTrust finds an interface whose device cannot heed what the guest listens to. A network may put its interfaces upon devices.
func (i *InterfaceSpec) validateTrust(problem func(attribute, summary, format string, args ...any), unknown func(string) bool) {
	switch {
	case !i.Trust:
	case i.Bridge+i.OVNNetwork != "":
		problem("trust", "Trust without a device", "only what an interface is put upon is told what the guest listens to, and a bridge passes everything on: write direct, or leave trust out")
	case i.Model != "" && i.Model != "virtio" && !unknown("model"):
		problem("trust", "Trust of another card", "only a card of model \"virtio\" says what its guest listens to, not %q: write that model, or leave trust out", i.Model)
	}
}

// checkDirect finds devices that cannot have an interface upon them: those that are in a bridge, or in use by themselves.
func (k bridgeChecker) checkDirect(ctx context.Context) error {
	for n := range k.Want.Interfaces {
		i := &k.Want.Interfaces[n]
		if i.Direct == nil || k.isPlugged(i) {
			continue
		}
		master, err := k.Client.DeviceMaster(ctx, i.Direct.Device)
		if err != nil {
			return err
		}
		routes, err := k.Client.HostRoutes(ctx)
		if err != nil {
			return err
		}
		domains, err := k.Cache.listDomains(ctx, k.Client)
		if err != nil {
			return err
		}
		others := slices.DeleteFunc(slices.Clone(domains), func(d *hypervisor.Domain) bool {
			return !k.Want.Running || !k.isStranger(d, Read(d.Config))
		})
		if user := i.Direct.findUser(master, routes, others); user != "" {
			k.addProblem(pathTo("network_interfaces", n, "direct", "device"), "Device in use", "on hypervisor %s, %s", k.Client.URI(), user)
		}
	}
	return nil
}

// findUser says who has a device that an interface cannot be put upon then; "" for nobody. master is what the device is in.
func (t *Direct) findUser(master string, routes []hypervisor.HostRoute, domains []*hypervisor.Domain) string {
	if master != "" {
		return fmt.Sprintf("device %q is in %q, which gets all that arrives there: write bridge = %q where that is a bridge, or another device", t.Device, master, master)
	}
	for _, d := range domains {
		if !d.Active() {
			continue
		}
		for _, i := range Read(d.Live).Interfaces {
			if i.Direct != nil && i.Direct.Device == t.Device && (i.Direct.Mode == Passthrough || t.Mode == Passthrough) {
				return fmt.Sprintf("domain %q runs upon device %q, which only one can have in mode %q: write another device, or another mode for both", d.Name, t.Device, Passthrough)
			}
		}
	}
	has := slices.ContainsFunc(routes, func(r hypervisor.HostRoute) bool {
		return r.Device == t.Device && !r.Destination.Addr().IsLinkLocalUnicast() && !r.Destination.Addr().IsMulticast()
	})
	if t.Mode == Passthrough && has {
		return fmt.Sprintf("the hypervisor has addresses of its own on device %q, which takes on the guest's MAC address in mode %q: write another device, or another mode", t.Device, Passthrough)
	}
	return ""
}
