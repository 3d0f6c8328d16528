package network

import (
	"slices"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

func TestWhatOfANetworkIsOthers(t *testing.T) {
	const mac = "52:54:00:00:00:01"
	reserved := func(macs ...string) *libvirtxml.Network {
		dhcp := &libvirtxml.NetworkDHCP{}
		for _, m := range macs {
			dhcp.Hosts = append(dhcp.Hosts, libvirtxml.NetworkDHCPHost{MAC: m, IP: "10.0.0.11"})
		}
		return &libvirtxml.Network{Name: "n", IPs: []libvirtxml.NetworkIP{{Address: "10.0.0.1", Prefix: 24, DHCP: dhcp}}}
	}
	key := hypervisor.DHCPHost{MAC: mac}.Key()
	machine := func(workspace, network string) *hypervisor.Domain {
		x := &libvirtxml.Domain{Devices: &libvirtxml.DomainDeviceList{Interfaces: []libvirtxml.DomainInterface{{
			MAC:    &libvirtxml.DomainInterfaceMAC{Address: strings.ToUpper(mac)},
			Source: &libvirtxml.DomainInterfaceSource{Network: &libvirtxml.DomainInterfaceSourceNetwork{Network: network}},
		}}}}
		if workspace != "" {
			x.Metadata = &libvirtxml.DomainMetadata{XML: `<virtcluster:node xmlns:virtcluster="` + metadata.Machine + `" owner="x" workspace="` + workspace + `"/>`}
		}
		return &hypervisor.Domain{Name: "d", Config: x}
	}
	for name, c := range map[string]struct {
		config  *libvirtxml.Network
		marks   hostMarks
		domains []*hypervisor.Domain
		want    []string
	}{
		"nothing":                               {reserved(), nil, nil, nil},
		"this state's reservation":              {reserved(mac), hostMarks{key: {Mark: owner.Mark{ID: "x", Workspace: "here"}}}, nil, nil},
		"another state's reservation":           {reserved(mac), hostMarks{key: {Mark: owner.Mark{ID: "x", Workspace: "there"}}}, nil, []string{"another state"}},
		"a person's reservation":                {reserved(mac), nil, nil, []string{"a person's reservation"}},
		"the network's own list":                {reserved(mac), hostMarks{key: {Listed: true}}, nil, nil},
		"a person's that the list has too":      {reserved(mac), hostMarks{key: {Listed: true, Before: true}}, nil, []string{"a person's reservation"}},
		"an unmarked one of this state's":       {reserved(mac), nil, []*hypervisor.Domain{machine("here", "n")}, nil},
		"this state's machine":                  {reserved(), nil, []*hypervisor.Domain{machine("here", "n")}, nil},
		"another state's machine":               {reserved(), nil, []*hypervisor.Domain{machine("there", "n")}, []string{`the domain "d"`}},
		"a person's machine":                    {reserved(), nil, []*hypervisor.Domain{machine("", "n")}, []string{`the domain "d"`}},
		"a person's machine on another network": {reserved(), nil, []*hypervisor.Domain{machine("", "m")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := findUsers(&hypervisor.Network{Name: "n", Config: c.config}, c.marks, c.domains, "here")
			if !slices.EqualFunc(got.others, c.want, strings.Contains) {
				t.Errorf("others are %q", got.others)
			}
		})
	}
}
