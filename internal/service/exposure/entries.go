package exposure

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// What a machine keeps: an entry for each exposure, and what is rendered from all of them, which the script makes live.
const (
	directory     = "/var/lib/virtcluster/exposure"
	entries       = directory + "/entries"
	tablePath     = directory + "/table.nft"
	acceptedPath  = directory + "/accepted"
	addressesPath = directory + "/addresses"
	scriptPath    = directory + "/exposure.sh"
	units         = "/etc/systemd/system"
	// The first unit is there before the network is, so that nothing is ever open that shall not be. The second is there when
	// the devices are that addresses go to, and what others have for what is forwarded.
	rulesUnit     = "virtcluster-exposure.service"
	addressesUnit = "virtcluster-exposure-addresses.service"
)

// script makes live what the files say (`up`), or says why it is not (`check`).
//
//go:embed exposure.sh
var script string

const rulesUnitText = `# Written by terraform-provider-virtcluster: the rules of what this machine exposes.
[Unit]
Description=Rules of what virtcluster exposes
DefaultDependencies=no
After=systemd-sysctl.service nftables.service local-fs.target
Before=network-pre.target
Wants=network-pre.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh ` + scriptPath + ` rules

[Install]
WantedBy=sysinit.target
`

const addressesUnitText = `# Written by terraform-provider-virtcluster: the addresses of what this machine exposes.
[Unit]
Description=Addresses of what virtcluster exposes
After=network-online.target libvirtd.service virtnetworkd.service docker.service
Wants=network-online.target
Before=haproxy.service

[Service]
Type=oneshot
RemainAfterExit=yes
# By itself, as a unit that runs once has Restart= from systemd 244 on only.
ExecStart=/bin/sh ` + scriptPath + ` up-later

[Install]
WantedBy=multi-user.target
`

// entry is an exposure with its owner, as its file has it.
type entry struct {
	Owner string `json:"owner"`
	Exposure
}

// Place is where an exposure is kept, for messages.
func Place(name string) string { return path.Join(entries, name+".json") }

// readEntry parses an exposure's file; transaction.ErrAbsent where there is none.
func readEntry(t transaction.Tree, name string) (entry, error) {
	f, there := t[Place(name)]
	if !there {
		return entry{}, fmt.Errorf("%q is not exposed: %w", name, transaction.ErrAbsent)
	}
	var e entry
	if err := json.Unmarshal(f.Content, &e); err != nil {
		return entry{}, fmt.Errorf("%s is damaged: %w", Place(name), err)
	}
	e.Name = name
	return e, nil
}

