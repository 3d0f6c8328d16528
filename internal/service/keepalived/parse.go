package keepalived

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// instance reads a vrrp_instance block. It is the inverse of Render, except that keepalived has no names for tracked interfaces: such
// a track is called like its interface.
func (c config) instance(k chunk) (Instance, error) {
	block := k.node
	in := Instance{
		Name: block.word(1), Owner: k.owner(), PasswordVersion: k.passwordVersion(), State: "BACKUP", Priority: 100, Version: 2, AdvertInterval: 1,
	}
	r := reader{in: &in, config: c}
	for _, n := range block.children {
		r.statement(n)
	}
	if in.Version == 2 && len(in.Addresses) > 0 && in.Addresses[0].Addr().Is6() {
		in.Version = 3 // as keepalived has it: version 2 has no IPv6
	}
	slices.SortFunc(in.Peers, netip.Addr.Compare)
	in.SyncGroup = c.syncGroupOf(in.Name)
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

func (r *reader) statement(n node) {
	in := r.in
	switch key := n.keyword(); key {
	case "state":
		in.State = n.word(1)
	case "interface":
		in.Interface = n.word(1)
	case "virtual_router_id":
		in.RouterID = r.number(n)
	case "priority":
		in.Priority = r.number(n)
	case "version":
		in.Version = r.number(n)
	case "advert_int":
		in.AdvertInterval = r.seconds(n)
	case "nopreempt":
		in.NoPreempt = true
	case "preempt_delay":
		in.PreemptDelay = int(r.seconds(n))
	case "unicast_src_ip", "mcast_src_ip":
		in.Source = r.address(n.word(1))
	case "unicast_peer":
		for _, peer := range n.children {
			in.Peers = append(in.Peers, r.address(peer.word(0)))
		}
		in.Unicast = len(in.Peers) > 0
	case "authentication":
		for _, a := range n.children {
			if a.keyword() == "auth_pass" {
				in.AuthPass = a.word(1)
			}
		}
	case "virtual_ipaddress":
		in.Addresses = append(in.Addresses, r.prefixes(n)...)
	case "virtual_ipaddress_excluded":
		in.MoreAddresses = append(in.MoreAddresses, r.prefixes(n)...)
	case "track_script", "track_process", "track_interface":
		r.tracks(n)
	default:
		if strings.HasPrefix(key, "garp_") {
			if in.GARP == nil {
				in.GARP = map[string]int{}
			}
			in.GARP[key] = r.number(n)
		}
	}
}

// tracks reads the lines of a track block: a name and possibly a weight.
func (r *reader) tracks(n node) {
	for _, line := range n.children {
		t := Track{Name: strings.TrimPrefix(line.word(0), r.in.Name+".")}
		switch n.keyword() {
		case "track_interface":
			t.Name, t.Interface = line.word(0), line.word(0)
		case "track_script":
			r.script(line.word(0), &t)
		case "track_process":
			r.process(line.word(0), &t)
		}
		if line.word(1) == "weight" {
			t.Weight = r.integer(line.word(2))
		}
		r.in.Track = append(r.in.Track, t)
	}
}

// script reads a vrrp_script block. One that is missing leaves an empty script: keepalived ignores it.
func (r *reader) script(name string, t *Track) {
	t.Interval, t.Rise, t.Fall = 1, 1, 1
	block, _ := r.config.find("vrrp_script", name)
	for _, n := range block.node.children {
		switch n.keyword() {
		case "script":
			t.Script = strings.Join(n.words[1:], " ")
		case "interval":
			t.Interval = int(r.seconds(n))
		case "timeout":
			t.Timeout = int(r.seconds(n))
		case "weight":
			t.Weight = r.number(n)
		case "rise":
			t.Rise = r.number(n)
		case "fall":
			t.Fall = r.number(n)
		case "user":
			t.User = n.word(1)
		}
	}
}

func (r *reader) process(name string, t *Track) {
	block, _ := r.config.find("vrrp_track_process", name)
	for _, n := range block.node.children {
		switch n.keyword() {
		case "process":
			t.Process = strings.Join(n.words[1:], " ")
		case "weight":
			t.Weight = r.number(n)
		}
	}
}

func (r *reader) number(n node) int { return r.integer(n.word(1)) }

func (r *reader) integer(word string) int {
	v, err := strconv.Atoi(word)
	r.fail(err)
	return v
}

func (r *reader) seconds(n node) float64 {
	v, err := strconv.ParseFloat(n.word(1), 64)
	r.fail(err)
	return v
}

func (r *reader) address(word string) netip.Addr {
	a, err := netip.ParseAddr(word)
	r.fail(err)
	return a
}

// prefixes reads the first word of each line; a device or a label behind it is not the instance's.
func (r *reader) prefixes(n node) []netip.Prefix {
	var prefixes []netip.Prefix
	for _, line := range n.children {
		p, err := prefixOf(line.word(0))
		r.fail(err)
		prefixes = append(prefixes, p)
	}
	return prefixes
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}
