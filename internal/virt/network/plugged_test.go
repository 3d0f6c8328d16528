package network

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

func TestAnInterfaceIsPluggedIntoANetworkByItsNameOrItsBridge(t *testing.T) {
	plug := func(mac string, source *libvirtxml.DomainInterfaceSource) libvirtxml.DomainInterface {
		return libvirtxml.DomainInterface{MAC: &libvirtxml.DomainInterfaceMAC{Address: mac}, Source: source}
	}
	onBridge := func(name string) *libvirtxml.DomainInterfaceSource {
		return &libvirtxml.DomainInterfaceSource{Bridge: &libvirtxml.DomainInterfaceSourceBridge{Bridge: name}}
	}
	named := &libvirtxml.DomainInterfaceSource{Network: &libvirtxml.DomainInterfaceSourceNetwork{Network: "default"}}
	guest := &hypervisor.Domain{Config: &libvirtxml.Domain{Devices: &libvirtxml.DomainDeviceList{Interfaces: []libvirtxml.DomainInterface{
		plug("52:54:00:00:00:0A", named), plug("52:54:00:00:00:0b", onBridge("virbr7")), plug("52:54:00:00:00:0c", onBridge("lan0")),
		plug("52:54:00:00:00:0d", &libvirtxml.DomainInterfaceSource{User: &libvirtxml.DomainInterfaceSourceUser{}}), plug("52:54:00:00:00:0e", named),
		{Source: named},
	}}}}
	okd := &hypervisor.Network{Name: "okd", Config: &libvirtxml.Network{Bridge: &libvirtxml.NetworkBridge{Name: "virbr7"}}}
	macs := []string{"52:54:00:00:00:0a", "52:54:00:00:00:0b", "52:54:00:00:00:0c", "52:54:00:00:00:0d", ""}
	want := map[string][]string{macs[0]: {"default"}, macs[1]: {"okd"}, macs[2]: {"the bridge lan0"}}
	if diff := cmp.Diff(want, matchPlugs([]*hypervisor.Domain{guest}, []*hypervisor.Network{okd}, macs)); diff != "" {
		t.Error(diff)
	}
}
