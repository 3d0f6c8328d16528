package bridge

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addressuse"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// completeRecord is the record of the bridge as it shall be, with all that the machine decides. The error says what keeps the bridge from being
// made or changed, at its attribute.
func (k kind) completeRecord(ctx context.Context, h host.Host, b Bridge, f found) (Record, error) {
	r, err := b.beginRecord(f.Machine, f.Record)
	if err == nil && f.Adopted != nil {
		err = b.fitsAdopted(f.Record)
	}
	if err != nil {
		return r, err
	}
	managers := hostnet.Managers{Installed: map[string]bool{hostnet.Runtime: true}}
	if b.Backend != hostnet.Runtime {
		if managers, err = hostnet.LookAtManagers(ctx, h); err != nil {
			return r, err
		}
	}
	if r.Want.ActiveBackend, err = managers.Choose(b.Backend, f.Record.Want.ActiveBackend, b.allDevices(), func(int) []any { return []any{"interfaces"} }); err != nil {
		return r, err
	}
	if f.isLost() {
		if err := f.checkReturn(ctx, h, r); err != nil {
			return r, err
		}
	}
	r.Want.VLANs = slices.Clone(r.Want.VLANs)
	for i, v := range r.Want.VLANs {
		r.Want.VLANs[i].Manager = managers.Of(v.Parent)
		if r.Want.ActiveBackend == hostnet.Networkd && managers.Of(v.Parent).File == "" {
			return r, service.At([]any{"interfaces"}, fmt.Errorf("systemd-networkd has no .network file for %s, which shall have a VLAN: give it one, or choose the backend \"runtime\"", v.Parent))
		}
	}
	for i, p := range r.Before {
		if p.Manager.Backend == "" {
			if err := refuseKept(ctx, h, p.Name); err != nil {
				return r, err
			}
			r.Before[i].Manager = managers.Of(p.Name)
			if err := hostnet.LookAtNames(ctx, h, p.Name, r.Before[i].Manager, &r.Before[i].Addressing); err != nil {
				return r, err
			}
		}
	}
	if b.Nameservers != nil { // those that are inherited go where they can
		if err := r.ownAddressing().CheckNameservers(r.Want.ActiveBackend); err != nil {
			return r, err
		}
	}
	if r.Want.ActiveBackend == hostnet.Runtime {
		for _, p := range b.WithoutManager() {
			return r, service.At(p.Path, fmt.Errorf("nothing manages %q on the machine: %s", b.allDevices(), p.Detail))
		}
	}
	if b.VLANFiltering {
		if err := checkVLANFiltering(ctx, h); err != nil {
			return r, err
		}
	}
	if len(b.allDevices()) == 0 {
		return r, nil
	}
	asked := b.allDevices()[0]
	if f.isRunning() {
		asked = b.Name
	}
	if err := addressuse.CheckDevice(ctx, h, f.Machine, append(b.allDevices(), b.Name), f.Record.Mark, b.Addresses); err != nil {
		return r, err
	}
	return r, f.CheckOccupied(ctx, h, asked, b.Addresses, hostnet.Patience)
}

// refuseKept refuses an interface that a virtcluster_interface configures, of this state or of another: the bridge would write its own
// configuration over that one, and take it away with itself.
func refuseKept(ctx context.Context, h host.Host, name string) error {
	kept, err := hostnet.LookAtKept[any](ctx, h, "interface", name)
	if err != nil {
		return err
	}
	if !kept.There && len(kept.Records) == 0 {
		return nil
	}
	whose := "a virtcluster_interface"
	if kept.Mark.ID != "" {
		whose += " (" + kept.Mark.String() + ")"
	}
	return service.At([]any{"interfaces"}, fmt.Errorf("%s configures interface %q of %s: have that destroyed first, in an apply of its own", whose, name, h))
}

// vlanScript prints "none" where the kernel knows no VLANs in bridges.
//
//go:embed vlans.sh
var vlanScript string