// readAll returns the exposures of a machine in the order of their names.
func readAll(t transaction.Tree) ([]entry, error) {
	var all []entry
	for _, file := range slices.Sorted(maps.Keys(t)) {
		if path.Dir(file) != entries {
			continue
		}
		e, err := readEntry(t, strings.TrimSuffix(path.Base(file), ".json"))
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// ListNames lists the names of the exposures of a machine that are no floating addresses, whosever they are. A damaged entry is nobody's, and is not
// among them.
func ListNames(t transaction.Tree) []string {
	return listExposures(t, func(e Exposure) string {
		if e.Kind == Floating {
			return ""
		}
		return e.Name
	})
}

// ListTargets lists the guests of a machine that have a floating address.
func ListTargets(t transaction.Tree) []string {
	return listExposures(t, func(e Exposure) string {
		if e.Kind != Floating || len(e.Targets) != 1 {
			return ""
		}
		return e.Targets[0].String()
	})
}

// listExposures lists what exposures of a machine are called, but those that are called nothing.
func listExposures(t transaction.Tree, called func(Exposure) string) (all []string) {
	for _, file := range slices.Sorted(maps.Keys(t)) {
		if path.Dir(file) != entries {
			continue
		}
		e, err := readEntry(t, strings.TrimSuffix(path.Base(file), ".json"))
		if name := called(e.Exposure); err == nil && name != "" {
			all = append(all, name)
		}
	}
	return all
}

// Find reads an exposure.
func Find(t transaction.Tree, name string) (Exposure, error) {
	e, err := readEntry(t, name)
	return e.Exposure, err
}

// Mark tells whose an exposure is; false where there is none of the name.
func Mark(t transaction.Tree, name string) (owner.Mark, bool) {
	if _, there := t[Place(name)]; !there {
		return owner.Mark{}, false
	}
	e, _ := readEntry(t, name) // a damaged one is nobody's
	return owner.Parse(e.Owner), true
}

// Set adds or changes an exposure. One that is in the way of another is refused.
func Set(t transaction.Tree, want Exposure, mark owner.Mark) error {
	if _, err := readAll(t); err != nil {
		return err
	}
	if what := Conflict(t, want, func(owner.Mark) bool { return true }); what != "" {
		return fmt.Errorf("%s: choose another address or port, or destroy that first", what)
	}
	text, err := json.MarshalIndent(entry{Owner: mark.String(), Exposure: want}, "", "  ")
	if err != nil {
		return fmt.Errorf("render exposure %q: %w", want.Name, err)
	}
	t.Put(Place(want.Name), append(text, '\n'), 0o644, "", "")
	return renderEntries(t)
}

// Drop takes an exposure away; an absent one is no error.
func Drop(t transaction.Tree, name string) error {
	if _, there := t[Place(name)]; !there {
		return nil
	}
	delete(t, Place(name))
	return renderEntries(t)
}

func describeMark(mark string) string {
	if mark == "" {
		return "nobody's"
	}
	return mark
}

// describeOverlap says what two exposures have both, "" for nothing. A port of every address is one of each address too; a floating address is
// its guest's, and no address of the machine.
func describeOverlap(a, b Exposure) string {
	everywhere := a.Kind == NodePort || b.Kind == NodePort
	switch {
	case a.addressFamily() != b.addressFamily(), !everywhere && a.Address != b.Address:
		return ""
	case everywhere && (a.Kind == Floating || b.Kind == Floating):
		return ""
	case a.Kind == Floating || b.Kind == Floating:
		return a.Address.String()
	}
	for _, name := range slices.Sorted(maps.Keys(a.Ports)) {
		for _, p := range b.Ports {
			if q := a.Ports[name]; q.Port == p.Port && q.Protocol == p.Protocol {
				return Endpoint(a, p)
			}
		}
	}
	return ""
}

// renderEntries writes what follows from the entries, or removes it with the last of them.
func renderEntries(t transaction.Tree) error {
	marked, err := readAll(t)
	if err != nil {
		return err
	}
	all := make([]Exposure, 0, len(marked))
	for _, e := range marked {
		all = append(all, e.Exposure)
	}
	files := map[string]string{
		tablePath: renderTable(all), acceptedPath: renderAccepted(all), addressesPath: renderAddresses(all), scriptPath: script,
		units + "/" + rulesUnit: rulesUnitText, units + "/" + addressesUnit: addressesUnitText,
	}
	for file, text := range files {
		if len(all) == 0 {
			delete(t, file)
			continue
		}
		t.Put(file, []byte(text), 0o644, "", "")
	}
	return nil
}

// Conflict says which exposure, of those whose owners are asked about, has what this one wants; "" for none.
func Conflict(t transaction.Tree, want Exposure, asked func(owner.Mark) bool) string {
	all, _ := readAll(t) // a damaged entry is refused when the change is made
	for _, other := range all {
		if what := describeOverlap(want, other.Exposure); what != "" && other.Name != want.Name && asked(owner.Parse(other.Owner)) {
			return fmt.Sprintf("%s is exposed by %q (%s) already", what, other.Name, describeMark(other.Owner))
		}
	}
	return ""
}

// LeadsAway says which exposure, of those whose owners are asked about, takes what comes to an address and a port of TCP before a
// program that listens there; "" for none. The zero address stands for all.
func LeadsAway(t transaction.Tree, address netip.Addr, port uint16, asked func(owner.Mark) bool) string {
	all, _ := readAll(t) // a damaged entry leads nothing anywhere
	for _, e := range all {
		if e.Kind != NodePort && e.Address != address || e.Kind == NodePort && address.IsValid() && address.Is4() != (e.addressFamily() == "ip") {
			continue
		}
		taken := e.Kind == Floating
		for _, p := range e.Translated() {
			taken = taken || p.Port == port && p.Protocol == TCP
		}
		if taken && asked(owner.Parse(e.Owner)) {
			return fmt.Sprintf("exposure %q (%s)", e.Name, describeMark(e.Owner))
		}
	}
	return ""
}

// Endpoint names what is reached of a port: "tcp port 22 of 10.0.0.5". One of every address is that of a family's.
func Endpoint(e Exposure, p Port) string {
	place := fmt.Sprintf("%s port %d", p.Protocol, p.Port)
	switch {
	case e.Address.IsValid():
		place += " of " + e.Address.String()
	case e.addressFamily() == "ip6":
		place += " of IPv6"
	}
	return place
}

// KeepsAddress says whether something that a machine exposes keeps an address on a device.
func KeepsAddress(t transaction.Tree, a netip.Addr) bool { return addressesOf(t)[a] }

// addressesOf are those that a tree's exposures put on devices.
func addressesOf(t transaction.Tree) map[netip.Addr]bool {
	on := map[netip.Addr]bool{}
	all, _ := readAll(t)
	for _, e := range all {
		if e.ConfigureAddress {
			on[e.Address] = true
		}
	}
	return on
}

// AssignNodePorts gives each port of a node_port that has none yet the lowest that nothing exposes, no program listens at and no rule of
// others leads elsewhere.
func AssignNodePorts(t transaction.Tree, want Exposure, s Survey) Exposure {
	if want.Kind != NodePort {
		return want
	}
	taken := map[Port]bool{}
	take := func(e Exposure) {
		for _, p := range e.Ports {
			taken[Port{Port: p.Port, Protocol: p.Protocol}] = true
		}
	}
	for _, l := range s.Listeners {
		taken[Port{Port: l.Port, Protocol: l.Protocol}] = true
	}
	all, _ := readAll(t) // a damaged entry is refused when the change is made
	for _, e := range all {
		if e.Kind != Floating && e.Name != want.Name && e.addressFamily() == want.addressFamily() {
			take(e.Exposure)
		}
	}
	take(want)
	want.Ports = maps.Clone(want.Ports)
	for _, name := range slices.Sorted(maps.Keys(want.Ports)) {
		p := want.Ports[name]
		for candidate := uint16(FirstNodePort); p.Port == 0 && candidate <= LastNodePort; candidate++ {
			place := Port{Port: candidate, Protocol: p.Protocol}
			if taken[place] {
				continue
			}
			want.Ports[name] = place
			if s.whoTranslates(want, name, false) == "" {
				p.Port, taken[place] = candidate, true
			}
		}
		if p.TargetPort == 0 {
			p.TargetPort = p.Port
		}
		want.Ports[name] = p
	}
	return want
}
