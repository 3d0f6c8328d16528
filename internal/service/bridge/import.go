package bridge

import (
	"context"
	"fmt"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// importRecord is the record of a bridge that somebody else made and an import took over: what it has is its interfaces'.
func importRecord(m hostnet.Machine, name string) Record {
	b, _ := readBridge(m, name, Record{}, false)
	r := Record{Want: b, MAC: linkOf(m, name).Address}
	for i, port := range b.Interfaces {
		p := hostnet.DeviceSnapshot{Name: port, MTU: linkOf(m, port).MTU, MAC: linkOf(m, port).Address}
		if i == 0 {
			p.Settings, p.Addressing = m.Own(name), m.Addressing(name)
		}
		r.Before = append(r.Before, p)
	}
	return r
}

// adoptFiles looks whether a person's files make a bridge that this provider did not: then what an import takes over are its addresses
// and its MTU, kept by the same manager in files of this provider that come before the person's. Those stay, and count again when
// the resource is destroyed.
func (f *found) adoptFiles(ctx context.Context, h host.Host) error {
	managers, err := hostnet.LookAtManagers(ctx, h)
	if err != nil || !managers.Of(f.name).Written() {
		return err
	}
	before, err := hostnet.TakeSnapshot(ctx, h, f.Machine, managers.Of(f.name), f.name)
	if err != nil {
		return err
	}
	f.Adopted, f.Want.ActiveBackend = &before, before.Manager.Backend
	for i := range f.Record.Before {
		f.Record.Before[i].Settings, f.Record.Before[i].Addressing = nil, hostnet.Addressing{}
	}
	return nil
}

// fitsAdopted refuses what the files of the person who made a bridge would go on to say otherwise; r is the bridge as it is.
func (b Bridge) fitsAdopted(r Record) error {
	is, by := r.Want, r.Adopted.Manager.Backend
	own := func(attribute string, value any) error {
		return service.At([]any{attribute}, fmt.Errorf("bridge %q is made by files of %s that this provider did not write, with %v: change it there, or write that here", b.Name, by, value))
	}
	sorted := func(names []string) []string { return slices.Sorted(slices.Values(names)) }
	switch {
	case b.Backend != hostnet.Auto && b.Backend != "" && b.Backend != by:
		return own("backend", fmt.Sprintf("%q or \"auto\"", by))
	case !slices.Equal(sorted(b.Interfaces), sorted(is.Interfaces)) || len(b.VLANs)+len(b.Bonds) > 0:
		return own("interfaces", fmt.Sprintf("%q", is.Interfaces))
	case r.Adopted.Addressing.DHCP && by == hostnet.Ifupdown && !b.Inherit && !b.DHCP:
		// Nothing would ask for its lease again before the machine starts.
		return own("addresses", "DHCP")
	case b.STP != is.STP:
		return own("stp", is.STP)
	case b.VLANFiltering != is.VLANFiltering:
		return own("vlan_filtering", is.VLANFiltering)
	case b.MTU != 0 && by == hostnet.Netplan:
		return own("mtu", r.Adopted.MTU)
	}
	return nil
}
