package machine

import (
	"slices"
	"time"
)

// Migration says how a machine goes to another hypervisor.
type Migration struct {
	// Allow is nil for the default, which is that it may.
	Allow *bool `attr:"allow" xml:"allow,attr,omitempty"`
	// BandwidthMiB bounds what is sent in a second; 0 does not.
	BandwidthMiB int64 `attr:"bandwidth_mib" xml:"bandwidth_mib,attr,omitempty"`
	// Timeout is a duration as it was written; "" for what the whole change may take.
	Timeout string `attr:"timeout" xml:"timeout,attr,omitempty"`
}

// MayMigrate says whether the machine may go to another hypervisor as it is, and is not made anew there.
func (s *Spec) MayMigrate() bool {
	return s.Migration == nil || s.Migration.Allow == nil || *s.Migration.Allow
}

// migrationLimits returns how long a migration may take, 0 for as long as the change, and how much is sent in a second, 0 for all.
func (s *Spec) migrationLimits() (limit time.Duration, bandwidthMiB int64) {
	if s.Migration == nil {
		return 0, 0
	}
	return parseTime(s.Migration.Timeout, 0), s.Migration.BandwidthMiB
}

// HasOwnDisks says whether all disks are the machine's own: attached volumes are of other resources, and stay where they are.
func (s *Spec) HasOwnDisks() bool {
	attached := s.Root != nil && s.Root.Volume != ""
	for _, d := range s.Disks {
		attached = attached || d.Volume != ""
	}
	return !attached
}

// MovedTo returns the machine as it is at the moment at which it has arrived where want has it: on another hypervisor, with the pools,
// the image and the networks that want names there, and all else as it was. Its drive for media is empty.
func (s *Spec) MovedTo(want *Spec) *Spec {
	moved := *s
	moved.Hypervisor, moved.CDROM, moved.Unknown = want.Hypervisor, nil, want.Unknown
	if s.Root != nil && want.Root != nil {
		root := *s.Root
		root.Pool, root.Image = want.Root.Pool, want.Root.Image
		moved.Root = &root
	}
	moved.Disks = map[string]DiskSpec{}
	for key, d := range s.Disks {
		if planned, ok := want.Disks[key]; ok {
			d.Pool = planned.Pool
		}
		moved.Disks[key] = d
	}
	moved.Interfaces = slices.Clone(s.Interfaces)
	for n := range moved.Interfaces {
		i := &moved.Interfaces[n]
		at := slices.IndexFunc(want.Interfaces, func(x InterfaceSpec) bool { return x.MAC == i.MAC })
		if at >= 0 {
			i.Network, i.Bridge, i.OVNNetwork, i.Wiring = want.Interfaces[at].Network, want.Interfaces[at].Bridge, want.Interfaces[at].OVNNetwork, want.Interfaces[at].Wiring
		}
	}
	return &moved
}

// Moving is the state of a machine that was on its way to another hypervisor when a run ended, or has left something behind there: the next
// apply brings that to its end.
const Moving = "moving"

// Departure is what a machine's mark says while it goes to another hypervisor: from before anything is made there until nothing is left
// here. With it, what a run that was killed made there is found.
type Departure struct {
	// To is the other hypervisor by its name among the provider's.
	To string `xml:"to,attr"`
	// Off says that the machine was off, and is held by a process of its own for the migration alone.
	Off bool `xml:"off,attr,omitempty"`
	// Volumes are those that are made there, and Interfaces where the machine is plugged in.
	Volumes    []DepartedVolume    `xml:"volume"`
	Interfaces []DepartedInterface `xml:"interface"`
}

// DepartedVolume names a volume on the other hypervisor.
type DepartedVolume struct {
	Pool string `xml:"pool,attr"`
	Name string `xml:"name,attr"`
	// Made is set once it was made, where no mark can stand beside it.
	Made bool `xml:"made,attr,omitempty"`
}

// DepartedInterface names the network that an interface is on there.
type DepartedInterface struct {
	MAC     string `xml:"mac,attr"`
	Network string `xml:"network,attr,omitempty"`
}

// Arrival is what the mark of a machine says that has come from another hypervisor, until nothing is left of it there.
type Arrival struct {
	// From is the other hypervisor by its name among the provider's.
	From string `xml:"from,attr"`
}
