package machine

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Spec is a machine in its users' words: what it shall be, or what it is. Networks, pools and volumes are called as the users
// call them. A zero value is one that nobody chose, or that is not known yet; see Unknown. The tags say which attribute of a node a
// field is (convert.ToPlain).
type Spec struct {
	// Hypervisor is its name among the provider's; "" for the provider's own.
	Hypervisor string `attr:"hypervisor"`
	// UUID is "" for a machine that is not made yet.
	UUID   string            `attr:"id"`
	Name   string            `attr:"name"`
	Role   string            `attr:"role"`
	Labels map[string]string `attr:"labels"`
	Hardware
	Root *RootSpec `attr:"root_disk"`
	// Disks are the further ones by key.
	Disks      map[string]DiskSpec `attr:"disks"`
	Interfaces []InterfaceSpec     `attr:"network_interfaces"`
	// CDROM is nil where nothing is said of the drive for media.
	CDROM     *CDROM     `attr:"cdrom"`
	CloudInit *CloudInit `attr:"cloud_init"`
	Ignition  string     `attr:"ignition"`
	Butane    string     `attr:"butane"`

	Autostart bool `attr:"autostart"`
	Running   bool `attr:"running"`
	Settings

	// Addresses are where the machine can be reached, by the names of its interfaces; State is libvirt's word for what it does.
	Addresses map[string]string `attr:"addresses"`
	State     string            `attr:"state"`

	// Unknown are the attributes of a planned machine that are known only later.
	Unknown Places
}

// Settings say how Terraform treats a machine. State knows them; an import has nothing to ask but the mark that they are in.
type Settings struct {
	AllowRestart bool `attr:"allow_restart" xml:"allow_restart,attr,omitempty"`
	// ShutdownTimeout is a duration as it was written.
	ShutdownTimeout string `attr:"shutdown_timeout" xml:"shutdown_timeout,attr,omitempty"`
	// WaitFor is "none", "lease" or "guest_agent".
	WaitFor string `attr:"wait_for" xml:"wait_for,attr,omitempty"`
	// Power is Managed or External.
	Power string `attr:"power" xml:"power,attr,omitempty"`
	// Timeouts are nil where there are none.
	Timeouts *Timeouts `attr:"timeouts" xml:"timeouts"`
	// Rollout is nil where the machine waits for no others.
	Rollout *Rollout `attr:"rollout" xml:"rollout"`
	// Migration is nil where the machine may go to other hypervisors, by no rules of its own.
	Migration *Migration `attr:"migration" xml:"migration"`
}

// Who says whether a machine runs: Terraform, or whoever switches it, such as a BMC.
const (
	Managed  = "managed"
	External = "external"
)

// Timeouts are durations by operation, as they were written; "" where nobody set one.
type Timeouts struct {
	Create string `attr:"create" xml:"create,attr,omitempty"`
	Read   string `attr:"read" xml:"read,attr,omitempty"`
	Update string `attr:"update" xml:"update,attr,omitempty"`
	Delete string `attr:"delete" xml:"delete,attr,omitempty"`
}

// RootSpec is the disk that the machine boots from: a volume of the machine's own, or one that is there and outlives it.
type RootSpec struct {
	Image string `attr:"image"`
	// SizeGiB is 0 where the image has it, for an attached volume, and where the volume of a machine that is there is missing.
	SizeGiB int64 `attr:"size_gib"`
	// Pool is an attached volume's too: the machine's other volumes are beside it.
	Pool   string `attr:"pool"`
	Bus    string `attr:"bus"`
	Volume string `attr:"volume"`
	// Format is that of an attached volume, as DiskSpec has it.
	Format string `attr:"format"`
	DiskTuning
}

// DiskSpec is a further disk: a volume of the machine's own, or one that is there and outlives it.
type DiskSpec struct {
	// SizeGiB is 0 for an attached volume, and where the volume of a machine that is there is missing.
	SizeGiB int64  `attr:"size_gib"`
	Pool    string `attr:"pool"`
	Bus     string `attr:"bus"`
	// Volume is the path of one that a storage pool has, or of a block device that none has.
	Volume string `attr:"volume"`
	// Format is how QEMU reads an attached volume, in QEMU's words. It is "" for one of the machine's own, and for a new one of which nobody said it.
	Format string `attr:"format"`
	DiskTuning
}

// isMissing says of a disk of a machine that is there that its volume is gone.
func (d DiskSpec) isMissing() bool { return d.Volume == "" && d.SizeGiB == 0 }

