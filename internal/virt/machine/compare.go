package machine

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/drive"
)

// Change is one thing in which a machine differs from what it shall be.
type Change struct {
	// Path is the attribute, as in service.Problem.
	Path []any
	// Restart is why a running machine cannot follow; nil where it can.
	Restart error
	// Maybe is set where only the guest can tell whether it takes a restart.
	Maybe bool
}

// Running is a machine that runs, be it paused: what can be plugged into it depends on what it has.
type Running struct {
	// Machine is its configuration, Live its XML.
	Machine *Machine
	Live    *libvirtxml.Domain
}

// errFixed is why a running machine cannot follow a change of what it was started with.
var errFixed = errors.New("a running machine cannot follow it")

// Compare lists what changes from one Spec to another and says of each whether a running machine can follow, and why not. Without
// a running machine, devices follow. What is unknown is no change.
func Compare(was, want *Spec, running *Running) ([]Change, error) {
	all := compareFixed(was, want)
	live := func(path []any, was, is any) {
		if !want.Unknown.Has(path...) && !reflect.DeepEqual(was, is) {
			all = append(all, Change{Path: path})
		}
	}
	live(pathTo("memory_mib"), was.MemoryMiB, want.MemoryMiB)
	if want.VCPUs != 0 && was.VCPUs != want.VCPUs {
		all = append(all, Change{Path: pathTo("vcpus"), Maybe: want.VCPUs < was.VCPUs})
	}
	if len(was.CPU.Pinning)+len(want.CPU.Pinning) > 0 {
		live(pathTo("cpu", "pinning"), was.CPU.Pinning, want.CPU.Pinning)
	}
	live(pathTo("boot", "order"), was.Boot.Order, want.Boot.Order)
	if !samePointed(was.CDROM, want.CDROM) {
		live(pathTo("cdrom"), was.CDROM, want.CDROM)
	}
	live(pathTo("autostart"), was.Autostart, want.Autostart)
	live(pathTo("role"), was.Role, want.Role)
	if len(was.Labels)+len(want.Labels) > 0 {
		live(pathTo("labels"), was.Labels, want.Labels)
	}
	if was.Root != nil && want.Root != nil {
		live(pathTo("root_disk", "volume"), was.Root.Volume, want.Root.Volume)
	}
	if was.Root != nil && want.Root != nil && want.Root.SizeGiB != 0 {
		live(pathTo("root_disk", "size_gib"), was.Root.SizeGiB, want.Root.SizeGiB)
	}
	compareTuning(was, want, func(was, want DiskTuning, at []any) { live(pathBelow(at, "limits"), was.Limits, want.Limits) })
	devices, err := compareDevices(was, want, running)
	return append(all, devices...), err
}

// IsFixed says that the change is of what a machine is started with.
func (c Change) IsFixed() bool { return errors.Is(c.Restart, errFixed) }

// PlanChanges compares a machine that is planned with what is there: what runs is asked about where devices change. One that is
// gone since it was read is not there to restart.
func PlanChanges(ctx context.Context, c *hypervisor.Client, was, want *Spec) ([]Change, error) {
	if !was.Runs() || !want.Running || want.SameDevices(was) {
		return Compare(was, want, nil)
	}
	d, err := c.Domain(ctx, was.UUID)
	if hypervisor.IsNotFound(err) || err == nil && !d.Active() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	existing, err := readLocatedMachine(ctx, c, d)
	if err != nil {
		return nil, err
	}
	return Compare(was, want, &Running{Machine: existing, Live: d.Live})
}

// NeedRestart are the changes that a running machine cannot follow.
func NeedRestart(changes []Change) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return c.Restart == nil })
}

