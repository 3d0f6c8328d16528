package keepalived

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

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
