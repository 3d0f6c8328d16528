package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/xmlpatch"
)

// CheckPatchPath says what is wrong with a path of a patch.
func CheckPatchPath(text string) error { return xmlpatch.CheckPath("domain", text) }

// patchPath is the attribute that says what is at a place.
func patchPath(path string) []any { return pathTo("xml_patch", service.Key(path)) }

// errPatched is why a running machine cannot follow a change of its devices.
var errPatched = errors.New("its xml_patch finds devices by their places, which change in what is started next")

// patchDomain takes a domain's patch back, and patches it with another one: the machine's mark says how the one is taken back, and then the other one.
func patchDomain(d *libvirtxml.Domain, m *Machine, patch map[string]string) error {
	if len(m.Mark.Patched)+len(patch) == 0 {
		return nil
	}
	text, err := d.Marshal()
	if err != nil {
		return fmt.Errorf("cannot render domain %q: %w", d.Name, err)
	}
	patched, places, err := xmlpatch.Apply(text, m.Mark.Patched, patch)
	if at, ok := errors.AsType[*xmlpatch.PlaceError](err); ok {
		return service.At(patchPath(at.Path), fmt.Errorf("cannot patch domain %q: %w", d.Name, err))
	}
	if err != nil {
		return err
	}
	x := &libvirtxml.Domain{}
	if err := x.Unmarshal(patched); err != nil {
		return fmt.Errorf("cannot patch domain %q: %w", d.Name, err)
	}
	*d, m.Mark.Patched = *x, places
	return nil
}

// movesPatched says whether devices move that a patch finds by their places: others come or go before them.
func movesPatched(was, want *Spec) bool {
	isPatched := func(element string) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(want.Patch)), func(path string) bool { return strings.HasPrefix(path, "/domain/devices/"+element) })
	}
	mac := func(i InterfaceSpec) string { return i.MAC }
	return isPatched("disk") && !startsWith(slices.Sorted(maps.Keys(want.Disks)), slices.Sorted(maps.Keys(was.Disks))) ||
		isPatched("interface") && !startsWith(collect(want.Interfaces, mac), collect(was.Interfaces, mac)) ||
		isPatched("hostdev") && !startsWith(want.HostDevices, was.HostDevices) || isPatched("filesystem") && !startsWith(want.Filesystems, was.Filesystems)
}

// startsWith says whether a list begins with all of another one.
func startsWith[T comparable](list, with []T) bool {
	return len(list) >= len(with) && slices.Equal(list[:len(with)], with)
}

// collect returns what is wanted of each.
func collect[T, V any](list []T, of func(T) V) (all []V) {
	for _, x := range list {
		all = append(all, of(x))
	}
	return all
}

// readPatch reads the places that the mark says are patched.
func readPatch(d *libvirtxml.Domain, mark Mark) map[string]string {
	if len(mark.Patched) == 0 {
		return nil
	}
	var paths []string
	for _, p := range mark.Patched {
		paths = append(paths, p.Path)
	}
	text, err := d.Marshal()
	if err != nil {
		return nil
	}
	found, _ := xmlpatch.Read(text, paths)
	return found
}

// checkPatch returns an error where libvirt did not take the patch of a domain that was just defined as it is.
func checkPatch(ctx context.Context, c *hypervisor.Client, uuid string, want map[string]string) error {
	if len(want) == 0 {
		return nil
	}
	d, err := c.Domain(ctx, uuid)
	if err != nil {
		return err
	}
	found := Read(d.Config).Patch
	for _, path := range slices.Sorted(maps.Keys(want)) {
		switch value, there := found[path]; {
		case !there:
			return service.At(patchPath(path), fmt.Errorf("libvirt of hypervisor %s ignores the patch: nothing is at %s of the domain that it made of it. Leave it out", c.URI(), path))
		case value != want[path]:
			return service.At(patchPath(path), fmt.Errorf("libvirt of hypervisor %s makes %q of %q at %s: write what it says, or leave it out", c.URI(), value, want[path], path))
		}
	}
	return nil
}

// validatePatch finds places that no domain has, and those of which an attribute says what is there. It tries the patch on a domain like the
// machine's, once all of it is known.
func (s *Spec) validatePatch() []service.Problem {
	later := slices.ContainsFunc([]string{"xml_patch", "disks", "network_interfaces", "host_devices", "filesystems"}, func(attribute string) bool { return s.Unknown.Has(attribute) })
	for path := range s.Patch {
		later = later || s.Unknown.Has(patchPath(path)...)
	}
	if len(s.Patch) == 0 || later {
		return nil
	}
	var text string
	base, err := Render(s.buildStandIn())
	if err == nil {
		text, err = base.Marshal()
	}
	if err != nil {
		return nil // what is wrong with the rest is said elsewhere
	}
	patched, _, err := xmlpatch.Apply(text, nil, s.Patch)
	if at, ok := errors.AsType[*xmlpatch.PlaceError](err); ok {
		return []service.Problem{service.Problemf(patchPath(at.Path), "No such place", "the node's domain cannot be patched: %v", err)}
	}
	var all []service.Problem
	for _, path := range slices.Sorted(maps.Keys(s.Patch)) {
		switch attribute, taken := s.tryPlace(text, patched, path); {
		case attribute != "":
			all = append(all, service.Problemf(patchPath(path), "Place of an attribute", "what is at %s is said by %s of the node: write it there", path, attribute))
		case !taken:
			all = append(all, service.Problemf(patchPath(path), "No such place", "libvirt's format of domains has no %s that holds %q: it would ignore the patch", path, s.Patch[path]))
		}
	}
	return all
}

