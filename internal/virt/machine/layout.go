package machine

import "libvirt.org/go/libvirtxml"

// CountThreads returns how many vCPUs the processor's topology makes (sockets, cores, …), which nothing here models; 0 where the
// domain has none. libvirt takes no other maximum.
func CountThreads(d *libvirtxml.Domain) int64 {
	if d.CPU == nil || d.CPU.Topology == nil {
		return 0
	}
	t := d.CPU.Topology
	all := int64(1)
	for _, n := range []int{t.Sockets, t.Dies, t.Clusters, t.Cores, t.Threads} {
		all *= int64(max(n, 1))
	}
	return all
}

// HasMemoryCells says whether the domain's memory is divided among NUMA cells, which nothing here models: libvirt takes their sum
// for its memory, whatever else is written.
func HasMemoryCells(d *libvirtxml.Domain) bool {
	return d.CPU != nil && d.CPU.Numa != nil && len(d.CPU.Numa.Cell) > 0
}
