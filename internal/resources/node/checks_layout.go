package node

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// layout finds maxima that contradict what somebody wrote about the processor of a machine that is there.
func (k *checks) layout(ctx context.Context) error {
	cpus := known(k.v.MaxVCPUs) && !k.v.MaxVCPUs.Equal(k.prior.MaxVCPUs)
	memory := known(k.v.MaxMemoryMiB) && !k.v.MaxMemoryMiB.Equal(k.prior.MaxMemoryMiB)
	if k.fresh || !cpus && !memory {
		return nil
	}
	d, err := k.c.Domain(ctx, k.prior.ID.ValueString())
	if hypervisor.IsNotFound(err) {
		return nil // it is gone since it was read
	}
	if err != nil {
		return err
	}
	if n := machine.Threads(d.Config); cpus && n != 0 && n != k.v.MaxVCPUs.ValueInt64() {
		k.problem(at("max_vcpus"), "Another processor topology", "the domain's <topology> makes %d vCPUs, and libvirt takes no other maximum: write max_vcpus = %d, or change or remove the topology (virsh edit %s)", n, n, d.Name)
	}
	if memory && machine.InCells(d.Config) {
		k.problem(at("max_memory_mib"), "Memory in NUMA cells", "the domain's <numa> divides %d MiB among cells, and libvirt takes their sum: write max_memory_mib = %d, or change or remove the cells (virsh edit %s)", k.prior.MaxMemoryMiB.ValueInt64(), k.prior.MaxMemoryMiB.ValueInt64(), d.Name)
	}
	return nil
}