// InterfaceSpec is a network interface, and what the guest is told about it.
type InterfaceSpec struct {
	Network string `attr:"network"`
	Bridge  string `attr:"bridge"`
	// OVNNetwork is the id of a network of OVN.
	OVNNetwork string     `attr:"ovn_network"`
	Name       string     `attr:"name"`
	MAC        string     `attr:"mac,canonical"`
	IP         netip.Addr `attr:"ip"`
	IPv6       netip.Addr `attr:"ipv6"`
	Hostname   string     `attr:"hostname"`
	// Addresses have their prefix lengths.
	Addresses   []netip.Prefix `attr:"addresses"`
	Gateway     netip.Addr     `attr:"gateway"`
	Routes      []Route        `attr:"routes"`
	Nameservers []netip.Addr   `attr:"nameservers"`
	// MTU is 0 for the network's.
	MTU       int64     `attr:"mtu"`
	Bandwidth Bandwidth `attr:"bandwidth"`
	Wiring
	Model        string `attr:"model"`
	PortSecurity bool   `attr:"port_security"`
	// AllowedAddresses are addresses and prefixes.
	AllowedAddresses []string       `attr:"allowed_addresses,canonical"`
	SecurityRules    []SecurityRule `attr:"security_rules"`
	// SecurityGroups are those of OVN that the interface's port is in.
	SecurityGroups []string `attr:"security_groups"`

	// drawn is what a network of OVN gave to an interface without an address of its own, as it was read.
	drawn netip.Addr
}

// Route is a static route inside the guest.
type Route struct {
	CIDR netip.Prefix `attr:"cidr"`
	Via  netip.Addr   `attr:"via"`
}

// CloudInit is what cloud-init is told, each text as it was written.
type CloudInit struct {
	UserData      string `attr:"user_data"`
	MetaData      string `attr:"meta_data"`
	VendorData    string `attr:"vendor_data"`
	NetworkConfig string `attr:"network_config"`
}

// Places is a set of attributes of a machine. They are known by their paths, as in service.Problem.
type Places map[string]bool

// Add notes an attribute.
func (p Places) Add(path ...any) { p[placeKey(path)] = true }

// Has says whether an attribute, or one that it is in, was noted.
func (p Places) Has(path ...any) bool {
	for n := len(path); n > 0; n-- {
		if p[placeKey(path[:n])] {
			return true
		}
	}
	return false
}

// pathTo returns a path to an attribute.
func pathTo(steps ...any) []any { return steps }

// pathBelow returns a path below another one.
func pathBelow(path []any, steps ...any) []any { return append(slices.Clone(path), steps...) }

// CanonicalMAC spells a MAC address canonically; anything else stays as it is.
func CanonicalMAC(text string) string {
	if mac, err := alloc.CanonicalMAC(text); err == nil {
		return mac
	}
	return text
}

// DefaultOrder is the boot order of a machine where nobody chose one.
func DefaultOrder(root bool) []string {
	if root {
		return []string{"hd"}
	}
	return []string{"network"}
}

// InterfaceName is an interface's name in the guest where nobody chose one.
func InterfaceName(n int) string { return fmt.Sprintf("eth%d", n) }

// shutdownGrace is how long the guest may take to shut down. The schema has checked that it is a duration.
func (s *Spec) shutdownGrace() time.Duration {
	grace, _ := time.ParseDuration(s.ShutdownTimeout)
	return grace
}

// Runs says whether a machine that is there runs, be it paused.
func (s *Spec) Runs() bool {
	if s.Power == External && (s.State == "running" || s.State == Outdated) {
		return true
	}
	return s.Running && s.Power != External || slices.Contains([]string{"paused", "in shutdown", "pmsuspended", Outdated}, s.State)
}

// hasIgnition says whether the machine is told something by Ignition, or will be.
func (s *Spec) hasIgnition() bool {
	return s.Ignition != "" || s.Butane != "" || s.Unknown.Has("ignition") || s.Unknown.Has("butane")
}

// configuresInterfaces says whether the guest has to be told more about its interfaces than to ask DHCP.
func (s *Spec) configuresInterfaces() bool {
	return slices.ContainsFunc(s.Interfaces, func(i InterfaceSpec) bool {
		return i.Gateway.IsValid() || len(i.Addresses)+len(i.Routes)+len(i.Nameservers) > 0
	})
}

