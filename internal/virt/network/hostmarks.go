package network

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/beevik/etree"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// hostsNamespace is the namespace of the notes that say whose the reservations of a network are: libvirt's <host> has no
// place for them. They stand in the configuration; what runs may have older ones.
const hostsNamespace = markerNamespace + "/hosts/1"

// hostMark says whose a reservation is.
type hostMark struct {
	// Mark is the one of the resource that has it kept; the zero Mark is no resource's.
	owner.Mark
	// Listed says that the network's own list has it, Before that it was there when it was listed, and stays when it is
	// struck out.
	Listed, Before bool
}

// onlyListed says whether a reservation is there for the network's list alone.
func (m hostMark) onlyListed() bool { return m.Listed && !m.Before && m.ID == "" }

// hostMarks are marks by the keys of their reservations.
type hostMarks map[string]hostMark

// hostMarksOf reads the marks of a configuration.
func hostMarksOf(definition string) (hostMarks, error) {
	root, err := parseXML(definition)
	if err != nil {
		return nil, err
	}
	return readHostMarks(root), nil
}

// sharedMarks are the marks of the network that was asked for last: a plan asks for each of its nodes.
var sharedMarks struct {
	sync.Mutex
	of    *hypervisor.Network
	marks hostMarks
}

// marksOf reads the marks of a network that was read; they are not to be changed.
func marksOf(n *hypervisor.Network) (hostMarks, error) {
	sharedMarks.Lock()
	defer sharedMarks.Unlock()
	if sharedMarks.of == n {
		return sharedMarks.marks, nil
	}
	marks, err := hostMarksOf(n.ConfigXML)
	if err == nil {
		sharedMarks.of, sharedMarks.marks = n, marks
	}
	return marks, err
}

func readHostMarks(root *etree.Element) hostMarks {
	marks := hostMarks{}
	element := metadataElement(root, hostsNamespace)
	if element == nil {
		return marks
	}
	for _, e := range element.ChildElements() {
		marks[attr(e, "key")] = hostMark{Mark: readMark(e), Listed: attr(e, "listed") == "yes", Before: attr(e, "before") == "yes"}
	}
	return marks
}

func writeHostMarks(root *etree.Element, marks hostMarks) {
	removeMetadata(root, metadataElement(root, hostsNamespace))
	if len(marks) == 0 {
		return
	}
	element := newElement("virtcluster-hosts:hosts", "xmlns:virtcluster-hosts", hostsNamespace)
	for _, key := range slices.Sorted(maps.Keys(marks)) {
		m := marks[key]
		e := newElement("virtcluster-hosts:host", "key", key, "listed", yes(m.Listed), "before", yes(m.Before))
		setMark(e, m.Mark)
		element.AddChild(e)
	}
	ensure(root, "metadata").AddChild(element)
}

// list notes which reservations the network lists.
func (m hostMarks) list(present []hypervisor.DHCPHost, was, want map[string]Host) {
	for mac, h := range was {
		key := h.reservation(mac).Key()
		mark := m[key]
		mark.Listed, mark.Before = false, false
		m[key] = mark
	}
	for mac, h := range want {
		key := h.reservation(mac).Key()
		mark := m[key]
		_, listed := was[mac]
		mark.Listed = true
		if !listed && mark.ID == "" {
			mark.Before = slices.ContainsFunc(present, func(p hypervisor.DHCPHost) bool { return p.Key() == key })
		}
		m[key] = mark
	}
}

// prune drops the marks of what is not there, and those that say nothing.
func (m hostMarks) prune(present []hypervisor.DHCPHost) {
	maps.DeleteFunc(m, func(key string, mark hostMark) bool {
		return mark == hostMark{} || !slices.ContainsFunc(present, func(p hypervisor.DHCPHost) bool { return p.Key() == key })
	})
}

// reservationOf reads a <host> element.
func reservationOf(e *etree.Element) hypervisor.DHCPHost {
	address, _ := netip.ParseAddr(attr(e, "ip")) // libvirt has checked it; a host without one gets none
	return hypervisor.DHCPHost{MAC: strings.ToLower(attr(e, "mac")), ID: attr(e, "id"), IP: address, Name: attr(e, "name")}
}
