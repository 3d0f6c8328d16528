package addressuse

import (
	"context"
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// CheckDevice refuses addresses for a device that this provider configures which somebody else has. What the devices that it is made of
// have, or had by a person's files, is its own, as is what carries the mark of its record; what this state has besides is in the plan, where
// it may change. Nobody is asked where all addresses are on those devices already.
func CheckDevice(ctx context.Context, h host.Host, m hostnet.Machine, devices []string, recorded owner.Mark, addresses []netip.Prefix) error {
	asked := slices.DeleteFunc(slices.Clone(addresses), func(p netip.Prefix) bool { return hasItself(m, devices, p.Addr()) })
	if len(asked) == 0 {
		return nil
	}
	use, err := Look(ctx, h)
	if err != nil {
		return err
	}
	return service.At([]any{"addresses"}, use.refuseDevice(devices, recorded, asked))
}

func (u Use) refuseDevice(devices []string, recorded owner.Mark, addresses []netip.Prefix) error {
	for _, p := range addresses {
		err := u.Refuse(Claim{
			Address: p.Addr(),
			Suits: func(h Holder) bool {
				own := !slices.ContainsFunc(h.Devices, func(device string) bool { return !slices.Contains(devices, device) })
				return own && (h.Kind == Device || h.Kind == File || h.Kind == Before) || h.IsHere() || h.Mark.ID != "" && h.Mark.ID == recorded.ID
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hasItself says whether one of some devices has an address that nothing but its own configuration put there.
func hasItself(m hostnet.Machine, devices []string, address netip.Addr) bool {
	return slices.ContainsFunc(devices, func(device string) bool {
		return slices.ContainsFunc(m.Own(device), func(s hostnet.Setting) bool { return s.Address.Addr() == address })
	})
}
