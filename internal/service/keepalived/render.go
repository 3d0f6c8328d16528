package keepalived

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// writer lays out blocks.
type writer struct {
	strings.Builder
	depth int
}

func (w *writer) writeLine(format string, args ...any) {
	w.WriteString(strings.Repeat("    ", w.depth))
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

func (w *writer) openBlock(format string, args ...any) {
	w.writeLine(format+" {", args...)
	w.depth++
}

func (w *writer) closeBlock() {
	w.depth--
	w.writeLine("}")
}

// writeList writes a block with one value on each line, or nothing.
func writeList[T fmt.Stringer](w *writer, keyword string, values []T) {
	if len(values) == 0 {
		return
	}
	w.openBlock("%s", keyword)
	for _, v := range values {
		w.writeLine("%s", v)
	}
	w.closeBlock()
}

// Render writes the instance's blocks: what it tracks, then the instance. They are the same bytes for the
// same value. The sync group is not in them: it is one block for all its instances on a machine.
func (in Instance) Render() []byte {
	var out strings.Builder
	for _, text := range in.listBlocks(kept{}) {
		out.WriteString(text)
	}
	return []byte(out.String())
}

// listBlocks are the instance's top-level blocks, each by itself, with what is kept of a block that was there.
func (in Instance) listBlocks(more kept) []string {
	var blocks []string
	for _, t := range in.Track {
		if text := in.trackBlock(t); text != "" {
			blocks = append(blocks, text)
		}
	}
	return append(blocks, in.instanceBlock(more))
}

// trackName is a name that no other instance on the machine uses: keepalived's are global.
func (in Instance) trackName(t Track) string { return in.Name + "." + t.Name }

func (in Instance) trackBlock(t Track) string {
	w := &writer{}
	switch {
	case t.isScript():
		w.openBlock("vrrp_script %s", in.trackName(t))
		w.writeLine("script \"%s\"", in.scriptCommand(t))
		w.writeLine("interval %d", t.Interval)
		if t.Timeout > 0 {
			w.writeLine("timeout %d", t.Timeout)
		}
		w.writeLine("weight %d", t.Weight)
		w.writeLine("rise %d", t.Rise)
		w.writeLine("fall %d", t.Fall)
		w.writeLine("user %s", t.User)
		w.closeBlock()
	case t.Process != "":
		w.openBlock("vrrp_track_process %s", in.trackName(t))
		w.writeLine("process \"%s\"", t.Process)
		w.writeLine("weight %d", t.Weight)
		w.closeBlock()
	}
	return w.String()
}

func (in Instance) instanceBlock(more kept) string {
	w := &writer{}
	w.openBlock("vrrp_instance %s", in.Name)
	w.writeLine("state %s", in.State)
	w.writeLine("interface %s", in.Interface)
	w.writeLine("virtual_router_id %d", in.RouterID)
	w.writeLine("priority %d", in.Priority)
	w.writeLine("version %d", in.Version)
	w.writeLine("advert_int %s", formatSeconds(in.AdvertInterval))
	if in.NoPreempt {
		w.writeLine("nopreempt")
	}
	if in.PreemptDelay > 0 {
		w.writeLine("preempt_delay %d", in.PreemptDelay)
	}
	if in.Unicast {
		w.writeLine("unicast_src_ip %s", in.Source)
		writeAddresses(w, "unicast_peer", in.Peers, more.behindPeers)
	} else if in.Source.IsValid() {
		w.writeLine("mcast_src_ip %s", in.Source)
	}
	if in.AuthPass != "" {
		w.openBlock("authentication")
		w.writeLine("auth_type PASS")
		w.writeLine("auth_pass %s", in.AuthPass)
		w.closeBlock()
	}
	writeAddresses(w, "virtual_ipaddress", in.Addresses, more.behind)
	writeAddresses(w, "virtual_ipaddress_excluded", in.MoreAddresses, more.behind)
	in.trackReferences(w, more.behindTracks)
	writeList(w, "track_file", in.yieldFiles())
	for _, key := range slices.Sorted(maps.Keys(in.GARP)) {
		w.writeLine("%s %d", key, in.GARP[key])
	}
	for _, n := range more.statements {
		w.writeNode(n)
	}
	w.closeBlock()
	return w.String()
}

// trackReferences writes what the instance depends on, each with what stands behind it.
func (in Instance) trackReferences(w *writer, behind map[trackRef][]string) {
	lines := map[string][]reference{}
	for _, t := range in.Track {
		keyword, words := "track_script", []string{in.trackName(t)}
		switch {
		case t.isScript():
		case t.Process != "":
			keyword = "track_process"
		default:
			keyword, words = "track_interface", []string{t.Interface}
			if t.Weight != 0 {
				words = append(words, "weight", strconv.Itoa(t.Weight))
			}
		}
		words = append(words, quoteWords(behind[trackRef{keyword, t.Name}])...)
		lines[keyword] = append(lines[keyword], reference(strings.Join(words, " ")))
	}
	for _, keyword := range []string{"track_script", "track_process", "track_interface"} {
		writeList(w, keyword, lines[keyword])
	}
}

// reference is a line that names something.
type reference string

func (r reference) String() string { return string(r) }

// prefixOf reads an address as keepalived does: without a length it is a single one.
func prefixOf(word string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(word); err == nil {
		return p, nil
	}
	a, err := netip.ParseAddr(word)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}
