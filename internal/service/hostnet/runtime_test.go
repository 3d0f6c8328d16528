package hostnet

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// kernel is what a kernel does by commands of ip(8), as far as changes of devices depend on it.
type kernel map[string]*kernelLink

type kernelLink struct {
	Kind, Master, Alias, Bridge string
	MTU                         int
	Up                          bool
	Has                         []string
}

func kernelOf(states linkStates) kernel {
	k := kernel{}
	for _, s := range states {
		l := &kernelLink{Master: s.Master, Alias: s.alias, MTU: s.MTU, Up: s.up}
		switch {
		case s.Bridge != nil:
			l.Kind, l.Bridge = "bridge", s.Bridge.formatSTP()
		case s.Bond != nil:
			l.Kind = "bond"
		case s.VLAN != nil:
			l.Kind = "vlan"
		}
		for _, setting := range s.has {
			l.Has = append(l.Has, setting.objectWord()+" "+setting.String())
		}
		k[s.Name] = l
	}
	return k
}

// look is the state as text: the order of what a device has means nothing here.
func (k kernel) look() map[string]string {
	all := map[string]string{}
	for name, l := range k {
		sorted := *l
		sorted.Has = slices.Sorted(slices.Values(l.Has))
		all[name] = fmt.Sprintf("%+v", sorted)
	}
	return all
}

func (k kernel) run(command string) error {
	words := strings.Fields(command)
	after := func(word string) string {
		if i := slices.Index(words, word); i >= 0 && i+1 < len(words) {
			return words[i+1]
		}
		return ""
	}
	if words[1] == "add" && words[0] == "link" {
		name := after("name")
		if k[name] != nil {
			return errors.New("file exists")
		}
		k[name] = &kernelLink{Kind: after("type"), MTU: 1500}
		if k[name].Kind == "bridge" {
			k[name].Bridge = "stp_state " + after("stp_state") + " forward_delay " + after("forward_delay")
		}
		return nil
	}
	name := after("dev")
	l := k[name]
	switch {
	case l == nil:
		return errors.New("cannot find device")
	case words[0] == "link" && words[1] == "del":
		delete(k, name)
		for _, port := range k {
			if port.Master == name {
				port.Master, port.Up = "", port.Up && l.Kind != "bond"
			}
		}
		return nil
	case words[0] == "link":
		return k.set(l, words, after)
	}
	text := words[0] + " " + strings.Join(words[2:len(words)-2], " ")
	at := slices.Index(l.Has, text)
	switch {
	case words[1] == "del" && at < 0:
		return errors.New("no such process")
	case words[1] == "del" && words[0] == "addr":
		subnet := netip.MustParsePrefix(words[2]).Masked()
		first := !slices.ContainsFunc(l.Has[:at], func(has string) bool {
			return strings.HasPrefix(has, "addr ") && netip.MustParsePrefix(strings.Fields(has)[1]).Masked() == subnet
		})
		l.Has = slices.Delete(l.Has, at, at+1)
		if first { // takes the others of its subnet along
			l.Has = slices.DeleteFunc(l.Has, func(has string) bool {
				return strings.HasPrefix(has, "addr ") && netip.MustParsePrefix(strings.Fields(has)[1]).Masked() == subnet
			})
		}
		l.Has = slices.DeleteFunc(l.Has, func(has string) bool { return strings.HasPrefix(has, "route ") && !l.reaches(has) })
	case words[1] == "del":
		l.Has = slices.Delete(l.Has, at, at+1)
	case words[1] == "add" && at >= 0:
		return errors.New("file exists")
	case words[1] == "add" && (!l.Up || !l.reaches(text)):
		return errors.New("nexthop has invalid gateway")
	case at < 0:
		l.Has = append(l.Has, text)
	}
	return nil
}

