package machine

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// checkLayout finds maxima that contradict what somebody wrote about the processor of a machine that is there.
func (k *Checker) checkLayout(ctx context.Context) error {
	cpus := k.Want.MaxVCPUs != 0 && k.Want.MaxVCPUs != k.Was.MaxVCPUs
	memory := k.Want.MaxMemoryMiB != 0 && k.Want.MaxMemoryMiB != k.Was.MaxMemoryMiB
	if k.Fresh || !cpus && !memory {
		return nil
	}
	d, err := k.Client.Domain(ctx, k.Was.UUID)
	if hypervisor.IsNotFound(err) {
		return nil // it is gone since it was read
	}
	if err != nil {
		return err
	}
	if n := CountThreads(d.Config); cpus && n != 0 && n != k.Want.MaxVCPUs {
		k.addProblem(pathTo("max_vcpus"), "Another processor topology", "the domain's <topology> makes %d vCPUs, and libvirt takes no other maximum: write max_vcpus = %d, or change or remove the topology (virsh edit %s)", n, n, d.Name)
	}
	if memory && HasMemoryCells(d.Config) {
		k.addProblem(pathTo("max_memory_mib"), "Memory in NUMA cells", "the domain's <numa> divides %d MiB among cells, and libvirt takes their sum: write max_memory_mib = %d, or change or remove the cells (virsh edit %s)", k.Was.MaxMemoryMiB, k.Was.MaxMemoryMiB, d.Name)
	}
	return nil
}
