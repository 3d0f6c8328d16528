package hostnet

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Backend keeps devices over reboots, in the way of one network manager.
type Backend interface {
	// Path is the file that carries the mark of a device.
	Path(device string) string
	// Check says what keeps a device from being kept in this way.
	Check(d Device) error
	// Render are the files of a device, one of those desired, with the mark in them.
	Render(d Device, in Desired) []File
	// Switch is the script that has the running machine follow, when the files are in place.
	Switch(from, to Desired) string
}

// Backends are those that keep something; Runtime does not, and has the kernel follow by itself (runtime.go).
var Backends = map[string]Backend{Networkd: networkd{}, NetworkManager: networkManager{}, Netplan: netplan{}, Ifupdown: ifupdown{}}

// Follow is the change that has a machine, as it is now, go from what was desired of its devices to what is. Its undo has the machine be as
// it is now. from is empty for devices that this provider takes, to for those that it gives back.
func (m Machine) Follow(ctx context.Context, h host.Host, from, to Desired) (c Change, err error) {
	if backend := cmp.Or(to.Backend, from.Backend); backend == Runtime {
		c.Do, c.Undo = m.switchKernel(from, to)
	} else if c, err = m.switchManager(ctx, h, Backends[backend], from, to); err != nil {
		return c, err
	}
	do, undo := m.carryNeighbours(from, to)
	c.Do, c.Undo = c.Do+do, c.Undo+undo
	c.GivenUp = GatewaysOf(Without(settingsBetween(from, to), settingsBetween(to, from)))
	c.Taken = m.addedBy(to)
	return c, nil
}

// addedBy are the addresses of a desired state that the machine has on no device, by the device that they go to.
func (m Machine) addedBy(d Desired) map[string][]netip.Prefix {
	added := map[string][]netip.Prefix{}
	for _, device := range d.Devices {
		for _, p := range device.Addresses {
			if m.deviceWith(p.Addr()) == "" {
				added[device.Name] = append(added[device.Name], p)
			}
		}
	}
	return added
}

// settingsBetween are all settings of one desired state, and what the devices of the other one had that are not in it.
func settingsBetween(d, other Desired) []Setting {
	var all []Setting
	for _, device := range d.Devices {
		all = append(all, device.ownSettings()...)
	}
	for _, device := range other.devicesWithout(d) {
		all = append(all, device.Before.Settings...)
	}
	return all
}

// switchManager is the change of what a manager keeps. What managers leave when they have another configuration goes, and what nothing
// managed before, nothing brings back but this.
func (m Machine) switchManager(ctx context.Context, h host.Host, b Backend, from, to Desired) (c Change, err error) {
	to.Devices = slices.Clone(to.Devices)
	for i, d := range to.Devices {
		to.Devices[i].Stacked = m.listStacked(d.Name)
	}
	if c.Files, err = renderFiles(ctx, h, b, from, to); err != nil {
		return c, err
	}
	from.Devices = slices.DeleteFunc(slices.Clone(from.Devices), func(d Device) bool { return !d.isCreated() && m.isElsewhere(from, d.Name) })
	taken := to.devicesWithout(from)
	for _, d := range taken {
		if d.standsAlone() && d.DHCP && !d.Before.Addressing.DHCP {
			// Managers leave the addresses beside the lease, and wait for none where there is an address.
			c.Do += takeQuietly(d.Name, Addressing{Addresses: d.Before.Addressing.Addresses}.Settings())
		}
	}
	c.Do += b.Switch(from, to) + awaitScript(to)
	c.Undo = b.Switch(to, from)
	for _, d := range taken {
		if d.standsAlone() && !d.DHCP { // what is there may be the lease
			c.Do += takeQuietly(d.Name, Without(d.Before.Settings, d.ownSettings()))
		}
		c.Undo += giveBack(d)
	}
	for _, d := range from.devicesWithout(to) {
		c.Do += giveBack(d)
	}
	c.Do, c.Undo = c.Do+m.leaveOthers(from, to), c.Undo+m.leaveOthers(from, from)
	for _, d := range append(slices.Clone(to.Devices), from.devicesWithout(to)...) {
		if link, there := m.Link(d.Name); there && !d.isCreated() {
			if mtu := chooseMTU(from, to, d, link.MTU); mtu != link.MTU {
				c.Do += fmt.Sprintf("ip link set dev %s mtu %d\n", d.Name, mtu)
				c.Undo += fmt.Sprintf("ip link set dev %s mtu %d\n", d.Name, link.MTU)
			}
		}
	}
	return c, nil
}