// reaches says whether the gateway of a route is in a subnet of the device.
func (l kernelLink) reaches(route string) bool {
	words := strings.Fields(route)
	if slices.Contains(words, "onlink") {
		return true
	}
	via := netip.MustParseAddr(words[slices.Index(words, "via")+1])
	return slices.ContainsFunc(l.Has, func(has string) bool {
		return strings.HasPrefix(has, "addr ") && netip.MustParsePrefix(strings.Fields(has)[1]).Contains(via)
	})
}

func (k kernel) set(l *kernelLink, words []string, after func(string) string) error {
	old := k[l.Master]
	if master := after("master"); master != "" {
		to := k[master]
		if to == nil || to.Kind == "bond" && l.Up && l.Master != master {
			return errors.New("cannot enslave")
		}
		l.Master = master
	}
	if slices.Contains(words, "nomaster") {
		l.Master = ""
		if old != nil && old.Kind == "bond" {
			l.Up = false
		}
	}
	if mtu, err := strconv.Atoi(after("mtu")); err == nil {
		l.MTU = mtu
	}
	if alias := after("alias"); alias != "" {
		l.Alias, _ = strconv.Unquote(strings.Join(words[slices.Index(words, "alias")+1:], " "))
	}
	if stp := after("stp_state"); stp != "" {
		l.Bridge = "stp_state " + stp + " forward_delay " + after("forward_delay")
	}
	switch last := words[len(words)-1]; {
	case last == "up":
		l.Up = true
	case last == "down":
		l.Up = false
		l.Has = slices.DeleteFunc(l.Has, func(has string) bool { return strings.HasPrefix(has, "route ") })
	}
	return nil
}

// drawSettings draws what a device has: two addresses of a subnet, and a route that needs them.
func drawSettings(t *rapid.T, name string) []Setting {
	var all []Setting
	subnet := rapid.IntRange(1, 2).Draw(t, name+": subnet")
	for _, host := range rapid.SliceOfNDistinct(rapid.IntRange(2, 4), 0, 3, rapid.ID[int]).Draw(t, name+": addresses") {
		all = append(all, AddressSetting(netip.MustParsePrefix(fmt.Sprintf("10.0.%d.%d/24", subnet, host))))
	}
	if len(all) > 0 && rapid.Bool().Draw(t, name+": route") {
		all = append(all, RouteSetting(netip.MustParsePrefix(fmt.Sprintf("10.9.%d.0/24", subnet)), netip.MustParseAddr(fmt.Sprintf("10.0.%d.254", subnet)), 0))
	}
	if len(all) > 0 && rapid.Bool().Draw(t, name+": route by a gateway outside the subnet") {
		outside := RouteSetting(netip.MustParsePrefix("0.0.0.0/0"), netip.MustParseAddr("172.31.1.1"), 0)
		outside.Route.OnLink = true
		all = append(all, outside)
	}
	return all
}

// drawDesired draws a bridge of interfaces and a bond of one, or nothing at all.
func drawDesired(t *rapid.T, name string, before map[string]DeviceSnapshot) Desired {
	if rapid.IntRange(0, 3).Draw(t, name+": nothing") == 0 {
		return Desired{Backend: Runtime}
	}
	mtu := rapid.SampledFrom([]int{0, 1400}).Draw(t, name+": MTU")
	d := Desired{Backend: Runtime, Mark: owner.Mark{ID: name}, Devices: []Device{{
		Name: "br0", Bridge: &BridgeOptions{MAC: "52:54:00:00:00:01", STP: rapid.Bool().Draw(t, name+": STP")}, MTU: mtu, Inherited: drawSettings(t, name), Before: DeviceSnapshot{MTU: 1500},
	}}}
	bonded := rapid.Bool().Draw(t, name+": bond")
	if bonded {
		d.Devices = append(d.Devices, Device{Name: "bond0", Bond: &BondOptions{Mode: "active-backup"}, Master: "br0", MTU: mtu})
	}
	if rapid.Bool().Draw(t, name+": VLAN") {
		d.Devices = append(d.Devices, Device{Name: "eth3.10", VLAN: &VLANOptions{Parent: "eth3", ID: 10}, Master: "br0", MTU: mtu})
	}
	for i, port := range []string{"eth1", "eth2"} {
		switch {
		case bonded && i == 0:
			d.Devices = append(d.Devices, Device{Name: port, Master: "bond0", InBond: true, MTU: mtu, Before: before[port]})
		case rapid.Bool().Draw(t, name+": "+port):
			d.Devices = append(d.Devices, Device{Name: port, Master: "br0", MTU: mtu, Before: before[port]})
		}
	}
	return d
}

