# shellcheck shell=bash
# The networks around the hypervisor. The LAN's switch and its gateway live in a network namespace of their own, so that
# the hypervisor sees nothing but a cable: eno1.
#
#   lan (bridge switch0, 10.19.41.254) ─┬─ eno1, 10.19.41.10      the hypervisor
#                                       ├─ eth0, 10.19.41.50      lan-client
#                                       ├─ eth1, 10.19.41.101…    svc-1…  ── eth0, 10.0.100.101… ──┐
#                                       └─ eth1, without address  hv-1…   ── eth0, 10.0.100.11… ───┴─ svcbr0 (hypervisor)
#   lan (bridge underlay0) ─── eth2, 172.16.0.11… (hv-1…): what hypervisors have between them

lan_plug() { # NAMESPACE|- INTERFACE PORT [MAC]: a cable from an interface to a port of the LAN's switch
	ip link add "$3" netns lan type veth peer name "$2" ${4:+address "$4"} ${1:+netns "$1"}
	ip -n lan link set "$3" master switch0 up
}

network_up() {
	ip link set lo up
	sysctl -q -w net.ipv4.ip_forward=1

	ip netns add lan
	ip -n lan link set lo up
	# With an address of its own, which does not change as cables are plugged in.
	ip -n lan link add switch0 address 02:00:0a:13:29:fe type bridge forward_delay 0 mcast_snooping 0
	ip -n lan addr add 10.19.41.254/24 dev switch0
	# A place beyond the gateway, for tests of what leaves the hypervisor by NAT: nothing there knows a way back inside.
	ip -n lan addr add 203.0.113.1/32 dev lo
	ip -n lan link set switch0 up

	lan_plug "" eno1 hypervisor
	ip addr add 10.19.41.10/24 dev eno1
	ip link set eno1 up
	ip route add default via 10.19.41.254

	ip netns add lan-client
	ip -n lan-client link set lo up
	lan_plug lan-client eth0 client
	ip -n lan-client addr add 10.19.41.50/24 dev eth0
	ip -n lan-client link set eth0 up
	ip -n lan-client route add default via 10.19.41.254

	ip link add svcbr0 type bridge forward_delay 0
	ip addr add 10.0.100.254/24 dev svcbr0
	ip link set svcbr0 up
}

# The cables of a machine. They are ready before it boots, under the names it expects, and its interfaces
# have the same hardware addresses each time.
network_node() { # NAME
	local number=${1#*-} cable=${1/-/}
	[[ $1 != hv-* ]] || number=1$number
	ip netns add "$1"
	# It may forward. A container cannot change what is below /proc/sys/net itself.
	ip netns exec "$1" sysctl -q -w net.ipv4.ip_forward=1
	ip link add "$cable" type veth peer name eth0 address "02:00:0a:00:64:$(printf %02d "$number")" netns "$1"
	ip link set "$cable" master svcbr0 up
	lan_plug "$1" eth1 "$cable" "02:00:0a:13:29:$(printf %02d "$number")"
	[[ $1 != hv-* ]] || underlay_plug "$1" "$cable"
}

# A cable of a hypervisor to the underlay.
underlay_plug() { # NAME CABLE
	local device
	ip -n lan link show underlay0 >/dev/null 2>&1 || ip -n lan link add underlay0 mtu 9000 type bridge forward_delay 0 mcast_snooping 0
	ip -n lan link set underlay0 up
	ip link add "$2u" mtu 9000 netns lan type veth peer name eth2 mtu 9000 netns "$1"
	ip -n lan link set "$2u" master underlay0 up
	for device in eth1 eth2; do checksum_all "$1" "$device"; done
	for device in "$2" "$2u"; do checksum_all lan "$device"; done
}

# The user-space datapath of Open vSwitch reads packets as they are sent: a checksum that was left to the card would never be filled in.
checksum_all() { # NAMESPACE DEVICE
	ip netns exec "$1" chroot "$SANDBOX_NODE_ROOT" /usr/sbin/ethtool -K "$2" tx off >/dev/null
}

# Takes the cables away with everything that the machine's kernel had made of them: addresses, bridges, routes, filters.
network_node_remove() { # NAME
	local cable=${1/-/}
	ip link del "$cable"
	ip -n lan link del "$cable"
	[[ $1 != hv-* ]] || ip -n lan link del "${cable}u"
	ip netns del "$1"
}
