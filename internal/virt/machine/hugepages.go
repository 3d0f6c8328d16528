package machine

import (
	"context"

	"libvirt.org/go/libvirtxml"
)

// Huge pages that a machine's memory is made of.
const (
	noHugepages      = "none"
	defaultHugepages = "default"
)

// hugepageKiB are the sizes by their names.
var hugepageKiB = map[string]uint{"2M": 2 << 10, "1G": 1 << 20}

func readHugepages(d *libvirtxml.Domain) string {
	if d.MemoryBacking == nil || d.MemoryBacking.MemoryHugePages == nil {
		return noHugepages
	}
	for _, page := range d.MemoryBacking.MemoryHugePages.Hugepages {
		for name, kib := range hugepageKiB {
			if toKibibytes(page.Size, page.Unit) == kib {
				return name
			}
		}
	}
	return defaultHugepages
}

func toKibibytes(size uint, unit string) uint {
	if unit == "" || unit == "KiB" || unit == "k" {
		return size
	}
	return uint(toMebibytes(size, unit)) << 10
}

func applyHugepages(d *libvirtxml.Domain, was, want string) {
	if was == want || want == "" {
		return
	}
	b := d.MemoryBacking
	if b == nil {
		b = &libvirtxml.DomainMemoryBacking{}
		d.MemoryBacking = b
	}
	b.MemoryHugePages = nil
	if want != noHugepages {
		b.MemoryHugePages = &libvirtxml.DomainMemoryHugepages{}
		b.MemorySource = nil // pages are of files of their own
	}
	if kib := hugepageKiB[want]; kib != 0 {
		b.MemoryHugePages.Hugepages = []libvirtxml.DomainMemoryHugepage{{Size: kib, Unit: "KiB"}}
	}
	if *b == (libvirtxml.DomainMemoryBacking{}) {
		d.MemoryBacking = nil
	}
}

// checkHugepages finds a hypervisor that has not enough pages of a size set aside.
func (k hardwareChecker) checkHugepages(ctx context.Context) error {
	kib := hugepageKiB[k.Want.Hugepages]
	if kib == 0 || !k.isNewHere() && k.Was.Hugepages == k.Want.Hugepages && k.Was.MaxMemoryMiB == k.Want.MaxMemoryMiB {
		return nil
	}
	host, err := k.Cache.askHost(ctx, k.Client)
	if err != nil || host.caps.Host.NUMA == nil || host.caps.Host.NUMA.Cells == nil {
		return err
	}
	var has uint64
	for _, cell := range host.caps.Host.NUMA.Cells.Cells {
		for _, pages := range cell.PageInfo {
			if toKibibytes(uint(pages.Size), pages.Unit) == kib {
				has += pages.Count * uint64(kib) >> 10
			}
		}
	}
	if has < uint64(k.Want.MaxMemoryMiB) {
		k.addProblem(pathTo("hugepages"), "Too few huge pages", "hypervisor %s has %d MiB in pages of %s, and the node needs %d: set more aside there (hugepagesz=%s hugepages=N of its kernel), or write hugepages = \"none\"",
			k.Client.URI(), has, k.Want.Hugepages, k.Want.MaxMemoryMiB, k.Want.Hugepages)
	}
	return nil
}