// renderFiles are the files that have a manager keep what is desired, and the removal of those that kept what was.
func renderFiles(ctx context.Context, h host.Host, b Backend, from, to Desired) (files []File, err error) {
	if b == Backends[Ifupdown] {
		if files, err = turnStanzas(ctx, h, from, to); err != nil {
			return nil, err
		}
	}
	for _, d := range to.Devices {
		if err := b.Check(d); err != nil {
			return nil, err
		}
		files = append(files, b.Render(d, to)...)
	}
	for _, d := range from.Devices {
		for _, f := range b.Render(d, from) {
			if !slices.ContainsFunc(files, func(o File) bool { return o.Path == f.Path }) {
				files = append(files, File{Path: f.Path, Absent: true})
			}
		}
	}
	return files, nil
}

// giveBack is the script that gives a device what it had before where its manager does not, or does so at the next start only.
func giveBack(d Device) string {
	text := ""
	if d.standsAlone() && !d.Before.Addressing.DHCP {
		text = takeQuietly(d.Name, Without(d.ownSettings(), d.Before.Settings))
	}
	var b Batch
	switch by := d.Before.Manager.Backend; {
	case d.isCreated():
	case by == Ifupdown && d.Bridge != nil && !d.Before.Addressing.DHCP:
		b.Give(d.Name, d.Before.Settings)
		text += b.formatQuietScript()
	case by == Runtime:
		if d.InBond {
			b.Add("link set dev %s up", d.Name) // a bond leaves what it lets go of down
		}
		b.Give(d.Name, d.Before.Settings)
		text += b.formatScript(true)
		if d.Master != "" && d.Before.Addressing.AcceptRA {
			text += "ask_routers " + d.Name + "\n"
		}
	}
	return text
}

// chooseMTU is the MTU that a device shall have: as desired, as it had before this provider changed it, or as it is.
func chooseMTU(from, to Desired, d Device, now int) int {
	was, _ := from.findDevice(d.Name)
	want, _ := to.findDevice(d.Name)
	switch {
	case want.MTU != 0:
		return want.MTU
	case was.MTU != 0 && d.Before.MTU != 0:
		return d.Before.MTU
	}
	return now
}

// condition is something that a machine shall have when it follows.
type condition struct {
	// missing says what there is not, test is a shell command that succeeds when it is there. Neither has a single quote in it.
	missing, test string
}

// listConditions are what a device shall have.
func (d Device) listConditions() []condition {
	var all []condition
	add := func(missing, test string) { all = append(all, condition{missing, test}) }
	if d.Master != "" {
		add(fmt.Sprintf("%s is not in %s", d.Name, d.Master), fmt.Sprintf(`ip -o link show dev %s | grep -q " master %s "`, d.Name, d.Master))
	}
	for _, a := range d.Addresses {
		add(fmt.Sprintf("%s has no address %s", d.Name, a), fmt.Sprintf(`ip -o address show dev %s | grep -v tentative | grep -qF " %s "`, d.Name, a))
	}
	if d.DHCP {
		add(d.Name+" got no address by DHCP", fmt.Sprintf("ip -o -4 address show dev %s scope global | grep -q inet", d.Name))
	}
	for _, g := range d.Gateways {
		add(fmt.Sprintf("%s has no default route via %s", d.Name, g), fmt.Sprintf(`ip %s route show default dev %s | grep -qF "via %s"`, familyOption(g), d.Name, g))
	}
	for _, r := range d.Routes {
		add(fmt.Sprintf("%s has no route to %s", d.Name, r.To), fmt.Sprintf("ip %s route show %s dev %s | grep -q .", familyOption(r.To.Addr()), r.To, d.Name))
	}
	return all
}

// awaitScript is the commands that wait until devices have what they shall have.
func awaitScript(d Desired) string {
	var b strings.Builder
	for _, device := range d.Devices {
		for _, c := range device.listConditions() {
			fmt.Fprintf(&b, "await '%s' '%s'\n", c.missing, c.test)
		}
	}
	return b.String()
}

// takeOff is the script that takes from devices that stay what they are not to have any more; what is gone already is no error.
func takeOff(from, to Desired) string {
	var b strings.Builder
	for _, d := range from.Devices {
		if stays, is := to.findDevice(d.Name); is {
			b.WriteString(takeQuietly(d.Name, Without(d.ownSettings(), stays.ownSettings())))
		}
	}
	return b.String()
}
