package machine

import (
	"encoding/xml"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/xmlpatch"
)

// prefix stands for metadata.Machine in a domain's XML.
const prefix = "virtcluster"

// Mark is what the provider writes into a domain's metadata: what libvirt has no place for, so that it can
// be read back, by another machine and by an import.
type Mark struct {
	XMLName xml.Name `xml:"node"`
	// Owner and Workspace say which resource of which state made the machine or changed it last (owner.Mark); "" in a mark of
	// an older version of the provider.
	Owner     string `xml:"owner,attr,omitempty"`
	Workspace string `xml:"workspace,attr,omitempty"`
	Role      string `xml:"role,attr,omitempty"`
	// Creating is the run (owner.Run) that makes the machine, from the first step of its create to its last: where that run has ended,
	// a domain that has it was left behind, and no state knows it. Older versions of the provider wrote "true".
	Creating string `xml:"creating,attr,omitempty"`
	// Butane says that the Ignition configuration was written as Butane.
	Butane bool `xml:"butane,attr,omitempty"`
	// Store is nil where the variable store, if there is one, was made for the machine's firmware.
	Store *MarkedStore `xml:"store"`
	// Settings are nil in a mark of an older version of the provider.
	Settings *Settings `xml:"settings"`
	// CDROM is what the configuration wants in the drive for media; nil where it says nothing of it.
	CDROM *CDROM `xml:"cdrom"`
	// Departure and Arrival are nil but while the machine goes to another hypervisor.
	Departure *Departure    `xml:"departure"`
	Arrival   *Arrival      `xml:"arrival"`
	Labels    []MarkedLabel `xml:"label"`
	// Patched are the places of the machine's patch.
	Patched    []xmlpatch.Place  `xml:"patched"`
	Disks      []MarkedDisk      `xml:"disk"`
	Interfaces []MarkedInterface `xml:"interface"`
}

// MarkedStore is a UEFI variable store of a firmware that the machine had before: a start would use it as it is,
// without the new firmware's keys, and nothing else removes it once the firmware is a BIOS.
type MarkedStore struct {
	// Firmware is "uefi" or "uefi-secure".
	Firmware string `xml:"firmware,attr"`
	// Path is "" where libvirt chose the file.
	Path string `xml:"path,attr,omitempty"`
}

// MarkedLabel is one label.
type MarkedLabel struct {
	Name  string `xml:"name,attr"`
	Value string `xml:",chardata"`
}

// MarkedDisk says which disk is which, and names the volume where it is the machine's own.
type MarkedDisk struct {
	Key    string `xml:"key,attr"`
	Target string `xml:"target,attr,omitempty"`
	Pool   string `xml:"pool,attr,omitempty"`
	Volume string `xml:"volume,attr,omitempty"`
	// Attached says of the root disk that it outlives the machine; the others say so by having no volume.
	Attached bool `xml:"attached,attr,omitempty"`
	// Making is set from before the volume is made to the end of the change that makes it. It is an intention, and proves nothing about
	// a volume of the name: that carries a mark of its own.
	Making bool `xml:"making,attr,omitempty"`
	// Leaving is set while the disk is being unplugged for good: the guest may let go of it after everybody has gone.
	Leaving bool `xml:"leaving,attr,omitempty"`
}

// MarkedInterface is an interface as the guest was told to configure it. Lists are separated by spaces, a
// route is CIDR>VIA.
type MarkedInterface struct {
	MAC       string `xml:"mac,attr"`
	Name      string `xml:"name,attr,omitempty"`
	Addresses string `xml:"addresses,attr,omitempty"`
	Gateway   string `xml:"gateway,attr,omitempty"`
	// OVN is the id of the network of OVN that the interface is on, and IP the address that it was given there.
	OVN         string `xml:"ovn,attr,omitempty"`
	IP          string `xml:"ip,attr,omitempty"`
	Routes      string `xml:"routes,attr,omitempty"`
	Nameservers string `xml:"nameservers,attr,omitempty"`
	// Allowed are the addresses that the anti-spoofing filter passes beside the machine's own.
	Allowed string `xml:"allowed,attr,omitempty"`
	// IPv6 is the address that the network's DHCP keeps, and Hostname the name that it is kept for: such a
	// reservation says nothing about the machine that it belongs to. Without a reservation nothing else knows the name.
	IPv6     string `xml:"ipv6,attr,omitempty"`
	Hostname string `xml:"hostname,attr,omitempty"`
	// Rules are the security rules; those that name a machine have its name.
	Rules []SecurityRule `xml:"rule"`
}

// buildMark returns what the domain's metadata say about the inside of an interface of a machine.
func (i *InterfaceSpec) buildMark(machine string) MarkedInterface {
	var routes []string
	for _, r := range i.Routes {
		routes = append(routes, r.CIDR.String()+">"+r.Via.String())
	}
	k := MarkedInterface{
		MAC: i.MAC, Name: i.Name, OVN: i.OVNNetwork, Addresses: spellFields(i.Addresses), Gateway: spellAddress(i.Gateway), Routes: strings.Join(routes, " "),
		Nameservers: spellFields(i.Nameservers), Allowed: strings.Join(i.AllowedAddresses, " "), Rules: i.SecurityRules,
	}
	if i.IPv6.IsValid() || !i.IP.IsValid() && i.Hostname != machine {
		k.IPv6, k.Hostname = spellAddress(i.IPv6), i.Hostname
	}
	if i.OVNNetwork != "" {
		k.IP = spellAddress(i.IP)
	}
	return k
}

