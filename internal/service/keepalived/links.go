package keepalived

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Links are a machine's network devices with the addresses that they have now.
type Links map[string][]netip.Prefix

// ReadLinks asks the machine.
func ReadLinks(ctx context.Context, h host.Host) (Links, error) {
	out, err := h.Run(ctx, host.Cmd{Argv: []string{"ip", "-json", "address", "show"}})
	if err != nil {
		return nil, err
	}
	return parseLinks(out)
}

// ReadMAC asks the machine for the MAC address of a device.
func ReadMAC(ctx context.Context, h host.Host, device string) (string, error) {
	out, err := h.Run(ctx, host.Cmd{Argv: []string{"ip", "-json", "link", "show", "dev", device}})
	if err != nil {
		return "", err
	}
	var raw []struct {
		Address string `json:"address"`
	}
	if err := json.Unmarshal(out, &raw); err != nil {
		return "", fmt.Errorf("read the device %s that ip printed: %w", device, err)
	}
	if len(raw) != 1 {
		return "", fmt.Errorf("ip printed %d devices for %s", len(raw), device)
	}
	return raw[0].Address, nil
}

func parseLinks(out []byte) (Links, error) {
	var raw []struct {
		Name      string `json:"ifname"`
		Addresses []struct {
			Local string `json:"local"`
			Bits  int    `json:"prefixlen"`
		} `json:"addr_info"`
	}
	if err := json.Unmarshal(out, &raw); err != nil {
		return nil, fmt.Errorf("read the addresses that ip printed: %w", err)
	}
	links := Links{}
	for _, r := range raw {
		if r.Name == "" {
			continue
		}
		links[r.Name] = nil
		for _, a := range r.Addresses {
			if addr, err := netip.ParseAddr(a.Local); err == nil {
				links[r.Name] = append(links[r.Name], netip.PrefixFrom(addr, a.Bits))
			}
		}
	}
	return links, nil
}

// Held are those of the addresses that the machine has.
func (l Links) Held(addresses []netip.Prefix) []netip.Prefix {
	var held []netip.Prefix
	for _, want := range addresses {
		for _, have := range l {
			if slices.ContainsFunc(have, func(p netip.Prefix) bool { return p.Addr() == want.Addr() }) {
				held = append(held, want)
				break
			}
		}
	}
	return held
}

// Holds says whether the machine has all of the addresses.
func (l Links) Holds(addresses []netip.Prefix) bool {
	return len(addresses) > 0 && len(l.Held(addresses)) == len(addresses)
}

// HoldsAny says whether the machine has one of the addresses.
func (l Links) HoldsAny(addresses []netip.Prefix) bool { return len(l.Held(addresses)) > 0 }

// Own finds the address that a machine speaks VRRP from on an interface: one of the virtual addresses'
// family, in the virtual addresses' network where there is one, and none of the virtual ones, nor of those that keepalived puts on a
// device for anything else, which go to another machine.
func (l Links) Own(device string, virtual []netip.Prefix, declared []Declared) (netip.Addr, bool) {
	var best netip.Addr
	for _, p := range l[device] {
		own := p.Addr()
		if len(virtual) == 0 || own.Is4() != virtual[0].Addr().Is4() ||
			slices.ContainsFunc(virtual, func(v netip.Prefix) bool { return v.Addr() == own }) ||
			slices.ContainsFunc(declared, func(d Declared) bool { return d.Name != "" && slices.Contains(d.Addresses, own) }) {
			continue
		}
		if p.Contains(virtual[0].Addr()) {
			return own, true
		}
		// VRRP over IPv6 is spoken from a link-local address (RFC 5798 section 5.1.2.2), unless unicast.
		if !best.IsValid() {
			best = own
		}
	}
	return best, best.IsValid()
}

// ErrDeaf is a machine that has nothing to listen with.
var ErrDeaf = errors.New("there is no python to listen with")

// listenScript prints the sender and the virtual router id of every advertisement that a device hears in 1.5 s.
//
//go:embed listen.sh
var listenScript string

// Listen waits 1.5 s on a device for an advertisement with a virtual router id from anyone but the VIP's own
// members, and returns the sender; an invalid address is nobody. ErrDeaf is a machine that cannot listen.
func Listen(ctx context.Context, h host.Host, device string, six bool, id int, members []netip.Addr) (netip.Addr, error) {
	family := "4"
	if six {
		family = "6"
	}
	out, err := h.Run(ctx, host.Script("listen for VRRP on "+device, listenScript, device, family))
	var exit *host.ExitError
	if errors.As(err, &exit) && exit.Code == 45 {
		return netip.Addr{}, ErrDeaf
	}
	if err != nil {
		return netip.Addr{}, err
	}
	return findStranger(string(out), id, members)
}

func findStranger(heard string, id int, members []netip.Addr) (netip.Addr, error) {
	for line := range strings.Lines(heard) {
		var sender string
		var its int
		if _, err := fmt.Sscan(line, &sender, &its); err != nil {
			return netip.Addr{}, fmt.Errorf("read what was heard: %w", err)
		}
		a, err := netip.ParseAddr(sender)
		if err != nil {
			return netip.Addr{}, fmt.Errorf("read what was heard: %w", err)
		}
		if its == id && !slices.Contains(members, a) {
			return a, nil
		}
	}
	return netip.Addr{}, nil
}
