# shellcheck shell=bash
# The networks around the hypervisor. The LAN's switch and its gateway live in a network namespace of their own, so that
# the hypervisor sees nothing but a cable: eno1.
#
#   lan (bridge switch0, 10.19.41.254) ─┬─ eno1, 10.19.41.10      the hypervisor
#                                       ├─ eth0, 10.19.41.50      lan-client
#                                       └─ eth1, 10.19.41.101…    svc-1…  ── eth0, 10.0.100.101… ── svcbr0 (hypervisor)

lan_plug() { # NAMESPACE|- INTERFACE PORT [MAC]: a cable from an interface to a port of the LAN's switch
	ip link add "$3" netns lan type veth peer name "$2" ${4:+address "$4"} ${1:+netns "$1"}
	ip -n lan link set "$3" master switch0 up
}

network_up() {
	ip link set lo up
	sysctl -q -w net.ipv4.ip_forward=1

	ip netns add lan
	ip -n lan link set lo up
	ip -n lan link add switch0 type bridge forward_delay 0 mcast_snooping 0
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

# The cables of a service node. They are ready before the machine boots, under the names it expects, and its interfaces
# have the same hardware addresses each time.
network_node() { # NUMBER
	ip netns add "svc-$1"
	# It may forward. A container cannot change what is below /proc/sys/net itself.
	ip netns exec "svc-$1" sysctl -q -w net.ipv4.ip_forward=1
	ip link add "svc$1" type veth peer name eth0 address "02:00:0a:00:64:0$1" netns "svc-$1"
	ip link set "svc$1" master svcbr0 up
	lan_plug "svc-$1" eth1 "svc$1" "02:00:0a:13:29:0$1"
}

# Takes the cables away with everything that the machine's kernel had made of them: addresses, bridges, routes, filters.
network_node_remove() { # NUMBER
	ip link del "svc$1"
	ip -n lan link del "svc$1"
	ip netns del "svc-$1"
}
