package keepalived

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Found is what one machine serves of a VIP.
type Found struct {
	ID       string
	Instance Instance
	// LostSource is set where the machine does not have the address that its instance speaks from.
	LostSource bool
}

// Merge puts a VIP together from what its machines serve. known is what it is meant to be, or nil: where the
// machines say different things, the one that differs from known is told, so that it shows. ids are all
// members in their order; kept are those that could not be asked and are taken as known.
func Merge(found []Found, known *VIP, ids, kept []string) VIP {
	found = keepBelonging(found, known)
	m := merger{found: found, known: known}
	if known == nil {
		m.known = &VIP{}
	}
	v := VIP{
		Name:            pickOther(m, known, func(in Instance) string { return in.Name }, func(k *VIP) string { return k.Name }),
		RouterID:        pickOther(m, known, func(in Instance) int { return in.RouterID }, func(k *VIP) int { return k.RouterID }),
		Version:         pickOther(m, known, func(in Instance) int { return in.Version }, func(k *VIP) int { return k.Version }),
		AdvertInterval:  pickOther(m, known, func(in Instance) float64 { return in.AdvertInterval }, func(k *VIP) float64 { return k.AdvertInterval }),
		AuthPass:        pickOther(m, known, func(in Instance) string { return in.AuthPass }, func(k *VIP) string { return k.AuthPass }),
		PasswordVersion: pickOther(m, known, func(in Instance) string { return in.PasswordVersion }, func(k *VIP) string { return k.PasswordVersion }),
		Preempt:         !pickOther(m, known, func(in Instance) bool { return in.NoPreempt }, func(k *VIP) bool { return !k.Preempt }),
		PreemptDelay:    pickOther(m, known, func(in Instance) int { return in.PreemptDelay }, func(k *VIP) int { return k.PreemptDelay }),
		SyncGroup:       pickOther(m, known, func(in Instance) string { return in.SyncGroup }, func(k *VIP) string { return k.SyncGroup }),
		Addresses:       m.mergeAddresses(),
		Track:           m.mergeTrack(),
		GARP:            m.mergeGARP(),
	}
	for _, id := range ids {
		if i := slices.IndexFunc(found, func(f Found) bool { return f.ID == id }); i >= 0 {
			v.Members = append(v.Members, found[i].toMember())
		} else if slices.Contains(kept, id) {
			v.Members = append(v.Members, m.known.Members[slices.IndexFunc(m.known.Members, func(k Member) bool { return k.ID == id })])
		}
	}
	v.Unicast = m.isUnicast(v)
	return v
}

// toMember is what one machine tells of itself. It has no address where it has lost the one that it spoke from.
func (f Found) toMember() Member {
	in := f.Instance
	m := Member{ID: f.ID, Interface: in.Interface, Address: in.Source, Priority: in.Priority, State: in.State}
	if f.LostSource {
		m.Address = netip.Addr{}
	}
	return m
}

// keepBelonging leaves out instances with another virtual router id than is known, as long as one has the known
// one: they take no part in the VIP, and so show as members that are missing.
func keepBelonging(found []Found, known *VIP) []Found {
	if known == nil {
		return found
	}
	same := slices.DeleteFunc(slices.Clone(found), func(f Found) bool { return f.Instance.RouterID != known.RouterID })
	if len(same) == 0 {
		return found
	}
	return same
}

type merger struct {
	found []Found
	known *VIP
}

// pickOther returns the first value that is not the known one.
func pickOther[T comparable](m merger, known *VIP, of func(Instance) T, meant func(*VIP) T) T {
	if known == nil {
		return of(m.found[0].Instance)
	}
	for _, f := range m.found {
		if got := of(f.Instance); got != meant(known) {
			return got
		}
	}
	return meant(known)
}

// findDiffering returns the first instance for which same is false, or the first of all.
func (m merger) findDiffering(same func(Instance) bool) Instance {
	for _, f := range m.found {
		if !same(f.Instance) {
			return f.Instance
		}
	}
	return m.found[0].Instance
}

// mergeAddresses come in the known order, as far as that goes.
func (m merger) mergeAddresses() []netip.Prefix {
	sorted := func(all []netip.Prefix) []netip.Prefix {
		return slices.SortedFunc(slices.Values(all), netip.Prefix.Compare)
	}
	got := m.findDiffering(func(in Instance) bool { return slices.Equal(sorted(in.All()), sorted(m.known.Addresses)) }).All()
	return inOrder(got, m.known.Addresses, func(a, b netip.Prefix) bool { return a == b })
}

// mergeTrack gives tracked interfaces, which have no names on the machine, the names that are known for them.
func (m merger) mergeTrack() []Track {
	named := func(in Instance) []Track {
		tracks := slices.Clone(in.Track)
		for i, t := range tracks {
			for _, k := range m.known.Track {
				if t.Interface != "" && k.Interface == t.Interface {
					tracks[i].Name = k.Name
				}
			}
		}
		return inOrder(tracks, m.known.Track, func(a, b Track) bool { return a.Name == b.Name })
	}
	return named(m.findDiffering(func(in Instance) bool { return slices.Equal(named(in), m.known.Track) }))
}

