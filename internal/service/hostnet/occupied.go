package hostnet

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// occupiedScript prints those addresses that another machine on a device's wire answers for.
//
//go:embed occupied.sh
var occupiedScript string

// Patience is how long an apply waits for somebody on the wire to answer.
const Patience = time.Second

// CheckOccupied refuses addresses that somebody else on a device's wire answers for within the time given. Those that the machine has
// already are its own.
func (m Machine) CheckOccupied(ctx context.Context, h host.Host, device string, addresses []netip.Prefix, patience time.Duration) error {
	foreign := slices.DeleteFunc(slices.Clone(addresses), func(p netip.Prefix) bool { return m.deviceWith(p.Addr()) != "" })
	return m.checkWire(ctx, h, device, foreign, patience)
}

// checkWire refuses addresses that somebody else on a device's wire answers for within the time given, whether or not the machine has them too.
func (m Machine) checkWire(ctx context.Context, h host.Host, device string, addresses []netip.Prefix, patience time.Duration) error {
	answers, err := m.askWire(ctx, h, device, addresses, patience)
	if err != nil {
		return err
	}
	for _, p := range addresses {
		if mac := answers[p.Addr()]; mac != "" {
			return service.At([]any{"addresses"}, fmt.Errorf("%s is in use: the machine with the hardware address %s answers for it on %s; write another address, or take it from that machine first", p.Addr(), mac, device))
		}
	}
	return nil
}

// CheckAlone refuses addresses that the machine has put on devices, by the device, where another machine on its wire answers for one too: two that ask
// at the same time are both told that nobody has an address, so that who has taken one asks once more.
func CheckAlone(ctx context.Context, h host.Host, taken map[string][]netip.Prefix) error {
	if len(taken) == 0 {
		return nil
	}
	m, err := Look(ctx, h)
	for device, addresses := range taken {
		err = errors.Join(err, m.checkWire(ctx, h, device, addresses, Patience))
	}
	return err
}

// FindHolders says who has addresses, as far as the machine can see: it has them itself, or somebody answers for them on the device whose
// subnet they are in within the time given. Of those that nobody is known to have there is no word.
func (m Machine) FindHolders(ctx context.Context, h host.Host, addresses []netip.Addr, patience time.Duration) (map[netip.Addr]string, error) {
	holders, beside := map[netip.Addr]string{}, map[string][]netip.Prefix{}
	for _, a := range addresses {
		if own := m.deviceWith(a); own != "" {
			holders[a] = fmt.Sprintf("%s of %s has it", own, h)
		} else if device := m.DeviceBeside(a); device != "" {
			beside[device] = append(beside[device], netip.PrefixFrom(a, a.BitLen()))
		}
	}
	for _, device := range slices.Sorted(maps.Keys(beside)) {
		answers, err := m.askWire(ctx, h, device, beside[device], patience)
		if err != nil {
			return nil, err
		}
		for a, mac := range answers {
			holders[a] = fmt.Sprintf("the machine with the hardware address %s answers for it on %s of %s", mac, device, h)
		}
	}
	return holders, nil
}

// deviceWith is the device that has an address, "" for none.
func (m Machine) deviceWith(a netip.Addr) string {
	for _, l := range m.Links {
		if slices.ContainsFunc(m.Prefixes(l.Name), func(p netip.Prefix) bool { return p.Addr() == a }) {
			return l.Name
		}
	}
	return ""
}

// DeviceBeside is the device with the narrowest subnet that has an address in it, "" for none.
func (m Machine) DeviceBeside(a netip.Addr) string {
	best, device := -1, ""
	for _, link := range m.Links {
		for _, p := range m.Prefixes(link.Name) {
			if p.Contains(a) && p.Bits() > best {
				best, device = p.Bits(), link.Name
			}
		}
	}
	return device
}

// hasCard says whether a device of the machine has a hardware address. Where two of them are on one wire, each answers for what the other has.
func (m Machine) hasCard(mac string) bool {
	return slices.ContainsFunc(m.Links, func(l Link) bool { return l.Address == mac })
}

// askWire returns the hardware addresses of those who answer for addresses on a device's wire, by the address. A device that is down has
// no wire.
func (m Machine) askWire(ctx context.Context, h host.Host, device string, addresses []netip.Prefix, patience time.Duration) (map[netip.Addr]string, error) {
	link, there := m.Link(device)
	if !there || !slices.Contains(link.Flags, "UP") || len(addresses) == 0 {
		return nil, nil //nolint:nilnil // nobody answers
	}
	arguments := []string{strconv.FormatFloat(patience.Seconds(), 'f', -1, 64), device}
	for _, p := range addresses {
		arguments = append(arguments, p.Addr().String())
	}
	out, err := h.Run(ctx, host.RepeatableScript("ask who has the addresses", occupiedScript, arguments...))
	if err != nil {
		return nil, fmt.Errorf("ask on %s who has %v: %w", h, addresses, err)
	}
	answers := map[netip.Addr]string{}
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); len(words) == 2 {
			if a, err := netip.ParseAddr(words[0]); err == nil && !m.hasCard(words[1]) {
				answers[a] = words[1]
			}
		}
	}
	return answers, nil
}
