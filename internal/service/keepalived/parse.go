package keepalived

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// readInstance reads a vrrp_instance block. It is the inverse of Render, except that keepalived has no names for tracked interfaces: such
// a track is called like its interface.
func (c config) readInstance(k chunk) (Instance, error) {
	block := k.node
	in := Instance{
		Name: block.wordAt(1), Owner: k.ownerMark(), PasswordVersion: k.passwordVersion(), State: "BACKUP", Priority: 100, AdvertInterval: 1,
	}
	r := reader{in: &in, config: c}
	in.Version = r.readInteger(c.globalSetting("vrrp_version", "2"))
	for _, n := range block.children {
		_ = r.readStatement(n) // what has no attribute stays as it is: keptOf
	}
	if in.Version == 2 && len(in.Addresses) > 0 && in.Addresses[0].Addr().Is6() {
		in.Version = 3 // as keepalived has it: version 2 has no IPv6
	}
	slices.SortFunc(in.Peers, netip.Addr.Compare)
	in.SyncGroup, in.kept = c.syncGroupOf(in.Name), c.keptOf(in.Name)
	if r.err != nil {
		return in, fmt.Errorf("parse vrrp_instance %s: %w", in.Name, r.err)
	}
	return in, nil
}

// reader keeps the first error.
type reader struct {
	in     *Instance
	config config
	err    error
}

// readStatement reads a statement of an instance, and says whether there is a value for it.
func (r *reader) readStatement(n node) bool {
	in := r.in
	switch key := n.firstWord(); key {
	case "state":
		in.State = n.wordAt(1)
	case "interface":
		in.Interface = n.wordAt(1)
	case "virtual_router_id":
		in.RouterID = r.readNumber(n)
	case "priority":
		in.Priority = r.readNumber(n)
	case "version":
		in.Version = r.readNumber(n)
	case "advert_int":
		in.AdvertInterval = r.readSeconds(n)
	case "nopreempt":
		in.NoPreempt = true
	case "preempt": // what it does anyway
	case "preempt_delay":
		in.PreemptDelay = r.readWholeSeconds(n)
	case "unicast_src_ip", "mcast_src_ip":
		in.Source = r.readAddress(n.wordAt(1))
	case "unicast_peer":
		for _, peer := range n.children {
			in.Peers = append(in.Peers, r.readAddress(peer.wordAt(0)))
		}
		in.Unicast = len(in.Peers) > 0
	case "authentication":
		for _, a := range n.children {
			switch kind := a.wordAt(1); {
			case a.firstWord() == "auth_pass":
				in.AuthPass = kind
			case kind != "PASS":
				r.noteError(fmt.Errorf("%s is %s, and only PASS can be managed", a.firstWord(), kind))
			}
		}
	case "virtual_ipaddress":
		in.Addresses = append(in.Addresses, r.readPrefixes(n)...)
	case "virtual_ipaddress_excluded":
		in.MoreAddresses = append(in.MoreAddresses, r.readPrefixes(n)...)
	case "track_script", "track_process", "track_interface":
		r.readTracks(n)
	default:
		if strings.HasPrefix(key, "@") {
			r.noteError(fmt.Errorf("%s is a condition, and what is under one cannot be managed", key))
		}
		if name, is := strings.CutPrefix(key, "garp_"); !is || !slices.Contains(GARPKeys, name) {
			return false
		}
		if in.GARP == nil {
			in.GARP = map[string]int{}
		}
		in.GARP[key] = r.readNumber(n)
	}
	return true
}

// readTracks reads the lines of a track block: a name and possibly a weight.
func (r *reader) readTracks(n node) {
	for _, line := range n.children {
		t := Track{Name: strings.TrimPrefix(line.wordAt(0), r.in.Name+".")}
		switch n.firstWord() {
		case "track_interface":
			t.Name, t.Interface = line.wordAt(0), line.wordAt(0)
		case "track_script":
			r.readScript(line.wordAt(0), &t)
		case "track_process":
			r.readProcess(line.wordAt(0), &t)
		}
		if line.wordAt(1) == "weight" && len(line.words) > 2 {
			t.Weight = r.readInteger(line.wordAt(2))
		}
		r.in.Track = append(r.in.Track, t)
	}
}

