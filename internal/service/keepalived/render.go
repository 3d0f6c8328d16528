package keepalived

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// writer lays out blocks.
type writer struct {
	strings.Builder
	depth int
}

func (w *writer) line(format string, args ...any) {
	w.WriteString(strings.Repeat("    ", w.depth))
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

func (w *writer) open(format string, args ...any) {
	w.line(format+" {", args...)
	w.depth++
}

func (w *writer) close() {
	w.depth--
	w.line("}")
}

// list writes a block with one value on each line, or nothing.
func list[T fmt.Stringer](w *writer, keyword string, values []T) {
	if len(values) == 0 {
		return
	}
	w.open("%s", keyword)
	for _, v := range values {
		w.line("%s", v)
	}
	w.close()
}

// Render writes the instance's blocks: what it tracks, then the instance. They are the same bytes for the
// same value. The sync group is not in them: it is one block for all its instances on a machine.
func (in Instance) Render() []byte {
	var out strings.Builder
	for _, text := range in.blocks() {
		out.WriteString(text)
	}
	return []byte(out.String())
}

// blocks are the instance's top-level blocks, each by itself.
func (in Instance) blocks() []string {
	var blocks []string
	for _, t := range in.Track {
		if text := in.trackBlock(t); text != "" {
			blocks = append(blocks, text)
		}
	}
	return append(blocks, in.instanceBlock())
}

// trackName is a name that no other instance on the machine uses: keepalived's are global.
func (in Instance) trackName(t Track) string { return in.Name + "." + t.Name }

func (in Instance) trackBlock(t Track) string {
	w := &writer{}
	switch {
	case t.isScript():
		w.open("vrrp_script %s", in.trackName(t))
		w.line("script \"%s\"", in.command(t))
		w.line("interval %d", t.Interval)
		if t.Timeout > 0 {
			w.line("timeout %d", t.Timeout)
		}
		w.line("weight %d", t.Weight)
		w.line("rise %d", t.Rise)
		w.line("fall %d", t.Fall)
		w.line("user %s", t.User)
		w.close()
	case t.Process != "":
		w.open("vrrp_track_process %s", in.trackName(t))
		w.line("process \"%s\"", t.Process)
		w.line("weight %d", t.Weight)
		w.close()
	}
	return w.String()
}

func (in Instance) instanceBlock() string {
	w := &writer{}
	w.open("vrrp_instance %s", in.Name)
	w.line("state %s", in.State)
	w.line("interface %s", in.Interface)
	w.line("virtual_router_id %d", in.RouterID)
	w.line("priority %d", in.Priority)
	w.line("version %d", in.Version)
	w.line("advert_int %s", formatSeconds(in.AdvertInterval))
	if in.NoPreempt {
		w.line("nopreempt")
	}
	if in.PreemptDelay > 0 {
		w.line("preempt_delay %d", in.PreemptDelay)
	}
	if in.Unicast {
		w.line("unicast_src_ip %s", in.Source)
		list(w, "unicast_peer", in.Peers)
	} else if in.Source.IsValid() {
		w.line("mcast_src_ip %s", in.Source)
	}
	if in.AuthPass != "" {
		w.open("authentication")
		w.line("auth_type PASS")
		w.line("auth_pass %s", in.AuthPass)
		w.close()
	}
	list(w, "virtual_ipaddress", in.Addresses)
	list(w, "virtual_ipaddress_excluded", in.MoreAddresses)
	in.trackReferences(w)
	if file := in.yieldFile(); file != "" {
		list(w, "track_file", []reference{reference(file)})
	}
	for _, key := range slices.Sorted(maps.Keys(in.GARP)) {
		w.line("%s %d", key, in.GARP[key])
	}
	w.close()
	return w.String()
}

// trackReferences writes what the instance depends on.
func (in Instance) trackReferences(w *writer) {
	var scripts, interfaces, processes []reference
	for _, t := range in.Track {
		switch {
		case t.isScript():
			scripts = append(scripts, reference(in.trackName(t)))
		case t.Process != "":
			processes = append(processes, reference(in.trackName(t)))
		case t.Weight != 0:
			interfaces = append(interfaces, reference(fmt.Sprintf("%s weight %d", t.Interface, t.Weight)))
		default:
			interfaces = append(interfaces, reference(t.Interface))
		}
	}
	list(w, "track_script", scripts)
	list(w, "track_process", processes)
	list(w, "track_interface", interfaces)
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