// checkVLANFiltering refuses VLANs in a bridge of a kernel without CONFIG_BRIDGE_VLAN_FILTERING: systemd-networkd makes a bridge without
// them there and does not say so.
func checkVLANFiltering(ctx context.Context, h host.Host) error {
	out, err := h.Run(ctx, host.RepeatableScript("look for VLANs of bridges", vlanScript))
	if err == nil && strings.TrimSpace(string(out)) != "" {
		err = service.At([]any{"vlan_filtering"}, fmt.Errorf("the kernel of %s knows no VLANs in bridges (CONFIG_BRIDGE_VLAN_FILTERING): leave out vlan_filtering", h))
	}
	return err
}

// beginRecord is the record of a bridge that is about to be made, or to take more interfaces: what each of them has now, unless an
// earlier record knows what it had before. The error names an interface that is not there, or is in another bridge.
func (b Bridge) beginRecord(now hostnet.Machine, earlier Record) (Record, error) {
	r := Record{Want: b, Mark: earlier.Mark, MAC: earlier.MAC, Adopted: earlier.Adopted}
	r.Want.Active = nil
	_, running := now.Link(b.Name)
	here := []any{"interfaces"}
	missing := func(name string) error {
		return service.At(here, fmt.Errorf("no interface %q: the machine has %q", name, now.Names()))
	}
	for _, name := range b.physicalInterfaces() {
		link, ok := now.Link(name)
		port, known := earlier.findPort(name)
		switch {
		case !ok:
			return r, missing(name)
		case link.Master != "" && link.Master != b.Name && !known:
			return r, service.At(here, fmt.Errorf("interface %q is in bridge %q already: take it out of there, in an apply of its own where a resource has it there", name, link.Master))
		case known && b.otherMaster(now, name) != "" && earlier.Want.otherMaster(now, name) != "":
			return r, refuseMoved(name, link.Master)
		case link.LinkInfo.Kind == "bridge":
			return r, service.At(here, fmt.Errorf("%q is a bridge itself, and no bridge can be in another", name))
		}
		// What somebody gave to the interface of a bridge that is gone, and that nothing keeps, is what it has now.
		if !known || !running && earlier.Want.ActiveBackend == hostnet.Runtime && link.Master == "" && !now.HasNothing(name) {
			if err := now.CheckCarried(name); err != nil {
				return r, service.At(here, err)
			}
			port = now.SnapshotDevice(name)
		}
		r.Before = append(r.Before, port)
	}
	for _, v := range b.VLANs {
		if _, there := now.Link(v.Parent); !there {
			return r, missing(v.Parent)
		}
	}
	for _, name := range b.ownDevices() {
		_, there := now.Link(name)
		known := slices.Contains(earlier.Want.ownDevices(), name)
		if master := b.otherMaster(now, name); known && master != "" {
			return r, refuseMoved(name, master)
		}
		if there && !known {
			return r, service.At(here, fmt.Errorf("there is a device %q already, which this bridge did not make: write just its name to have it in the bridge as it is", name))
		}
	}
	left := func(p hostnet.DeviceSnapshot) bool { return p.MAC == r.MAC && !slices.Contains(b.allDevices(), p.Name) }
	if r.MAC == "" || slices.ContainsFunc(earlier.Before, left) { // whose address the interface has again, for itself
		r.MAC = r.firstMAC(now)
	}
	return r, now.CheckDefaultRoute(b.Addressing, append(b.physicalInterfaces(), b.Name))
}

// refuseMoved refuses to take a device back that somebody put into another bridge.
func refuseMoved(name, master string) error {
	return service.At([]any{"interfaces"}, fmt.Errorf("%q is in bridge %q now, where somebody put it: take it out of there (ip link set dev %[1]s nomaster), or leave it out here", name, master))
}

// firstMAC is the address that the bridge takes over: the one that its first interface had when it was taken.
func (r Record) firstMAC(now hostnet.Machine) string {
	names := r.Want.allDevices()
	if len(names) == 0 {
		return ""
	}
	if p, taken := r.findPort(names[0]); taken && p.MAC != "" {
		return p.MAC
	}
	return linkOf(now, names[0]).Address
}