// Wherever a change ends, its undo has every device be as it was; and where it comes to its end, they are as desired.
func TestWhatAChangeBeganIsUndoneFromAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var first linkStates
		before := map[string]DeviceSnapshot{}
		for _, name := range []string{"eth1", "eth2", "eth3"} {
			s := linkState{Device: Device{Name: name, MTU: 1500}, up: rapid.Bool().Draw(t, name+" is up")}
			if s.up {
				s.has = drawSettings(t, name)
			}
			before[name] = DeviceSnapshot{Name: name, MTU: 1500, Settings: s.has}
			first = append(first, s)
		}
		from, to := drawDesired(t, "from", before), drawDesired(t, "to", before)
		now := made(machineWith(first).applyTo(first, Desired{}, from))
		after := machineWith(now).applyTo(now, from, to)
		do, undo := listCommands(now, after, false), listCommands(after, now, true)
		for ends := range len(do) + 1 {
			k := kernelOf(now)
			was := k.look()
			for _, command := range do[:ends] {
				if err := k.run(command); err != nil {
					t.Fatalf("%s: %v\nof\n%s", command, err, strings.Join(do, "\n"))
				}
			}
			if diff := gocmp.Diff(kernelOf(made(after)).look(), k.look()); ends == len(do) && diff != "" {
				t.Fatalf("not as desired: %s\nby\n%s", diff, strings.Join(do, "\n"))
			}
			for _, command := range undo {
				_ = k.run(command)
			}
			if diff := gocmp.Diff(was, k.look()); diff != "" {
				t.Fatalf("after %d commands of\n%s\nundone by\n%s\nit is not as before: %s", ends, strings.Join(do, "\n"), strings.Join(undo, "\n"), diff)
			}
		}
	})
}

// made are devices as the kernel makes them: with an MTU where none was asked for.
func made(states linkStates) linkStates {
	states = slices.Clone(states)
	for i := range states {
		states[i].MTU = cmp.Or(states[i].MTU, 1500)
	}
	return states
}

// machineWith is a machine that has devices.
func machineWith(states linkStates) Machine {
	var m Machine
	for _, s := range states {
		l := Link{Name: s.Name, Master: s.Master, MTU: s.MTU, Alias: s.alias}
		for _, setting := range s.has {
			if p := setting.Address; setting.IsAddress() {
				l.Addresses = append(l.Addresses, struct {
					Family    string     `json:"family"`
					Local     netip.Addr `json:"local"`
					Peer      string     `json:"address"`
					PrefixLen int        `json:"prefixlen"`
					Scope     string     `json:"scope"`
					Broadcast string     `json:"broadcast"`
					Dynamic   bool       `json:"dynamic"`
					Protocol  string     `json:"protocol"`
				}{Family: "inet", Local: p.Addr(), PrefixLen: p.Bits(), Scope: "global"})
			} else {
				r := Route{Family: "-4", Dst: setting.Route.To.String(), Gateway: setting.Route.Via.String(), Dev: s.Name}
				if setting.Route.OnLink {
					r.Flags = []string{"onlink"}
				}
				m.Routes = append(m.Routes, r)
			}
		}
		m.Links = append(m.Links, l)
	}
	return m
}
