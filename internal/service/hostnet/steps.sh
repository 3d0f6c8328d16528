# shellcheck shell=sh
# Functions for what a change of a machine's network does, and for what undoes it: both begin with this text. What they are given are names
# of devices, in which there is nothing to quote.

# await waits until CONDITION, a shell command, succeeds. Where it does not within half a minute the script ends, and says what is MISSING.
await() { # MISSING CONDITION
	n=0
	until eval "$2"; do
		n=$((n + 1))
		if [ $n -gt 300 ]; then echo "$1" >&2; exit 1; fi
		sleep 0.1
	done
}

busy() { networkctl list --no-legend --no-pager "$1" 2>/dev/null | grep -Eq " (pending|initialized|configuring) *$"; }
# await_idle waits, for a while, until systemd-networkd is not configuring a device.
await_idle() { # DEVICE
	n=0
	while [ $n -lt 50 ] && busy "$1"; do
		n=$((n + 1))
		sleep 0.1
	done
}

failed() { networkctl list --no-legend --no-pager "$1" | grep -q " failed *$"; }

# reconfigure has systemd-networkd configure a device anew that may have failed while its bridge went. systemd-networkd has read its files
# before, upon which it configures every device whose files were written. It waits until the device is not being configured: one that just
# got its address by DHCP would lose it, and systemd-networkd 252 then takes that address for one that is still being removed, and never
# gives it again.
reconfigure() { # DEVICE
	await_idle "$1"
	networkctl reconfigure "$1"
}

# settle waits until systemd-networkd is done with a device that it was told to configure anew: it begins with that a moment after it was told.
settle() { # DEVICE
	sleep 0.3
	await_idle "$1"
}

# reconfigure_unless does so where what systemd-networkd does by itself does not lead to what shall be, which is when CONDITION succeeds.
reconfigure_unless() { # DEVICE CONDITION
	n=0
	until eval "$2"; do
		n=$((n + 1))
		if [ $n -gt 50 ] || failed "$1"; then networkctl reconfigure "$1"; return; fi
		sleep 0.1
	done
}

# forget_routers takes from a device what it has by router advertisements: no more of them reach one that is in a bridge, and until it is
# over its routes would lead nowhere.
forget_routers() { # DEVICE
	ip -6 route show dev "$1" 2>/dev/null | sed -n 's/ expires .*//p' | while read -r route; do
		# shellcheck disable=SC2086 # a route is several words
		ip -6 route del $route dev "$1" 2>/dev/null || :
	done
	ip -6 -o address show dev "$1" scope global dynamic 2>/dev/null | awk '{ print $4 }' | while read -r address; do
		ip address del "$address" dev "$1" 2>/dev/null || :
	done
}

# heed_routers has the kernel heed router advertisements on a device as it does on OTHER, or by the value INSTEAD where it does not there.
# Where the kernel may not be told, as in a container, it does as it does with every device.
heed_routers() { # DEVICE OTHER INSTEAD
	for name in accept_ra autoconf use_tempaddr; do
		value=$(cat "/proc/sys/net/ipv6/conf/$2/$name") || continue
		[ "$name$value" != accept_ra0 ] || value=$3
		echo "$value" >"/proc/sys/net/ipv6/conf/$1/$name" || :
	done 2>/dev/null
}

# ask_routers has the kernel ask for router advertisements on a device, which it does for its first link-local address (RFC 4862, 5.5.3):
# the next one may take ten minutes to come by itself.
ask_routers() { # DEVICE
	[ "$(cat "/proc/sys/net/ipv6/conf/$1/accept_ra" 2>/dev/null || echo 0)" != 0 ] || return 0
	ip -6 -o address show dev "$1" scope link 2>/dev/null | awk '{ print $4; exit }' | while read -r address; do
		ip address del "$address" dev "$1" && ip address add "$address" dev "$1"
	done || :
}

# stop_dhcp ends the DHCP client that ifupdown started for a device, which would bring its address back.
stop_dhcp() { # DEVICE
	if [ -s "/run/dhclient.$1.pid" ]; then
		kill "$(cat "/run/dhclient.$1.pid")" 2>/dev/null || :
		rm -f "/run/dhclient.$1.pid"
	fi
}

# forget_state has ifupdown forget that it set a device up, which it would not do a second time. It keeps a list of all and a file for each.
forget_state() { # DEVICE
	[ ! -e /run/network/ifstate ] || sed -i "/^$1=/d" /run/network/ifstate
	rm -f "/run/network/ifstate.$1"
}

# bring_up_again brings a device up as a person's stanzas have it, with its further addresses that have stanzas of their own (eth0:1), which
# are brought up by their own names.
bring_up_again() { # DEVICE
	ifup --force "$1"
	for further in $(ifquery --list 2>/dev/null | grep "^$1:"); do ifup --force "$further"; done
}

# keep_guests has a bridge keep what others put into it, such as virtual machines: NetworkManager lets go of all ports of a bridge that it
# brings up by another connection, or anew. They are put back at once, with the VLANs and the options that they had as ports, while the rest
# of the script runs, and when that ends: not in the middle of one's return. A port that NetworkManager took back itself has lost its VLANs
# and options too, so they are compared, and not only who is in the bridge. PORT are those that are no guests.
keep_guests() { # BRIDGE PORT...
	bridge=$1
	shift
	for port; do
		set -- "$@" -e "$port"
		shift
	done
	guests=$(ip -o link show master "$bridge" 2>/dev/null | sed 's/^[0-9]*: \([^:@]*\).*/\1/' | grep -vxF "$@") || :
	[ -n "$guests" ] || return 0
	ports=$(print_ports)
	(
		n=0
		trap n=300 TERM
		while [ $n -lt 300 ]; do
			rejoin
			sleep 0.2
			n=$((n + 1))
		done
	) &
	# shellcheck disable=SC2064 # it is this process
	trap "kill $! 2>/dev/null || :; wait $! || :; rejoin" EXIT
}

# print_ports prints what gives the ports of the bridge their options and VLANs, as commands of bridge(8).
print_ports() {
	bridge -d link show 2>/dev/null | awk -v master=" master $bridge " '/^[0-9]+:/ { port = $2; sub(/[:@].*/, "", port); mine = index($0, master) }
		mine { for (i = 1; i < NF; i++)
			if ($i ~ /^(isolated|hairpin|guard|root_block|fastleave|learning|flood|mcast_flood|bcast_flood|neigh_suppress|locked)$/) print "link set dev", port, $i, $(i + 1)
		}'
	bridge vlan show 2>/dev/null | awk 'NR > 1 {
		if ($0 ~ /^[^ \t]/) { port = $1; $1 = ""; $0 = $0; n = 0 }
		if ($1 ~ /^[0-9]/ && !n++) print "vlan del dev", port, "vid 1"
		if ($1 ~ /^[0-9]/) print "vlan add dev", port, "vid", $1, (/PVID/ ? "pvid" : ""), (/Untagged/ ? "untagged" : "")
	}'
}

# rejoin puts those guests back that the bridge has lost, and gives back their options and VLANs to those that have others.
rejoin() {
	now=$(print_ports)
	for guest in $guests; do
		if ! ip -o link show dev "$guest" 2>/dev/null | grep -qF " master $bridge "; then ip link set dev "$guest" master "$bridge" 2>/dev/null || continue; fi
		before=$(printf '%s\n' "$ports" | grep -F " dev $guest ") || :
		if [ "$before" != "$(printf '%s\n' "$now" | grep -F " dev $guest ")" ]; then printf '%s\n' "$before" | bridge -force -batch - >/dev/null 2>&1 || :; fi
	done
}
