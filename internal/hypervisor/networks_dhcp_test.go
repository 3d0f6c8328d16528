package hypervisor

import (
	"testing"

	"libvirt.org/go/libvirtxml"
)

func TestSubnetOfAnIPElement(t *testing.T) {
	t.Parallel()
	for want, ip := range map[string]libvirtxml.NetworkIP{
		"10.0.0.1/25":    {Address: "10.0.0.1", Prefix: 25},
		"10.0.0.1/22":    {Address: "10.0.0.1", Netmask: "255.255.252.0"},
		"10.0.0.1/8":     {Address: "10.0.0.1"},
		"172.16.0.1/16":  {Address: "172.16.0.1"},
		"192.168.0.1/24": {Address: "192.168.0.1"},
		"fd00::1/64":     {Family: "ipv6", Address: "fd00::1"},
		"fd00::1/80":     {Family: "ipv6", Address: "fd00::1", Prefix: 80},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if got, err := Subnet(ip); err != nil || got.String() != want {
				t.Errorf("%+v has %s, %v", ip, got, err)
			}
		})
	}
}
