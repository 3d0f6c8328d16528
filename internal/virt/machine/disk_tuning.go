package machine

import (
	"cmp"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// DiskTuning is how QEMU treats a disk. A word that is "" is one that nobody chose: it stays as it is, and a new disk has libvirt's.
type DiskTuning struct {
	// Cache is "default" or one of QEMU's words, and so is IO.
	Cache string `attr:"cache" restart:"yes"`
	IO    string `attr:"io" restart:"yes"`
	// Discard is "unmap", which gives what the guest trims back to the pool, or "ignore".
	Discard string `attr:"discard" restart:"yes"`
	// IOThread is the number of the thread that serves the disk; 0 for QEMU's main loop.
	IOThread  int64      `attr:"iothread,zero" restart:"yes"`
	ReadOnly  bool       `attr:"readonly" restart:"yes"`
	Shareable bool       `attr:"shareable" restart:"yes"`
	Limits    DiskLimits `attr:"limits"`
}

// DiskLimits bound what a guest may ask of a disk in a second; 0 does not.
type DiskLimits struct {
	TotalBytes int64 `attr:"total_bytes_sec"`
	ReadBytes  int64 `attr:"read_bytes_sec"`
	WriteBytes int64 `attr:"write_bytes_sec"`
	TotalIOPS  int64 `attr:"total_iops_sec"`
	ReadIOPS   int64 `attr:"read_iops_sec"`
	WriteIOPS  int64 `attr:"write_iops_sec"`
}

// ByName returns the limits by the names that libvirt has for them.
func (l DiskLimits) ByName() map[string]int64 {
	return map[string]int64{
		"total_bytes_sec": l.TotalBytes, "read_bytes_sec": l.ReadBytes, "write_bytes_sec": l.WriteBytes,
		"total_iops_sec": l.TotalIOPS, "read_iops_sec": l.ReadIOPS, "write_iops_sec": l.WriteIOPS,
	}
}

func readTuning(x *libvirtxml.DomainDisk) DiskTuning {
	t := DiskTuning{Cache: "default", IO: "default", Discard: "ignore", ReadOnly: x.ReadOnly != nil, Shareable: x.Shareable != nil}
	if d := x.Driver; d != nil {
		t.Cache, t.IO, t.Discard = cmp.Or(d.Cache, t.Cache), cmp.Or(d.IO, t.IO), cmp.Or(d.Discard, t.Discard)
		if d.IOThread != nil {
			t.IOThread = int64(*d.IOThread)
		}
	}
	if l := x.IOTune; l != nil {
		t.Limits = DiskLimits{
			TotalBytes: int64(l.TotalBytesSec), ReadBytes: int64(l.ReadBytesSec), WriteBytes: int64(l.WriteBytesSec),
			TotalIOPS: int64(l.TotalIopsSec), ReadIOPS: int64(l.ReadIopsSec), WriteIOPS: int64(l.WriteIopsSec),
		}
	}
	return t
}

// findLiveLimits returns the limits that a disk has in what runs; those given, where it is not in there.
func findLiveLimits(d *hypervisor.Domain, target string, given DiskLimits) DiskLimits {
	if x := FindDisk(d.Live, target); x != nil {
		return readTuning(x).Limits
	}
	return given
}

// readShownTuning returns a disk's tuning with the limits of what runs, where somebody changed them there alone.
func readShownTuning(d *hypervisor.Domain, disk Disk, known DiskLimits) DiskTuning {
	shown := disk.DiskTuning
	if disk.Limits == known {
		shown.Limits = findLiveLimits(d, disk.Target, disk.Limits)
	}
	return shown
}

// applyTuning puts into a disk's XML, which has a driver, what of the tuning differs from it.
func applyTuning(x *libvirtxml.DomainDisk, want DiskTuning) {
	was := readTuning(x)
	set := func(word *string, was, want, unsaid string) {
		if want == "" || want == was {
			return
		}
		if *word = want; want == unsaid {
			*word = ""
		}
	}
	set(&x.Driver.Cache, was.Cache, want.Cache, "default")
	set(&x.Driver.IO, was.IO, want.IO, "default")
	set(&x.Driver.Discard, was.Discard, want.Discard, "")
	if x.Target != nil && x.Target.Bus != "virtio" {
		want.IOThread = 0 // which no other bus has
	}
	if was.IOThread != want.IOThread {
		x.Driver.IOThread = nil
		if n := uint(want.IOThread); n != 0 {
			x.Driver.IOThread = &n
		}
	}
	if was.ReadOnly != want.ReadOnly {
		x.ReadOnly = nil
		if want.ReadOnly {
			x.ReadOnly = &libvirtxml.DomainDiskReadOnly{}
		}
	}
	if was.Shareable != want.Shareable {
		x.Shareable = nil
		if want.Shareable {
			x.Shareable = &libvirtxml.DomainDiskShareable{}
		}
	}
	if was.Limits != want.Limits {
		applyLimits(x, want.Limits)
	}
}

// applyLimits leaves what libvirt has beside the limits, such as bursts, as it is.
func applyLimits(x *libvirtxml.DomainDisk, want DiskLimits) {
	l := libvirtxml.DomainDiskIOTune{}
	if x.IOTune != nil {
		l = *x.IOTune
	}
	l.TotalBytesSec, l.ReadBytesSec, l.WriteBytesSec = uint64(want.TotalBytes), uint64(want.ReadBytes), uint64(want.WriteBytes)
	l.TotalIopsSec, l.ReadIopsSec, l.WriteIopsSec = uint64(want.TotalIOPS), uint64(want.ReadIOPS), uint64(want.WriteIOPS)
	x.IOTune = &l
	if l == (libvirtxml.DomainDiskIOTune{}) {
		x.IOTune = nil
	}
}

// applyIOThreads gives a domain the threads that its disks are served by. More than these are somebody's.
func applyIOThreads(d *libvirtxml.Domain, m *Machine) {
	for _, disk := range m.Disks {
		d.IOThreads = max(d.IOThreads, uint(disk.IOThread))
	}
}

// validateTuning says what of a disk's tuning libvirt would refuse, or would do nothing.
func (s *Spec) validateTuning(t DiskTuning, key, bus string) []service.Problem {
	var all []service.Problem
	here := s.diskPath(key)
	problem := func(attribute, summary, format string, args ...any) {
		all = append(all, service.Problemf(pathBelow(here, attribute), summary, format, args...))
	}
	later := s.Unknown.Has(pathBelow(here, "volume")...)
	if t.IO == "native" && t.Cache != "none" && t.Cache != "directsync" && !s.Unknown.Has(pathBelow(here, "cache")...) {
		problem("io", "Native I/O with a cache", "io = \"native\" goes past the hypervisor's cache: write cache = \"none\" or \"directsync\", or another io")
	}
	if t.IOThread != 0 && bus != "virtio" && bus != "" {
		problem("iothread", "I/O thread of another bus", "a thread serves disks on the bus \"virtio\", not %q: leave out iothread, or write bus = \"virtio\"", bus)
	}
	if own := !s.isAttached(key) && !later; own && t.ReadOnly {
		problem("readonly", "Read-only disk of the node's own", "the node's own volume would never be written: write volume, or leave out readonly")
	} else if own && t.Shareable {
		problem("shareable", "Shared disk of the node's own", "the volume goes with this node: write volume, of a virtcluster_volume with format = \"raw\" that others attach too, or leave out shareable")
	}
	if l := t.Limits; l.TotalBytes != 0 && l.ReadBytes+l.WriteBytes != 0 || l.TotalIOPS != 0 && l.ReadIOPS+l.WriteIOPS != 0 {
		problem("limits", "Limit of all and of a part", "a limit of reads or of writes does not go with one of both together: write only one of them")
	}
	return all
}
