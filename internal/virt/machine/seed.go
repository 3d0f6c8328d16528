package machine

import (
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/cloudinit"
)

// buildSeed returns what cloud-init is told of a machine with a UUID.
func buildSeed(s *Spec, uuid string) (*cloudinit.Seed, error) {
	c := s.CloudInit
	if c == nil {
		c = &CloudInit{}
	}
	seed := &cloudinit.Seed{UserData: c.UserData, VendorData: c.VendorData, NetworkConfig: c.NetworkConfig}
	if seed.UserData == "" {
		seed.UserData = "#cloud-config\n{}\n"
	}
	if seed.NetworkConfig == "" && len(s.Interfaces) > 0 {
		seed.NetworkConfig = cloudinit.NetworkConfig(buildGuestInterfaces(s.Interfaces))
	}
	var err error
	if seed.MetaData, err = cloudinit.MetaData(c.MetaData, uuid, s.Name); err != nil {
		return nil, fmt.Errorf("cannot read cloud_init.meta_data: %w", err)
	}
	return seed, nil
}

// recoverCloudInit returns what somebody must have written to have cloud-init told so, without what the provider adds by itself.
func recoverCloudInit(s *Spec, seed *cloudinit.Seed, uuid string) (*CloudInit, error) {
	bare := *s
	bare.CloudInit = nil
	own, err := buildSeed(&bare, uuid)
	if err != nil {
		return nil, err
	}
	unless := func(got, own string) string {
		if got == own {
			return ""
		}
		return got
	}
	return &CloudInit{
		UserData: unless(seed.UserData, own.UserData), MetaData: unless(seed.MetaData, own.MetaData),
		VendorData: seed.VendorData, NetworkConfig: unless(seed.NetworkConfig, own.NetworkConfig),
	}, nil
}

// SameMetaData says whether two texts of metadata tell the guest of a machine the same: an import finds them completed.
func SameMetaData(a, b string, was *Spec) bool {
	return cloudinit.SameMetaData(a, b, was.UUID, was.Name)
}

// buildGuestInterfaces returns the interfaces as they are configured inside the guest.
func buildGuestInterfaces(all []InterfaceSpec) []cloudinit.Interface {
	var guest []cloudinit.Interface
	for _, i := range all {
		g := cloudinit.Interface{Name: i.Name, MAC: i.MAC, MTU: i.MTU, Addresses: i.Addresses, Gateway: i.Gateway, Nameservers: i.Nameservers}
		g.DHCP4, g.DHCP6 = i.asksDHCP()
		for _, r := range i.Routes {
			g.Routes = append(g.Routes, cloudinit.Route{To: r.CIDR, Via: r.Via})
		}
		guest = append(guest, g)
	}
	return guest
}