// compareFixed lists the changes of what a machine is started with.
func compareFixed(was, want *Spec) []Change {
	var all []Change
	differ := func(was, is any, path ...any) {
		if !want.Unknown.Has(path...) && !reflect.DeepEqual(was, is) && !isEmpty(was, is) {
			all = append(all, Change{Path: path, Restart: errFixed})
		}
	}
	compareTagged(reflect.ValueOf(was.Hardware), reflect.ValueOf(want.Hardware), nil, differ)
	if was.Root != nil && want.Root != nil {
		differ(was.Root.Bus, want.Root.Bus, "root_disk", "bus")
	} else {
		differ(was.Root == nil, want.Root == nil, "root_disk")
	}
	compareTuning(was, want, func(was, want DiskTuning, at []any) {
		compareTagged(reflect.ValueOf(was), reflect.ValueOf(want), at, differ)
	})
	compareFormats(was, want, differ)
	if movesPatched(was, want) {
		all = append(all, Change{Path: pathTo("xml_patch"), Restart: errPatched})
	}
	if was.State == Outdated {
		all = append(all, Change{Path: pathTo("state"), Restart: errOutdated})
	}
	// fw_cfg is part of the machine; what is in its file is not.
	if was.hasIgnition() != want.hasIgnition() {
		all = append(all, Change{Path: pathTo("ignition"), Restart: errFixed})
	}
	return all
}

// isEmpty says of two collections that there is nothing in either.
func isEmpty(was, is any) bool {
	a, b := reflect.ValueOf(was), reflect.ValueOf(is)
	return slices.Contains([]reflect.Kind{reflect.Map, reflect.Slice}, a.Kind()) && a.Len()+b.Len() == 0
}

// compareTuning calls compare with the tuning of each disk that was there and stays, and the disk's path.
func compareTuning(was, want *Spec, compare func(was, want DiskTuning, at []any)) {
	if was.Root != nil && want.Root != nil {
		compare(was.Root.DiskTuning, want.Root.DiskTuning, pathTo("root_disk"))
	}
	for _, key := range slices.Sorted(maps.Keys(want.Disks)) {
		if old, existed := was.Disks[key]; existed {
			compare(old.DiskTuning, want.Disks[key].DiskTuning, pathTo("disks", service.Key(key)))
		}
	}
}

// compareFormats calls differ with the format of each attached volume that stays.
func compareFormats(was, want *Spec, differ func(was, is any, path ...any)) {
	if was.Root != nil && want.Root != nil && was.Root.Volume == want.Root.Volume {
		differ(was.Root.Format, want.Root.Format, "root_disk", "format")
	}
	for _, key := range slices.Sorted(maps.Keys(want.Disks)) {
		if old, existed := was.Disks[key]; existed && old.Volume == want.Disks[key].Volume {
			differ(old.Format, want.Disks[key].Format, "disks", service.Key(key), "format")
		}
	}
}

// compareTagged calls differ with all fields that are tagged as needing a restart, and their paths.
func compareTagged(was, want reflect.Value, at []any, differ func(was, is any, path ...any)) {
	for n := range was.NumField() {
		tag := was.Type().Field(n).Tag
		name, tagged := tag.Lookup("attr")
		name, _, _ = strings.Cut(name, ",")
		switch path := pathBelow(at, name); {
		case tag.Get("restart") == "yes":
			differ(was.Field(n).Interface(), want.Field(n).Interface(), path...)
		case tagged && was.Field(n).Kind() == reflect.Struct:
			compareTagged(was.Field(n), want.Field(n), path, differ)
		}
	}
}

// SameDevices says that nothing is to be plugged in or out.
func (s *Spec) SameDevices(was *Spec) bool {
	unknown := slices.ContainsFunc([]string{"disks", "network_interfaces", "cloud_init", "cdrom"}, func(attribute string) bool { return s.Unknown.Has(attribute) })
	unknown = unknown || slices.ContainsFunc(pluggables, func(kind pluggable) bool { return kind.isUnknown(s) })
	return !unknown && sameOthers(&was.Hardware, &s.Hardware) && samePointed(s.CDROM, was.CDROM) && len(s.Disks) == len(was.Disks) && maps.Equal(s.Disks, was.Disks) && sameInterfaces(s.Interfaces, was.Interfaces) && samePointed(s.CloudInit, was.CloudInit)
}

func sameInterfaces(a, b []InterfaceSpec) bool {
	return slices.EqualFunc(a, b, func(x, y InterfaceSpec) bool { return reflect.DeepEqual(x, y) })
}