func (m merger) mergeGARP() map[string]int {
	return m.findDiffering(func(in Instance) bool { return maps.Equal(in.GARP, m.known.GARP) }).GARP
}

// isUnicast says whether every member speaks to every other one: a peer list that lacks one means two owners.
func (m merger) isUnicast(v VIP) bool {
	members := m.known.Members
	if len(members) == 0 {
		members = v.Members
	}
	if len(members) < 2 {
		// A lone member has no peers to tell by.
		return m.known.Unicast || m.known.Name == ""
	}
	for _, f := range m.found {
		var peers []netip.Addr
		for _, member := range members {
			if member.ID != f.ID {
				peers = addAddress(peers, m.addressOf(member))
			}
		}
		if !f.Instance.Unicast || !slices.Equal(peers, f.Instance.Peers) {
			return false
		}
	}
	return true
}

// addressOf is what a member speaks from, or is meant to. A machine that has lost that address shows as such
// and not as peers that do not know it.
func (m merger) addressOf(member Member) netip.Addr {
	for _, f := range m.found {
		if f.ID == member.ID && !(f.LostSource && member.Address.IsValid()) {
			return f.Instance.Source
		}
	}
	return member.Address
}

// inOrder sorts values as they stand in a model; what the model does not have comes last.
func inOrder[T any](values, model []T, same func(a, b T) bool) []T {
	rank := func(v T) int {
		if i := slices.IndexFunc(model, func(m T) bool { return same(m, v) }); i >= 0 {
			return i
		}
		return len(model)
	}
	sorted := slices.Clone(values)
	slices.SortStableFunc(sorted, func(a, b T) int { return rank(a) - rank(b) })
	return sorted
}

// kept is what of an instance's block no value says, and stays in it: a person's statements, and what stands behind an address, such as its
// device, behind that of a peer, or behind what is tracked, by the track block's keyword and the name without the instance's.
type kept struct {
	statements   []node
	behind       map[netip.Prefix][]string
	behindPeers  map[netip.Addr][]string
	behindTracks map[trackRef][]string
}

// trackRef is a line of a track block.
type trackRef struct{ keyword, name string }

// keptOf returns what of the block of an instance no value says.
func (c config) keptOf(name string) kept {
	all := kept{behind: map[netip.Prefix][]string{}, behindPeers: map[netip.Addr][]string{}, behindTracks: map[trackRef][]string{}}
	block, _ := c.findBlock("vrrp_instance", name)
	for _, n := range block.node.children {
		r := reader{in: &Instance{}, config: c}
		switch {
		case n.firstWord() == "track_file":
			n.children = slices.DeleteFunc(slices.Clone(n.children), func(line node) bool { return line.wordAt(0) == yieldName || line.wordAt(0) == leaveName })
			if len(n.children) > 0 {
				all.statements = append(all.statements, n)
			}
		case !r.readStatement(n):
			all.statements = append(all.statements, n)
		case strings.HasPrefix(n.firstWord(), "virtual_ipaddress"):
			for _, line := range n.children {
				if p, err := prefixOf(line.wordAt(0)); err == nil && len(line.words) > 1 {
					all.behind[p] = line.words[1:]
				}
			}
		case strings.HasPrefix(n.firstWord(), "track_"):
			for _, line := range n.children {
				words := line.words
				if line.wordAt(1) == "weight" && len(words) > 2 {
					words = slices.Delete(slices.Clone(words), 1, 3)
				}
				if len(words) > 1 {
					all.behindTracks[trackRef{n.firstWord(), strings.TrimPrefix(words[0], name+".")}] = words[1:]
				}
			}
		case n.firstWord() == "unicast_peer":
			for _, line := range n.children {
				if a, err := netip.ParseAddr(line.wordAt(0)); err == nil && len(line.words) > 1 {
					all.behindPeers[a] = line.words[1:]
				}
			}
		}
	}
	return all
}

// writeAddresses writes a block of addresses, each with what stands behind it.
func writeAddresses[T interface {
	comparable
	fmt.Stringer
}](w *writer, keyword string, addresses []T, behind map[T][]string) {
	var lines []reference
	for _, a := range addresses {
		lines = append(lines, reference(strings.Join(append([]string{a.String()}, quoteWords(behind[a])...), " ")))
	}
	writeList(w, keyword, lines)
}

// writeNode writes a statement as it was read, but for its white space and comments.
func (w *writer) writeNode(n node) {
	words := strings.Join(quoteWords(n.words), " ")
	if !n.block {
		w.writeLine("%s", words)
		return
	}
	w.openBlock("%s", words)
	for _, inner := range n.children {
		w.writeNode(inner)
	}
	w.closeBlock()
}

// quoteWords puts words into quotes that would be several, or none, without.
func quoteWords(words []string) []string {
	quoted := slices.Clone(words)
	for i, word := range quoted {
		if word == "" || strings.ContainsAny(word, blanks+"{}#!") {
			quoted[i] = `"` + word + `"`
		}
	}
	return quoted
}
