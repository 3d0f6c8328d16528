package machine

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

const laidOut = `<domain type='qemu'><name>n</name><memory unit='MiB'>512</memory><memoryBacking><hugepages><page size='2048' unit='KiB'/></hugepages><nosharepages/></memoryBacking><vcpu>4</vcpu>
	<cputune><shares>512</shares><vcpupin vcpu='0' cpuset='1'/></cputune><numatune><memnode cellid='1' mode='strict' nodeset='0'/></numatune>
	<os><type machine='q35'>hvm</type></os><cpu mode='maximum'><topology sockets='2' cores='2'/><numa><cell id='0' cpus='0-1' memory='262144' unit='KiB'/><cell id='1' cpus='2-3' memory='262144' unit='KiB'/></numa></cpu></domain>`

func laidOutDomain(t *testing.T) *libvirtxml.Domain {
	t.Helper()
	d := &libvirtxml.Domain{}
	if err := d.Unmarshal(laidOut); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestALayoutIsReadAndStays(t *testing.T) {
	d := laidOutDomain(t)
	m := Read(d)
	if m.CPU.Topology != (Topology{2, 1, 2, 1}) || !reflect.DeepEqual(m.CPU.Pinning, map[string]string{"0": "1"}) || m.Hugepages != "2M" ||
		!reflect.DeepEqual(m.NUMA, []Cell{{"0-1", 256, ""}, {"2-3", 256, "0"}}) {
		t.Errorf("read as %+v", m.Hardware)
	}
	before, _ := d.Marshal()
	applyTopology(d, m.CPU.Topology, Topology{Sockets: 2, Cores: 2})
	applyPinning(d, m.CPU.Pinning, m.CPU.Pinning)
	applyHugepages(d, m.Hugepages, m.Hugepages)
	applyCells(d, m.NUMA, m.NUMA)
	if after, _ := d.Marshal(); after != before {
		t.Errorf("what it has made it\n%s", after)
	}
}

func TestALayoutIsChangedAndTakenAway(t *testing.T) {
	d := laidOutDomain(t)
	m := Read(d)
	applyTopology(d, m.CPU.Topology, Topology{Cores: 4})
	applyPinning(d, m.CPU.Pinning, map[string]string{"3": "0-1"})
	applyHugepages(d, m.Hugepages, "1G")
	applyCells(d, m.NUMA, []Cell{{"0-3", 512, "0"}})
	m = Read(d)
	if m.CPU.Topology != (Topology{1, 1, 4, 1}) || !reflect.DeepEqual(m.CPU.Pinning, map[string]string{"3": "0-1"}) || m.Hugepages != "1G" || !reflect.DeepEqual(m.NUMA, []Cell{{"0-3", 512, "0"}}) {
		t.Errorf("changed to %+v", m.Hardware)
	}
	applyTopology(d, m.CPU.Topology, Topology{})
	applyPinning(d, m.CPU.Pinning, nil)
	applyHugepages(d, m.Hugepages, "none")
	applyCells(d, m.NUMA, nil)
	after, _ := d.Marshal()
	for text, stays := range map[string]bool{"topology": false, "vcpupin": false, "hugepages": false, "<numa": false, "memnode": false, "<shares>512<": true, "nosharepages": true} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(after, text) != stays {
				t.Errorf("having %s is %t:\n%s", text, !stays, after)
			}
		})
	}
}

func TestALayoutThatContradictsItsNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Spec)
		at     string
	}{
		"none": {func(*Spec) {}, ""},
		"that fits": {func(s *Spec) {
			s.CPU.Topology, s.NUMA = Topology{Sockets: 4}, []Cell{{"0-1", 256, ""}, {"2-3", 256, ""}}
		}, ""},
		"of more vCPUs":       {func(s *Spec) { s.CPU.Topology = Topology{Sockets: 4, Threads: 2} }, "[cpu topology]"},
		"pinning of no vCPU":  {func(s *Spec) { s.CPU.Pinning = map[string]string{"4": "0"} }, "[cpu pinning 4]"},
		"cells of less":       {func(s *Spec) { s.NUMA = []Cell{{"0-3", 256, ""}} }, "[numa]"},
		"a vCPU in two cells": {func(s *Spec) { s.NUMA = []Cell{{"0-1", 256, ""}, {"1-3", 256, ""}} }, "[numa 1 cpus]"},
		"a cell of no vCPU":   {func(s *Spec) { s.NUMA = []Cell{{"0-3", 256, ""}, {"4", 256, ""}} }, "[numa 1 cpus]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Spec{Hardware: Hardware{MaxVCPUs: 4, MaxMemoryMiB: 512}}
			c.change(s)
			at := ""
			for _, p := range s.validateLayout() {
				at += fmt.Sprint(p.Path)
			}
			if at != c.at {
				t.Errorf("%s: problems at %s, want %s", name, at, c.at)
			}
		})
	}
}

func TestPinsOfARunningMachineAreShownWhereTheyChangedThereAlone(t *testing.T) {
	t.Parallel()
	// Without a client nobody can be asked which processors there are.
	pins := map[string]string{"0": "1"}
	config, live := laidOutDomain(t), laidOutDomain(t)
	s := &Store{}
	for name, c := range map[string]struct {
		known map[string]string
		live  *libvirtxml.Domain
	}{"off": {pins, nil}, "the same": {pins, live}, "drift of the configuration": {map[string]string{"0": "2"}, &libvirtxml.Domain{}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := s.readShownPinning(t.Context(), &hypervisor.Domain{Config: config, Live: c.live}, readPinning(config), c.known)
			if err != nil || !maps.Equal(got, pins) {
				t.Errorf("shown are %v, %v", got, err)
			}
		})
	}
}

func TestPinsToAllProcessorsAreNone(t *testing.T) {
	t.Parallel()
	got := dropFreePins(map[string]string{"0": "0-3,8", "1": "0-3", "2": "8", "3": "0-9"}, []int{0, 1, 2, 3, 8})
	if want := map[string]string{"1": "0-3", "2": "8"}; !maps.Equal(got, want) {
		t.Errorf("pins are %v, want %v", got, want)
	}
}