// HasSeed says whether the machine has a cloud-init disk: it was asked for, or interfaces are to be configured inside a guest
// that Ignition does not configure.
func (s *Spec) HasSeed() bool {
	return s.CloudInit != nil || s.Ignition == "" && s.Butane == "" && s.configuresInterfaces()
}

// seedPath is the attribute that the cloud-init disk is there for.
func (s *Spec) seedPath() []any {
	if s.CloudInit != nil {
		return pathTo("cloud_init")
	}
	return pathTo("network_interfaces")
}

// diskPath is the attribute that a disk of the machine comes from.
func (s *Spec) diskPath(key string) []any {
	switch key {
	case Root:
		return pathTo("root_disk")
	case Seed:
		return s.seedPath()
	case Ignition:
		if s.Butane != "" {
			return pathTo("butane")
		}
		return pathTo("ignition")
	}
	if strings.HasPrefix(key, copyPrefix) {
		return pathTo("cdrom", "url")
	}
	return pathTo("disks", service.Key(key))
}

// asksDHCP says whether the guest asks DHCP for an interface's addresses of each family.
func (i *InterfaceSpec) asksDHCP() (v4, v6 bool) {
	static := slices.ContainsFunc(i.Addresses, func(p netip.Prefix) bool { return p.Addr().Is4() })
	return i.IP.IsValid() || !static, i.IPv6.IsValid()
}

// reservedAddresses returns the addresses that the network's DHCP is to keep for an interface, by their attributes.
func (i *InterfaceSpec) reservedAddresses() map[string]netip.Addr {
	all := map[string]netip.Addr{"ip": i.IP, "ipv6": i.IPv6}
	maps.DeleteFunc(all, func(_ string, a netip.Addr) bool { return !a.IsValid() })
	return all
}

// listAddresses returns the addresses inside the guest.
func (i *InterfaceSpec) listAddresses() []netip.Addr {
	var all []netip.Addr
	for _, p := range i.Addresses {
		all = append(all, p.Addr())
	}
	return all
}

// isAttached says of a disk of the machine that it is a volume which outlives it.
func (s *Spec) isAttached(key string) bool {
	if key == Root {
		return s.Root != nil && s.Root.Volume != ""
	}
	return s.Disks[key].Volume != ""
}

// ConfiguredAddress is the address that an interface has because of its configuration; invalid where that says none.
func (i *InterfaceSpec) ConfiguredAddress() netip.Addr {
	if i.IP.IsValid() {
		return i.IP
	}
	return preferIPv4(append(i.listAddresses(), i.IPv6))
}

// preferIPv4 is the first IPv4 address, or else the first of all; invalid of none.
func preferIPv4(all []netip.Addr) netip.Addr {
	if at := slices.IndexFunc(all, netip.Addr.Is4); at >= 0 {
		return all[at]
	}
	return slices.Concat(all, []netip.Addr{{}})[0]
}

// diskVolumes are the volumes of the machine's own disks by their keys, as it names them.
func (s *Spec) diskVolumes() map[string]VolumeRef {
	all := map[string]VolumeRef{}
	if s.Root != nil && s.Root.Volume == "" {
		all[Root] = VolumeRef{s.Root.Pool, s.Name + "-root.qcow2"}
	}
	for key, d := range s.Disks {
		if d.Volume == "" {
			all[key] = VolumeRef{d.Pool, s.Name + "-" + key + ".qcow2"}
		}
	}
	return all
}

// VolumeNames are the volumes that a machine has by its own naming, whether or not they are there.
func (s *Spec) VolumeNames() []VolumeRef {
	pool := "default"
	if s.Root != nil {
		pool = s.Root.Pool
	}
	all := slices.Collect(maps.Values(s.diskVolumes()))
	if s.HasSeed() {
		all = append(all, VolumeRef{pool, s.Name + seedSuffix})
	}
	if s.Ignition != "" || s.Butane != "" {
		all = append(all, VolumeRef{pool, s.Name + ignitionSuffix})
	}
	if s.CDROM.copyKey() != "" {
		all = append(all, VolumeRef{pool, s.Name + s.CDROM.copySuffix()})
	}
	return all
}

const (
	seedSuffix     = "-seed.iso"
	ignitionSuffix = "-ignition.json"
)

// VolumeRef names a volume.
type VolumeRef struct{ Pool, Name string }

// placeKey returns the text by which a path is in Places.
func placeKey(path []any) string { return fmt.Sprintf("%v", path) }
