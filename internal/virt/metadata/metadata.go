// Package metadata says where the provider's own elements are in the metadata of what libvirt keeps: one namespace for each.
package metadata

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"libvirt.org/go/libvirtxml"
)

// The namespaces. A version of the provider reads what those before it wrote, so none of them ever changes.
const (
	// Network is that of a network's mark, which says whose it is.
	Network = "https://github.com/virtcluster/terraform-provider-virtcluster"
	// DHCP is that of the note that a network without ranges gives out reservations, and for how long. libvirt has no place for
	// it: to it, DHCP begins with the first range or reservation.
	DHCP = Network + "/dhcp/1"
	// Hosts is that of the notes that say whose the reservations of a network are: libvirt's <host> has no place for it.
	Hosts = Network + "/hosts/1"
	// Machine is that of a domain's mark.
	Machine = Network + "/node/1"
	// Turn is that of the mark of a machine that has its turn among those of its group, or waits for it.
	Turn = Network + "/turn/1"
	// Revision is that of the note which configuration a machine was started with, as far as one was replaced while it ran.
	Revision = Network + "/revision/1"
)

// MachineElement and TurnElement are the local names of a domain's marks, and revisionElement that of its revision.
const (
	MachineElement  = "node"
	TurnElement     = "turn"
	revisionElement = "revision"
)

// FindMachine returns where the mark begins and ends in a domain's metadata, and its own tag; both are the text's end where there is
// none.
func FindMachine(metadata string) (start, end int, tag xml.StartElement, err error) {
	return findElement(metadata, xml.Name{Space: Machine, Local: MachineElement})
}

// ReadTurn reads the mark of a machine's turn into a value that encoding/xml decodes, and says whether there is one.
func ReadTurn(d *libvirtxml.Domain, into any) (bool, error) {
	if d == nil || d.Metadata == nil {
		return false, nil
	}
	start, end, _, err := findElement(d.Metadata.XML, xml.Name{Space: Turn, Local: TurnElement})
	if err != nil || start == end {
		return false, err
	}
	return true, xml.Unmarshal([]byte(d.Metadata.XML[start:end]), into)
}

// RemoveTurn takes the mark of a machine's turn out of a domain's metadata; one that is not there is no error.
func RemoveTurn(d *libvirtxml.Domain) error {
	if d.Metadata == nil {
		return nil
	}
	start, end, _, err := findElement(d.Metadata.XML, xml.Name{Space: Turn, Local: TurnElement})
	if err == nil {
		d.Metadata.XML = d.Metadata.XML[:start] + d.Metadata.XML[end:]
	}
	return err
}

// SetRevision has a domain's configuration be of a revision, in place of the one that it is of.
func SetRevision(d *libvirtxml.Domain, revision string) error {
	if d.Metadata == nil {
		d.Metadata = &libvirtxml.DomainMetadata{}
	}
	start, end, _, err := findElement(d.Metadata.XML, xml.Name{Space: Revision, Local: revisionElement})
	if err == nil {
		d.Metadata.XML = d.Metadata.XML[:start] + fmt.Sprintf("<virtcluster:%s xmlns:virtcluster=%q id=%q/>", revisionElement, Revision, revision) + d.Metadata.XML[end:]
	}
	return err
}

// ReadRevision returns the revision that a domain's configuration is of, or what runs; "" where none was noted.
func ReadRevision(d *libvirtxml.Domain) string {
	if d == nil || d.Metadata == nil {
		return ""
	}
	_, _, tag, err := findElement(d.Metadata.XML, xml.Name{Space: Revision, Local: revisionElement})
	if err != nil {
		return ""
	}
	return readAttribute(tag, "id")
}

// findElement returns where an element begins and ends, and its tag; both are the text's end where there is none.
func findElement(metadata string, name xml.Name) (start, end int, tag xml.StartElement, err error) {
	decoder := xml.NewDecoder(strings.NewReader(metadata))
	for {
		before := int(decoder.InputOffset())
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return len(metadata), len(metadata), tag, nil
		}
		if err != nil {
			return 0, 0, tag, fmt.Errorf("cannot understand the domain's metadata: %w", err)
		}
		element, isStart := token.(xml.StartElement)
		if !isStart {
			continue
		}
		element = element.Copy()
		if err := decoder.Skip(); err != nil {
			return 0, 0, tag, fmt.Errorf("cannot understand the domain's metadata: %w", err)
		}
		if element.Name == name {
			return before, int(decoder.InputOffset()), element, nil
		}
	}
}

// MachineWorkspace returns the workspace of the state that a machine is in; "" where the provider did not make it, or does not know.
func MachineWorkspace(d *libvirtxml.Domain) string {
	if d == nil || d.Metadata == nil {
		return ""
	}
	_, _, tag, err := FindMachine(d.Metadata.XML)
	if err != nil {
		return ""
	}
	return readAttribute(tag, "workspace")
}

// readAttribute returns an attribute of a tag; "" where it has none of the name.
func readAttribute(tag xml.StartElement, name string) string {
	for _, a := range tag.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
