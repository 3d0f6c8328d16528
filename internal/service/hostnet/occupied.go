package hostnet

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// occupiedScript prints those addresses that another machine on a device's wire answers for, with its hardware address. The kernel
// asks for the owner of an address (ARP, neighbour discovery) before it sends a ping; the ping itself needs no answer. Arguments:
// seconds, device, addresses.
const occupiedScript = `wait=$1
device=$2
shift 2
ask() {
  ip neigh del "$1" dev "$device" 2>/dev/null
  ping -n -c 1 -W "$wait" -I "$device" "$1" >/dev/null 2>&1
  ip neigh show to "$1" dev "$device" | awk -v a="$1" '{ for (i = 1; i < NF; i++) if ($i == "lladdr" && $NF != "FAILED") print a, $(i + 1) }'
}
for address; do ask "$address" & done
wait`

// Patience is how long an apply waits for somebody on the wire to answer.
const Patience = time.Second

// CheckOccupied refuses addresses that somebody else on a device's wire answers for within the time given. Those that the machine has
// already are its own.
func (m Machine) CheckOccupied(ctx context.Context, h host.Host, device string, addresses []netip.Prefix, patience time.Duration) error {
	link, there := m.Link(device)
	if !there || !slices.Contains(link.Flags, "UP") {
		return nil
	}
	arguments := []string{strconv.FormatFloat(patience.Seconds(), 'f', -1, 64), device}
	for _, p := range addresses {
		own := slices.ContainsFunc(m.Links, func(l Link) bool {
			return slices.ContainsFunc(m.Prefixes(l.Name), func(o netip.Prefix) bool { return o.Addr() == p.Addr() })
		})
		if !own {
			arguments = append(arguments, p.Addr().String())
		}
	}
	if len(arguments) == 2 {
		return nil
	}
	cmd := host.Script("ask who has the addresses", occupiedScript, arguments...)
	cmd.Repeatable = true
	out, err := h.Run(ctx, cmd)
	if err != nil {
		return fmt.Errorf("ask on %s who has %v: %w", h, addresses, err)
	}
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); len(words) == 2 {
			return service.At([]any{"addresses"}, fmt.Errorf("%s is in use: the machine with the hardware address %s answers for it on %s; write another address, or take it from that machine first", words[0], words[1], device))
		}
	}
	return nil
}
