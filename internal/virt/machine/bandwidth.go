package machine

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Bandwidth bounds what comes to a guest at an interface, and what it sends, in KiB a second; 0 does not. A burst is KiB.
type Bandwidth struct {
	InboundAverage  int64 `attr:"inbound_average_kib"`
	InboundPeak     int64 `attr:"inbound_peak_kib"`
	InboundBurst    int64 `attr:"inbound_burst_kib"`
	OutboundAverage int64 `attr:"outbound_average_kib"`
	OutboundPeak    int64 `attr:"outbound_peak_kib"`
	OutboundBurst   int64 `attr:"outbound_burst_kib"`
}

func readBandwidth(x *libvirtxml.DomainInterface) Bandwidth {
	var b Bandwidth
	if x.Bandwidth == nil {
		return b
	}
	read := func(from *libvirtxml.DomainInterfaceBandwidthParams, average, peak, burst *int64) {
		if from == nil {
			return
		}
		for into, number := range map[*int64]*int{average: from.Average, peak: from.Peak, burst: from.Burst} {
			if number != nil {
				*into = int64(*number)
			}
		}
	}
	read(x.Bandwidth.Inbound, &b.InboundAverage, &b.InboundPeak, &b.InboundBurst)
	read(x.Bandwidth.Outbound, &b.OutboundAverage, &b.OutboundPeak, &b.OutboundBurst)
	return b
}

// applyBandwidth leaves what somebody has the network guarantee the guest (floor) as it is.
func applyBandwidth(x *libvirtxml.DomainInterface, want Bandwidth) {
	if readBandwidth(x) == want {
		return
	}
	render := func(was *libvirtxml.DomainInterfaceBandwidthParams, average, peak, burst int64) *libvirtxml.DomainInterfaceBandwidthParams {
		is := libvirtxml.DomainInterfaceBandwidthParams{}
		if was != nil {
			is.Floor = was.Floor
		}
		for into, number := range map[**int]int64{&is.Average: average, &is.Peak: peak, &is.Burst: burst} {
			if n := int(number); n != 0 {
				*into = &n
			}
		}
		if is == (libvirtxml.DomainInterfaceBandwidthParams{}) {
			return nil
		}
		return &is
	}
	is := libvirtxml.DomainInterfaceBandwidth{}
	if x.Bandwidth != nil {
		is = *x.Bandwidth
	}
	is.Inbound = render(is.Inbound, want.InboundAverage, want.InboundPeak, want.InboundBurst)
	is.Outbound = render(is.Outbound, want.OutboundAverage, want.OutboundPeak, want.OutboundBurst)
	// An empty element has libvirt take the limits of what runs away.
	x.Bandwidth = &is
}

// findLiveBandwidth returns the bandwidth that an interface has in what runs; that given, where it is not in there, or where its network's port
// group bounds one that has no bandwidth of its own: libvirt shows both alike.
func findLiveBandwidth(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain, mac string, given Bandwidth) (Bandwidth, error) {
	x := FindInterface(d.Live, mac)
	if x == nil {
		return given, nil
	}
	live := readBandwidth(x)
	if given != (Bandwidth{}) || live == given || x.Source == nil || x.Source.Network == nil {
		return live, nil
	}
	n, err := c.SharedNetwork(ctx, x.Source.Network.Network)
	if hypervisor.IsNotFound(err) {
		return live, nil
	}
	if err != nil {
		return live, err
	}
	group, err := readGroupBandwidth(cmp.Or(n.LiveXML, n.ConfigXML), x.Source.Network.PortGroup)
	if group == live {
		live = given
	}
	return live, err
}

// readGroupBandwidth returns the bandwidth that a network gives the interfaces of a port group, or of its default one for "".
func readGroupBandwidth(network, name string) (Bandwidth, error) {
	var n struct { // libvirtxml.Network has no bandwidth of a port group
		Groups []struct {
			Name      string                               `xml:"name,attr"`
			Default   string                               `xml:"default,attr"`
			Bandwidth *libvirtxml.DomainInterfaceBandwidth `xml:"bandwidth"`
		} `xml:"portgroup"`
	}
	if err := xml.Unmarshal([]byte(network), &n); err != nil {
		return Bandwidth{}, fmt.Errorf("cannot understand the port groups of a network: %w", err)
	}
	for _, g := range n.Groups {
		if g.Name == name || name == "" && g.Default == "yes" {
			return readBandwidth(&libvirtxml.DomainInterface{Bandwidth: g.Bandwidth}), nil
		}
	}
	return Bandwidth{}, nil
}

// validateBandwidth finds a peak or a burst of what has no limit.
func (i *InterfaceSpec) validateBandwidth(here []any, unknown bool) []service.Problem {
	b := i.Bandwidth
	if unknown || (b.InboundAverage != 0 || b.InboundPeak+b.InboundBurst == 0) && (b.OutboundAverage != 0 || b.OutboundPeak+b.OutboundBurst == 0) {
		return nil
	}
	return []service.Problem{service.Problemf(pathBelow(here, "bandwidth"), "Peak without an average", "a peak and a burst are of what has an average: write inbound_average_kib or outbound_average_kib beside them")}
}