// tryPlace returns the attribute that says what is at a place of a patched domain, "" for none, and whether libvirt's format takes the value
// there. The attribute is one that is read otherwise where the place is patched than where it is not, or where it has nothing at all.
func (s *Spec) tryPlace(text, patched, path string) (attribute string, taken bool) {
	alone, _, err := xmlpatch.Apply(text, nil, map[string]string{path: s.Patch[path]})
	with := parseMachine(alone)
	if err != nil || with == nil { // it needs other places of the patch
		without := maps.Clone(s.Patch)
		delete(without, path)
		if others, _, err := xmlpatch.Apply(text, nil, without); err == nil && parseMachine(others) != nil {
			text = others
		}
		alone, with = patched, parseMachine(patched)
	}
	if with == nil {
		return "", false
	}
	attribute = findDifference(parseMachine(text), with)
	if bare, err := xmlpatch.Remove(alone, path); attribute == "" && err == nil && parseMachine(bare) != nil {
		attribute = findDifference(parseMachine(bare), with)
	}
	d := &libvirtxml.Domain{}
	_ = d.Unmarshal(alone) // which was done before
	got, there := readPatch(d, Mark{Patched: []xmlpatch.Place{{Path: path}}})[path]
	return attribute, there && got == s.Patch[path]
}

// parseMachine reads a machine from XML; nil where it is none of a domain.
func parseMachine(text string) *Machine {
	d := &libvirtxml.Domain{}
	if d.Unmarshal(text) != nil {
		return nil
	}
	return Read(d)
}

// findDifference returns an attribute of a node in which two machines differ; "" for none.
func findDifference(was, is *Machine) string {
	if attribute := findTaggedDifference(reflect.ValueOf(was.Hardware), reflect.ValueOf(is.Hardware)); attribute != "" {
		return attribute
	}
	sameRoot := reflect.DeepEqual(was.Disk(Root), is.Disk(Root))
	for _, c := range []struct {
		attribute string
		same      bool
	}{
		{"name", was.Name == is.Name}, {"id", was.UUID == is.UUID}, {"root_disk", sameRoot}, {"disks", slices.Equal(was.Disks, is.Disks)},
		{"network_interfaces", reflect.DeepEqual(was.Interfaces, is.Interfaces)}, {"ignition", was.IgnitionFile == is.IgnitionFile},
		{"cdrom", reflect.DeepEqual(was.Medium, is.Medium)}, {"the provider's own mark", reflect.DeepEqual(was.Mark, is.Mark)},
	} {
		if !c.same {
			return c.attribute
		}
	}
	return ""
}

// findTaggedDifference returns the attribute of a field in which two structs differ; "" for none.
func findTaggedDifference(was, is reflect.Value) string {
	for n := range was.NumField() {
		name, _, _ := strings.Cut(was.Type().Field(n).Tag.Get("attr"), ",")
		if name == "" || name == "xml_patch" || reflect.DeepEqual(was.Field(n).Interface(), is.Field(n).Interface()) {
			continue
		}
		if was.Field(n).Kind() == reflect.Struct {
			return name + "." + findTaggedDifference(was.Field(n), is.Field(n))
		}
		return name
	}
	return ""
}

// buildStandIn returns a machine like that which the values describe, with names in place of what only a hypervisor knows.
func (s *Spec) buildStandIn() *Machine {
	m := &Machine{Name: s.Name, UUID: "00000000-0000-0000-0000-000000000000", Hardware: s.Hardware}
	m.Patch, m.CPU.Feature, m.HostDevices = nil, "vmx", nil
	for n, h := range s.HostDevices {
		if idPair.MatchString(h.PCI) || h == (HostDevice{}) {
			h = HostDevice{PCI: fmt.Sprintf("0000:ff:%02x.0", n)}
		}
		m.HostDevices = append(m.HostDevices, h)
	}
	disk := func(key, bus string, tuning DiskTuning) {
		m.Disks = append(m.Disks, Disk{Key: key, Path: "/" + key, Format: "qcow2", Bus: bus, DiskTuning: tuning})
	}
	if s.Root != nil {
		disk(Root, s.Root.Bus, s.Root.DiskTuning)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Disks)) {
		disk(key, s.Disks[key].Bus, s.Disks[key].DiskTuning)
	}
	for _, i := range s.Interfaces {
		m.Interfaces = append(m.Interfaces, Interface{MAC: i.MAC, Network: i.Network, Bridge: cmp.Or(i.Bridge, i.OVNNetwork), Model: i.Model, MTU: i.MTU, Bandwidth: i.Bandwidth, Wiring: i.Wiring})
	}
	return m
}
