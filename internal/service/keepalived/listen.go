package keepalived

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// ErrDeaf is a machine that has nothing to listen with.
var ErrDeaf = errors.New("there is no python to listen with")

// listenScript prints the sender and the virtual router id of every advertisement that a device hears in 1.5 s,
// with the python that cloud-init and Red Hat's tools bring along. Arguments: the device, 4 or 6. VRRP is IP protocol 112, sent to 224.0.0.18 or ff02::12 (RFC 5798 section 5.1), and to the
// machine itself where it is unicast. Version 2 and 3 both have the id in the second byte.
const listenScript = `set -u
for p in python3 /usr/libexec/platform-python; do
	command -v "$p" >/dev/null 2>&1 && exec "$p" -c '
import socket, struct, sys, time
device, six = sys.argv[1], sys.argv[2] == "6"
s = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_RAW, 112)
s.setsockopt(socket.SOL_SOCKET, 25, device.encode())
index = socket.if_nametoindex(device)
if six:
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, socket.inet_pton(socket.AF_INET6, "ff02::12") + struct.pack("@I", index))
else:
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("224.0.0.18") + struct.pack("@4si", b"\0\0\0\0", index))
end = time.monotonic() + 1.5
while True:
    left = end - time.monotonic()
    if left <= 0: break
    s.settimeout(left)
    try: data, sender = s.recvfrom(4096)
    except socket.timeout: break
    if not six: data = data[(data[0] & 15) * 4:]
    if len(data) > 1 and data[0] & 15 == 1: print(sender[0].split("%")[0], data[1])
' "$@"
done
exit 45
`

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
	return stranger(string(out), id, members)
}

func stranger(heard string, id int, members []netip.Addr) (netip.Addr, error) {
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
