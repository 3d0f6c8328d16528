package addressuse

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
)

// Lock is the machine's lock that whoever asks for an address holds until it has it: two states that ask at once would both be told that
// it is nobody's. Changes of the machine's network are made under it anyway.
const Lock = hostnet.Lock

// Use is who uses the addresses of a machine.
type Use struct {
	// Machine is what messages call it.
	Machine string
	Network hostnet.Machine
	// Instances are what keepalived's configuration declares.
	Instances []keepalived.Declared

	holders map[netip.Addr][]Holder
}

// globs are the files that say who has addresses.
var globs = slices.Concat(networkGlobs, recordGlobs, []string{keepalived.Directory + "/*", keepalived.Directory + "/*/*"})

// Look asks a machine.
func Look(ctx context.Context, h host.Host) (Use, error) {
	var (
		wait           sync.WaitGroup
		network        hostnet.Machine
		files          map[string]host.File
		failed, unread error
	)
	wait.Go(func() { network, failed = hostnet.Look(ctx, h) })
	wait.Go(func() { files, unread = host.ReadGlobs(ctx, h, globs) })
	wait.Wait()
	if failed != nil {
		return Use{}, failed
	}
	if unread != nil {
		return Use{}, fmt.Errorf("read who has addresses on %s: %w", h, unread)
	}
	return newUse(h.String(), network, files), nil
}

// newUse derives who has what from a machine's network and its files.
func newUse(machine string, network hostnet.Machine, files map[string]host.File) Use {
	u := Use{Machine: machine, Network: network, Instances: keepalived.ListDeclared(files), holders: map[netip.Addr][]Holder{}}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		for _, a := range parseAssignments(file, files) {
			u.addHolders(a.address, Holder{Kind: File, Place: file, Devices: a.devicesOf(network)})
		}
		for address, holders := range parseRecord(file, files[file].Content) {
			u.addHolders(address, holders...)
		}
	}
	for _, d := range u.Instances {
		h := Holder{Kind: Instance, Name: d.Name, Place: d.Place, Mark: d.Owner}
		if d.Name == "" {
			h.Kind = Static
		}
		if d.Interface != "" {
			h.Devices = []string{d.Interface}
		}
		for _, a := range d.Addresses {
			u.addHolders(a, h)
		}
	}
	for _, link := range network.Links {
		for _, a := range link.Addresses {
			if !u.isExplained(a.Local) {
				u.addHolders(a.Local, Holder{Kind: Device, Devices: []string{link.Name}})
			}
		}
	}
	return u
}

func (u Use) addHolders(address netip.Addr, holders ...Holder) {
	if address = address.Unmap().WithZone(""); address.IsValid() && !address.IsUnspecified() {
		u.holders[address] = append(u.holders[address], holders...)
	}
}

// isExplained says whether something that puts an address on a device has it: a draw is for whatever its owner likes.
func (u Use) isExplained(address netip.Addr) bool {
	return slices.ContainsFunc(u.holders[address.Unmap().WithZone("")], func(h Holder) bool { return h.Kind != Draw && h.Kind != Before })
}

// Holders returns who has an address, those first whose configuration says so.
func (u Use) Holders(address netip.Addr) []Holder {
	return slices.Clone(u.holders[address.Unmap().WithZone("")])
}

// devicesOf are the devices of a machine that an assignment is for.
func (a assignment) devicesOf(network hostnet.Machine) []string {
	var names []string
	for _, link := range network.Links {
		if slices.ContainsFunc(a.devices, func(pattern string) bool {
			matches, err := path.Match(pattern, link.Name)
			return err == nil && matches || strings.EqualFold(pattern, link.Address)
		}) {
			names = append(names, link.Name)
		}
	}
	return names
}

// CheckDevice refuses addresses for a device that this provider configures which somebody else has. What the devices that it is made of
// have, or had by a person's files, is its own, as is what carries the mark of its record; what this state has besides is in the plan, where
// it may change. Nobody is asked where all addresses are on those devices already.
func CheckDevice(ctx context.Context, h host.Host, m hostnet.Machine, devices []string, recorded owner.Mark, addresses []netip.Prefix) error {
	asked := slices.DeleteFunc(slices.Clone(addresses), func(p netip.Prefix) bool { return hasItself(m, devices, p.Addr()) })
	if len(asked) == 0 {
		return nil
	}
	use, err := Look(ctx, h)
	if err != nil {
		return err
	}
	return service.At([]any{"addresses"}, use.refuseDevice(devices, recorded, asked))
}

func (u Use) refuseDevice(devices []string, recorded owner.Mark, addresses []netip.Prefix) error {
	for _, p := range addresses {
		err := u.Refuse(Claim{
			Address: p.Addr(),
			Suits: func(h Holder) bool {
				own := !slices.ContainsFunc(h.Devices, func(device string) bool { return !slices.Contains(devices, device) })
				return own && (h.Kind == Device || h.Kind == File || h.Kind == Before) || h.IsHere() || h.Mark.ID != "" && h.Mark.ID == recorded.ID
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hasItself says whether one of some devices has an address that nothing but its own configuration put there.
func hasItself(m hostnet.Machine, devices []string, address netip.Addr) bool {
	return slices.ContainsFunc(devices, func(device string) bool {
		return slices.ContainsFunc(m.Own(device), func(s hostnet.Setting) bool { return s.Address.Addr() == address })
	})
}