// toSpec returns what an interface's mark says about its inside. What somebody made unreadable is not there.
func (k *MarkedInterface) toSpec() InterfaceSpec {
	i := InterfaceSpec{
		Name: k.Name, Addresses: parseFields(k.Addresses, netip.ParsePrefix), Nameservers: parseFields(k.Nameservers, netip.ParseAddr), AllowedAddresses: strings.Fields(k.Allowed),
	}
	i.Gateway, _ = netip.ParseAddr(k.Gateway)
	for _, r := range strings.Fields(k.Routes) {
		cidr, via, _ := strings.Cut(r, ">")
		to, err := netip.ParsePrefix(cidr)
		by, err2 := netip.ParseAddr(via)
		if err == nil && err2 == nil {
			i.Routes = append(i.Routes, Route{to, by})
		}
	}
	return i
}

// spellFields returns addresses as one attribute of a mark, and parseFields reads them.
func spellFields[T fmt.Stringer](all []T) string { return strings.Trim(fmt.Sprint(all), "[]") }

func parseFields[T any](text string, parse func(string) (T, error)) []T {
	var all []T
	for _, field := range strings.Fields(text) {
		if one, err := parse(field); err == nil {
			all = append(all, one)
		}
	}
	return all
}

// spellAddress returns an address as text; "" for an invalid one.
func spellAddress(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// ownerMark returns the mark of the resource that the machine belongs to; the zero Mark where no resource marked it.
func (k *Mark) ownerMark() owner.Mark {
	return owner.Mark{ID: k.Owner, Workspace: k.Workspace, Creating: k.Creating}
}

// listVolumes returns the volumes that the mark names.
func (k *Mark) listVolumes() []VolumeRef {
	var all []VolumeRef
	for _, d := range k.Disks {
		if d.Volume != "" {
			all = append(all, VolumeRef{d.Pool, d.Volume})
		}
	}
	return all
}

// setMaking notes which of the volumes that the mark names are about to be made; none for nil.
func (k *Mark) setMaking(volumes []ownVolume) {
	for i := range k.Disks {
		k.Disks[i].Making = slices.ContainsFunc(volumes, func(v ownVolume) bool { return v.key == k.Disks[i].Key })
	}
}

// IsPresent says whether the provider wrote the mark.
func (k *Mark) IsPresent() bool { return k.XMLName.Space == metadata.Machine }

// findKey finds a disk's key by its target; "" where the mark does not know it.
func (k *Mark) findKey(target string) string {
	for _, d := range k.Disks {
		if d.Target != "" && d.Target == target {
			return d.Key
		}
	}
	return ""
}

// Disk finds a disk by its key; the zero value where the mark has none.
func (k *Mark) Disk(key string) MarkedDisk {
	for _, d := range k.Disks {
		if d.Key == key {
			return d
		}
	}
	return MarkedDisk{}
}

// Interface finds an interface by its MAC address; the zero value where the mark has none.
func (k *Mark) Interface(mac string) MarkedInterface {
	for _, i := range k.Interfaces {
		if i.MAC == mac {
			return i
		}
	}
	return MarkedInterface{}
}

// RenderMark renders the mark, without a namespace, as libvirt takes it for a domain's metadata: it adds the
// namespace itself. The targets of the machine's disks are filled in.
func (m *Machine) RenderMark() (string, error) {
	k := m.Mark
	k.XMLName = xml.Name{Local: metadata.MachineElement}
	k.Disks = append([]MarkedDisk(nil), k.Disks...)
	for i := range k.Disks {
		if disk := m.Disk(k.Disks[i].Key); disk != nil {
			k.Disks[i].Target = disk.Target
		}
	}
	text, err := xml.Marshal(k)
	if err != nil {
		return "", fmt.Errorf("cannot render the node's metadata: %w", err)
	}
	return string(text), nil
}

// qualifyElement puts an element into the provider's namespace, as it stands in a domain's XML.
func qualifyElement(element string) string {
	const name = metadata.MachineElement
	inside, closed := strings.CutSuffix(strings.TrimPrefix(element, "<"+name), "</"+name+">")
	if closed {
		inside += "</" + prefix + ":" + name + ">"
	}
	return "<" + prefix + ":" + name + " xmlns:" + prefix + "=\"" + metadata.Machine + "\"" + inside
}

// applyMark replaces the provider's element and leaves what others keep in the metadata.
func applyMark(d *libvirtxml.Domain, m *Machine) error {
	element, err := m.RenderMark()
	if err != nil {
		return err
	}
	if d.Metadata == nil {
		d.Metadata = &libvirtxml.DomainMetadata{}
	}
	start, end, _, err := metadata.FindMachine(d.Metadata.XML)
	if err != nil {
		return err
	}
	d.Metadata.XML = d.Metadata.XML[:start] + qualifyElement(element) + d.Metadata.XML[end:]
	return nil
}

// readMark reads the provider's element; the zero value where there is none.
func readMark(d *libvirtxml.Domain) (Mark, error) {
	var k Mark
	if d.Metadata == nil {
		return k, nil
	}
	start, end, _, err := metadata.FindMachine(d.Metadata.XML)
	if err != nil || start == end {
		return k, err
	}
	if err := xml.Unmarshal([]byte(d.Metadata.XML[start:end]), &k); err != nil {
		return Mark{}, fmt.Errorf("cannot understand the node's metadata: %w", err)
	}
	return k, nil
}