// compareDevices lists what is to be plugged in or out, in the order in which an update comes to it: what is removed goes last,
// and gives no room to what is new.
func compareDevices(was, want *Spec, running *Running) ([]Change, error) {
	if running == nil {
		return nil, nil
	}
	room, err := CountFreePorts(running.Live)
	if err != nil {
		return nil, err
	}
	var all []Change
	note := func(path []any, refusal error) { all = append(all, Change{Path: path, Restart: refusal}) }
	for _, key := range slices.Sorted(maps.Keys(want.Disks)) {
		disk, existing, path := want.Disks[key], running.Machine.Disk(key), pathTo("disks", service.Key(key))
		old, known := was.Disks[key]
		if want.Unknown.Has(pathBelow(path, "volume")...) {
			disk.Volume = old.Volume
		}
		stays := existing != nil && disk.isUnchanged(existing, old) && !(known && old.isMissing() && disk.Volume == "")
		if stays || want.Unknown.Has(pathBelow(path, "bus")...) {
			continue
		}
		if existing != nil {
			if err := room.UnplugDisk(existing.Bus); err != nil {
				note(path, err)
				continue
			}
		}
		if disk.IOThread > int64(running.Live.IOThreads) {
			note(path, errors.New("its I/O thread is there from its next start on"))
			continue
		}
		note(path, room.PlugDisk(disk.Bus))
	}
	if want.HasSeed() && running.Machine.Disk(Seed) == nil {
		note(want.seedPath(), room.PlugDisk("virtio"))
	}
	if want.CDROM != nil && !samePointed(was.CDROM, want.CDROM) && drive.Find(running.Live) == nil {
		note(pathTo("cdrom"), want.plugDrive(running, room))
	}
	compareInterfaces(want, running, room, note)
	compareOthers(was, want, running, room, note)
	for _, existing := range running.Machine.Disks {
		_, wanted := want.Disks[existing.Key]
		if !wanted && existing.Key != Root && existing.Key != Seed && !want.Unknown.Has("disks") {
			note(pathTo("disks", service.Key(existing.Key)), room.UnplugDisk(existing.Bus))
		}
	}
	return all, nil
}

// plugDrive takes the room that a drive for media needs in a machine that runs without one, or says why none can be plugged in.
func (s *Spec) plugDrive(running *Running, room *FreePorts) error {
	switch {
	case running.Machine.Medium != nil:
		return errors.New("its drive for media is there from its next start on")
	case *s.CDROM == CDROM{} && !s.Unknown.Has("cdrom", "image") && !s.Unknown.Has("cdrom", "url"):
		return errors.New("a drive cannot be plugged in with nothing in it")
	}
	return room.PlugDisk(pluggedBus)
}

// isUnchanged says whether a disk stays as the machine has it. A volume may be called by another path than it was resolved to.
func (d DiskSpec) isUnchanged(existing *Disk, was DiskSpec) bool {
	return (d.Volume == was.Volume || d.Volume == existing.Path) && d.Bus == existing.Bus
}

// compareInterfaces does the same for interfaces. One that gets another model, or is put upon another device, is plugged out and in again.
func compareInterfaces(want *Spec, running *Running, room *FreePorts, note func([]any, error)) {
	for n, i := range want.Interfaces {
		path := pathTo("network_interfaces", n)
		laterModel := want.Unknown.Has(pathBelow(path, "model")...)
		index := slices.IndexFunc(running.Machine.Interfaces, func(x Interface) bool { return x.MAC == i.MAC })
		plugged := index >= 0 && FindInterface(running.Live, i.MAC) != nil
		if plugged && (laterModel || running.Machine.Interfaces[index].Model == i.Model && samePointed(running.Machine.Interfaces[index].Direct, i.Direct)) {
			continue
		}
		if plugged {
			room.UnplugInterface(running.Machine.Interfaces[index].Model)
		}
		if !laterModel {
			note(path, room.PlugInterface(i.Model))
		}
	}
}
