package acctest

import (
	"context"
	"testing"
)

// guestScript makes a network namespace of a chassis a guest on a port of OVN's, which the arguments name, with its hardware address, its
// address and its gateway. Another guest of its name goes.
const guestScript = `set -e
name=$1 mac=$2 address=$3 gateway=$4
ip netns del "$name" 2>/dev/null || :
ovs-vsctl --if-exists del-port br-int "v-$name"
ip netns add "$name"
ip link add "v-$name" type veth peer name eth0 netns "$name"
ip link set "v-$name" up
# The user-space datapath fills no checksum in that a sender leaves to its card.
ip netns exec "$name" ethtool -K eth0 tx off >/dev/null
ip -n "$name" link set eth0 mtu 1442 address "$mac" up
ip -n "$name" addr add "$address/24" dev eth0
[ -z "$gateway" ] || ip -n "$name" route add default via "$gateway"
ovs-vsctl add-port br-int "v-$name" -- set Interface "v-$name" external_ids:iface-id="$name"`

// StartOVNGuest has a chassis of the sandbox ("hv-1") run a guest on a port of OVN's of that name, which OVN has to have. The guest is a
// network namespace of the chassis, of the same name.
func StartOVNGuest(t *testing.T, chassis, name, mac, address, gateway string) {
	t.Helper()
	On(t, chassis, "sh", "-c", guestScript, "sh", name, mac, address, gateway)
	t.Cleanup(func() { StopOVNGuest(chassis, name) })
}

// StopOVNGuest removes a guest of StartOVNGuest.
func StopOVNGuest(chassis, name string) {
	_, _ = Try(context.Background(), chassis, "sh", "-c", `ip netns del "$1"; ovs-vsctl --timeout=5 --if-exists del-port br-int "v-$1"`, "sh", name)
}
