package storage

import (
	"fmt"
	"path/filepath"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// Uses implements plan.User: a hypervisor has one pool of a name, and one in a directory. All targets of iSCSI are in one.
func (p Pool) Uses() []plan.Use {
	uses := []plan.Use{{Kind: plan.StoragePool, Value: p.Name, Path: []any{"name"}}}
	if p.Path != "" && p.Type != ISCSI {
		uses = append(uses, plan.Use{Kind: plan.Directory, Value: filepath.Clean(p.Path), Path: []any{"path"}})
	}
	return uses
}

// Describe implements plan.Described.
func (p Pool) Describe(string) string {
	if p.Path == "" {
		return fmt.Sprintf("storage pool %q", p.Name)
	}
	return fmt.Sprintf("storage pool %q in %s", p.Name, p.Path)
}

// Uses implements plan.User: a pool has one volume of a name.
func (v Volume) Uses() []plan.Use {
	uses := listVolumeUses(v.Pool, v.Name)
	if v.Path != "" {
		uses = append(uses, plan.Use{Verb: plan.Gives, Kind: plan.VolumePath, Value: v.Path})
	}
	return uses
}

// Describe implements plan.Described.
func (v Volume) Describe(string) string {
	return fmt.Sprintf("volume %s in storage pool %q", v.Name, v.Pool)
}

// Uses implements plan.User: an image is a volume of its pool.
func (i Image) Uses() []plan.Use { return listVolumeUses(i.Pool, i.Name) }

// Describe implements plan.Described.
func (i Image) Describe(string) string {
	return fmt.Sprintf("image %q from %s in storage pool %q", i.Name, i.Source, i.Pool)
}

func listVolumeUses(pool, name string) []plan.Use {
	if pool == "" || name == "" {
		return nil
	}
	return []plan.Use{{Kind: plan.Volume, Scope: plan.InPool(pool), Value: name, Path: []any{"name"}}}
}

// PlansPool says whether a resource of the plan makes, or has, a pool of a hypervisor, by its name in the configuration.
func PlansPool(view plan.View, hypervisor, pool string) bool {
	_, found := view.Find(plan.Use{Kind: plan.StoragePool, On: plan.NameHypervisor(hypervisor), Value: pool})
	return found
}

// plansVolume says whether a resource of the plan makes, or has, a volume.
func plansVolume(view plan.View, hypervisor, pool, name string) bool {
	for _, kind := range []plan.Kind{plan.Volume, plan.NodeVolume} {
		if _, found := view.Find(plan.Use{Kind: kind, On: plan.NameHypervisor(hypervisor), Scope: plan.InPool(pool), Value: name}); found {
			return true
		}
	}
	return false
}
