# shellcheck shell=sh
# Functions by which a change of some devices of a machine leaves the other ones what they have. systemd-networkd reads all of its files at
# once, also those that a person edited and did not load, and has no word for when it read them last. From a device that it configures
# anew it takes what none of its files has: addresses, neighbours and routes that somebody gave the device, and rules of routing, whosever
# they are.

# print_others prints what the machine's devices have for good, but for DEVICE, as commands of ip(8) that give it to them. It leaves out what
# the kernel, a lease or a router's advertisement gives, and what something holds that may take it away at any moment, as keepalived does.
print_others() { # DEVICE...
	for mine; do
		set -- "$@" -e " dev $mine "
		shift
	done
	{
		ip -o address show permanent | awk -v held="$(print_held "" | sed 's/.* //; s|/.*||')" '
			BEGIN { split(held, list, "\n"); for (i in list) is_held[list[i]] = 1 }
			{ sub(/\\.*/, ""); address = $4; sub(/\/.*/, "", address); device = $2; sub(/@.*/, "", device) }
			address in is_held || / proto (keepalived|18|0x12) / || $3 == "inet6" && / scope link / { next }
			{
				command = "address add " $4 " dev " device
				for (i = 5; i < NF; i++) if ($i ~ /^(peer|brd|scope|metric|proto)$/) command = command " " $i " " $(i + 1)
				for (i = 5; i <= NF; i++) if ($i ~ /^(noprefixroute|nodad|home|mngtmpaddr|autojoin)$/) command = command " " $i
				print command, ($3 == "inet" ? "label " $NF " " : "")
			}'
		ip neigh show nud permanent | awk '$4 == "lladdr" && !/extern_learn/ { print "neigh replace", $1, "dev", $3, "lladdr", $5, "nud permanent " }'
		for family in -4 -6; do
			ip "$family" -o route show table all | awk -v family="$family" '
				{ gsub(/\\/, " "); $0 = $0 " " }
				/ proto (kernel|ra|dhcp|redirect|keepalived|18|0x12) / || / expires / { next }
				{ gsub(/ error -?[0-9]+/, ""); gsub(/ (linkdown|dead) /, " "); print family, "route add", $0 }'
			ip "$family" rule show | awk -v family="$family" '
				/ lookup (local|main|default) *$/ && /^(0|32766|32767):/ { next }
				{ sub(/:/, ""); gsub(/ \[detached\]/, ""); priority = $1; $1 = ""; print family, "rule add pref", priority, $0, "" }'
		done
	} | grep -vF -e ' no command of ip(8) ' "$@"
}

# give_others_back gives the other devices what they had when they were noted and have not any more. What cannot be given back, as its
# device is gone, is nobody's.
give_others_back() {
	print_others "$@" >"$others.now"
	grep -vxF -f "$others.now" "$others" | while read -r command; do
		# shellcheck disable=SC2086 # a command is several words
		ip $command 2>/dev/null || :
	done
}

# print_busy prints the devices that systemd-networkd is configuring.
print_busy() { networkctl list --no-legend --no-pager | awk '$NF ~ /^(pending|initialized|configuring)$/ { print $2 }'; }

# await_rest waits, for a while, until systemd-networkd has been configuring nothing for some moments that it was not configuring before: it
# begins a moment after it was told.
await_rest() {
	rest=0 n=0
	while [ $rest -lt 3 ] && [ $n -lt 50 ]; do
		sleep 0.1
		n=$((n + 1)) rest=$((rest + 1))
		if print_busy | grep -qvxF -f "$others.busy"; then rest=0; fi
	done
}

# note_others notes what the devices have that are not DEVICE, once for all scripts of a change: what is noted is beside the script until the
# change is over, so that what goes back knows it too. When the script ends they get back what they have lost.
note_others() { # DEVICE...
	others=${0%/*}/others
	[ -s "$others" ] || print_others "$@" >"$others"
	print_busy >"$others.busy"
	# shellcheck disable=SC2064 # it is these devices
	trap "await_rest; give_others_back $*" EXIT
}

# reload_networkd has systemd-networkd read its files, upon which it configures each device anew whose files were written, and gives those
# that are not DEVICE at once what they lose by it.
reload_networkd() { # DEVICE...
	networkctl reload
	await_rest
	give_others_back "$@"
}
