package machine

import (
	"context"
	"net/netip"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// KeyfilesOf are the files that a machine's Ignition configuration hands to NetworkManager: path → content.
func KeyfilesOf(s *Spec) map[string]string {
	files := map[string]string{}
	for _, k := range buildKeyfiles(s.Interfaces) {
		files[k.path] = k.content
	}
	return files
}

// Address, Addresses and Prefixes read what tests write; of "" there is none.
func Address(text string) netip.Addr { return append(Addresses(text), netip.Addr{})[0] }

func Addresses(texts ...string) []netip.Addr {
	return parseFields(strings.Join(texts, " "), netip.ParseAddr)
}

func Prefixes(texts ...string) []netip.Prefix {
	return parseFields(strings.Join(texts, " "), netip.ParsePrefix)
}

// SettleMove brings to an end what a move has left behind.
func SettleMove(ctx context.Context, s *Store) error { return s.settleMove(ctx) }

// MakeVolume makes a volume of the machine's own in a pool, as a run does whose domain has the mark.
func MakeVolume(ctx context.Context, s *Store, pool *hypervisor.Pool, name string) error {
	return s.newVolumeOwner(nil).createVolumes(ctx, []ownVolume{{pool: pool, xml: storage.NewMarkedVolume(name, "raw", 1<<20)}})
}

// SortVolumes says which of the volumes that a domain's mark names are the machine's own, and which are somebody else's.
func SortVolumes(ctx context.Context, s *Store, d *hypervisor.Domain) (own, others []VolumeRef, err error) {
	m := Read(d.Config)
	sorted, err := s.newVolumeOwner(m).sortVolumes(ctx, m.Mark.listVolumes())
	return sorted.own, sorted.others, err
}

// KeepPortSecurity has a hypervisor keep the filter of what an interface may send, and says whether it reads it as that.
func KeepPortSecurity(ctx context.Context, c *hypervisor.Client, node string, i *InterfaceSpec) (bool, error) {
	f := buildSpoofFilter(node, someUUID, i)
	if err := c.DefineFilter(ctx, f); err != nil {
		return false, err
	}
	m := &Machine{Name: node, UUID: someUUID}
	guard, err := readGuard(ctx, c, m, Interface{MAC: i.MAC, Filter: f.Name})
	return readPortSecurity(guard, m, i, i), err
}