// readScript reads a vrrp_script block. One that is missing leaves an empty script: keepalived ignores it.
func (r *reader) readScript(name string, t *Track) {
	t.Interval, t.Rise, t.Fall, t.User = 1, 1, 1, r.config.scriptUser()
	block, _ := r.config.findBlock("vrrp_script", name)
	for _, n := range block.node.children {
		_ = r.readTrackStatement(n, t)
	}
}

// readTrackStatement reads a statement of a vrrp_script block, or of a vrrp_track_process block, and says whether there is a value for all of it.
func (r *reader) readTrackStatement(n node, t *Track) bool {
	switch n.firstWord() {
	case "process":
		t.Process = strings.Join(n.words[1:], " ")
	case "script":
		t.Script = strings.Join(n.words[1:], " ")
	case "interval":
		t.Interval = r.readWholeSeconds(n)
	case "timeout":
		t.Timeout = r.readWholeSeconds(n)
	case "weight":
		t.Weight = r.readNumber(n)
		return len(n.words) == 2
	case "rise":
		t.Rise = r.readNumber(n)
	case "fall":
		t.Fall = r.readNumber(n)
	case "user":
		t.User = n.wordAt(1)
		return len(n.words) == 2
	default:
		return false
	}
	return true
}

// scriptUser returns the user that keepalived runs a script as which names none: that of global_defs, or root. keepalived prefers an account
// "keepalived_script" to root where a machine has one; no distribution makes it.
func (c config) scriptUser() string { return c.globalSetting("script_user", "root") }

// globalSetting returns the first word of what global_defs say, or what keepalived takes where they say nothing.
func (c config) globalSetting(keyword, otherwise string) string {
	for _, k := range c.chunks {
		if k.node.firstWord() != "global_defs" {
			continue
		}
		for _, n := range k.node.children {
			if n.firstWord() == keyword {
				otherwise = n.wordAt(1)
			}
		}
	}
	return otherwise
}

func (r *reader) readProcess(name string, t *Track) {
	block, _ := r.config.findBlock("vrrp_track_process", name)
	for _, n := range block.node.children {
		_ = r.readTrackStatement(n, t)
	}
}

func (r *reader) readNumber(n node) int { return r.readInteger(n.wordAt(1)) }

func (r *reader) readInteger(word string) int {
	v, err := strconv.Atoi(word)
	r.noteNumber(word, err)
	return v
}

// noteNumber notes why a word was not read as a number.
func (r *reader) noteNumber(word string, err error) {
	if err != nil && strings.HasPrefix(word, "$") {
		err = fmt.Errorf("%s is a variable of keepalived's, and only a number that stands in its place can be managed", word)
	}
	r.noteError(err)
}

func (r *reader) readSeconds(n node) float64 {
	v, err := strconv.ParseFloat(n.wordAt(1), 64)
	r.noteNumber(n.wordAt(1), err)
	return v
}

// readWholeSeconds reads what has whole seconds here: a part of one would be lost with the next change.
func (r *reader) readWholeSeconds(n node) int {
	v := r.readSeconds(n)
	if v != math.Trunc(v) {
		r.noteError(fmt.Errorf("%s is %s, and only whole seconds can be managed", n.firstWord(), n.wordAt(1)))
	}
	return int(v)
}

func (r *reader) readAddress(word string) netip.Addr {
	a, err := netip.ParseAddr(word)
	r.noteError(err)
	return a
}

// readPrefixes reads the first word of each line; a device or a label behind it is not the instance's.
func (r *reader) readPrefixes(n node) []netip.Prefix {
	var prefixes []netip.Prefix
	for _, line := range n.children {
		p, err := prefixOf(line.wordAt(0))
		r.noteError(err)
		prefixes = append(prefixes, p)
	}
	return prefixes
}

func (r *reader) noteError(err error) {
	if r.err == nil {
		r.err = err
	}
}
