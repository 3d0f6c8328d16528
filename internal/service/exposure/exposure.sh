#!/bin/sh
# Written by terraform-provider-virtcluster. What it exposes on this machine is in the files beside this one: `up` makes it live
# (`up-later` until it is; after `up untold`, `tell` has the neighbours know of new addresses), `rules` all but the addresses, and `check`
# says what of it is not live, if anything.
set -u
here=/var/lib/virtcluster/exposure
# What was made live since the machine started, and is taken back with the last exposure.
run=/run/virtcluster-exposure
table='inet virtcluster'
# What is made here carries it: the table has an empty chain of this name, and the chain of iptables a rule with this comment.
mark=made-by-terraform-provider-virtcluster

fail() {
	echo "$*" >&2
	exit 1
}

versions() { # the versions of IP that are translated
	cut -c1 "$here/accepted" 2>/dev/null | sort -u
}

forwarding() { # VERSION: the switch of forwarding
	case $1 in
	4) echo /proc/sys/net/ipv4/ip_forward ;;
	6) echo /proc/sys/net/ipv6/conf/all/forwarding ;;
	esac
}

# keep_routers has the kernel heed router advertisements where it does so now: a machine that forwards ignores them unless it is told
# otherwise, and loses the default route that it learned from them. Devices of networkd and of NetworkManager heed none in the kernel.
keep_routers() {
	for heeds in /proc/sys/net/ipv6/conf/*/accept_ra; do
		[ "$(cat "$heeds" 2>/dev/null)" = 1 ] && echo 2 >"$heeds" && echo "$heeds" >>"$run/routers"
	done 2>/dev/null
}

forget_routers() {
	[ -e "$run/routers" ] || return 0
	while read -r heeds; do
		[ "$(cat "$heeds" 2>/dev/null)" != 2 ] || echo 1 >"$heeds"
	done <"$run/routers"
	rm -f "$run/routers"
}

forwarding_up() {
	for version in $(versions); do
		switch=$(forwarding "$version")
		if [ "$(cat "$switch")" = 0 ]; then
			mkdir -p "$run"
			: >"$run/forwarding$version"
			[ -e "$here/networks$version" ] || networks "$version" >"$here/networks$version"
			[ "$version" = 4 ] || keep_routers
			echo 1 >"$switch" || fail "cannot switch on $switch"
		fi
	done
}

# networks prints the routes of a version of IP, one a line, but for what changes by itself.
networks() { # VERSION
	ip "-$1" -o route show table all type unicast 2>/dev/null |
		sed '/^fe80/d; / proto ra /d; /^[^ /]* dev [^ ]* \(table [^ ]* \)\?proto kernel/d; s/ \(src\|expires\|pref\) [^ ]*//g; s/ linkdown//g; s/ dead//g; s/ *$//' | sort -u
}

# note_routed remembers that the machine forwards connections of others, as the table that counts them is about to go.
note_routed() {
	for version in 4 6; do
		if nft list chain "$table" routed 2>/dev/null | grep -q "nfproto ipv$version counter packets [1-9]"; then
			mkdir -p "$run"
			: >"$run/routed$version"
		fi
	done
}

# needed_by prints who may need forwarding beside the exposures, which switched it on; nothing where nobody came to need it since.
needed_by() { # VERSION
	if forwards; then
		echo 'others have rules for what is forwarded'
	elif legacy_rules "$1"; then
		echo 'iptables-legacy may have rules for what is forwarded'
	elif configured "$1"; then
		echo 'the configuration of the machine asks for it'
	elif [ -e "$run/routed$1" ]; then
		echo 'the machine forwarded connections of others meanwhile'
	elif ! [ -e "$here/networks$1" ] || networks "$1" | grep -qvxF -f "$here/networks$1"; then
		echo 'the machine has other networks now than when it was switched on'
	fi
}

# legacy_rules says whether the kernel's older tables have rules that matter to what is forwarded; in doubt they have.
legacy_rules() { # VERSION
	case $1 in
	4) loaded=/proc/net/ip_tables_names program=iptables ;;
	6) loaded=/proc/net/ip6_tables_names program=ip6tables ;;
	esac
	[ -s "$loaded" ] || return 1
	rules=$("$program-legacy-save" 2>/dev/null) || return 0
	printf '%s\n' "$rules" | grep -qE '^-A (PREROUTING|FORWARD|POSTROUTING) |^:FORWARD DROP'
}

# configured says whether files of the machine switch forwarding on.
configured() { # VERSION
	case $1 in
	4) switch='net[./]ipv4[./](ip_forward|conf[./](all|default)[./]forwarding)' word=IPv4Forwarding ;;
	6) switch='net[./]ipv6[./]conf[./](all|default)[./]forwarding' word=IPv6Forwarding ;;
	esac
	grep -qsE "^[[:space:]]*-?${switch}[[:space:]]*=[[:space:]]*[1-9]" /etc/sysctl.conf /etc/sysctl.d/*.conf /run/sysctl.d/*.conf /usr/lib/sysctl.d/*.conf /usr/local/lib/sysctl.d/*.conf ||
		grep -qsiE "^(IPForward|IPMasquerade|$word)=(yes|true|on|1|ipv4|ipv6|both|kernel)" /etc/systemd/networkd.conf /etc/systemd/networkd.conf.d/*.conf /etc/systemd/network/*.network /etc/systemd/network/*/*.conf /run/systemd/network/*.network
}

# forwards says whether others have a rule, or a policy, for what is forwarded or leaves: they may need forwarding too.
forwards() {
	nft list ruleset 2>/dev/null | awk '/hook (forward|postrouting)/ { inside = 1; used += /policy drop/; next } /^\t}/ { inside = 0 } inside && NF { used++ } END { exit !used }'
}

# Forwarding that others may have come to need meanwhile stays on, as does what is not as it was switched on.
forwarding_down() {
	for version in 4 6; do
		if [ -e "$run/forwarding$version" ] && [ "$(cat "$(forwarding "$version")")" = 1 ]; then
			who=$(needed_by "$version")
			if [ -n "$who" ]; then
				echo "note: forwarding of IPv$version, which exposures switched on, stays on until the machine starts: $who"
			else
				echo 0 >"$(forwarding "$version")"
				[ "$version" = 4 ] || forget_routers
			fi
		fi
		rm -f "$run/forwarding$version" "$run/routed$version" "$here/networks$version"
	done
}

tables() { # VERSION: the program that manages the other rules of it
	case $1 in
	4) echo iptables ;;
	6) echo ip6tables ;;
	esac
}

# foreign says what has the name of something here and was made by somebody else, who would lose it.
foreign() {
	case $(listed) in
	'' | *"chain $mark {"*) ;;
	*) echo "the table \"$table\" of nftables is somebody else's, and rules of exposures would replace it: rename it there (nft list table $table), or remove it (nft delete table $table)" ;;
	esac
	for version in 4 6; do foreign_chain "$version"; done
}

# An empty chain may be the one that was made here, flushed by another program.
foreign_chain() { # VERSION
	program=$(tables "$1")
	command -v "$program" >/dev/null || return 0
	case $("$program" --wait -S VIRTCLUSTER 2>/dev/null) in
	'' | *"$mark"*) ;;
	'-N VIRTCLUSTER') [ -e "$run/chain$1" ] || echo "the chain VIRTCLUSTER of $program is somebody else's, although it is empty: remove it ($program -X VIRTCLUSTER), or rename it ($program -E VIRTCLUSTER OTHER)" ;;
	*) echo "the chain VIRTCLUSTER of $program is somebody else's, and rules of exposures would replace it: rename it ($program -E VIRTCLUSTER OTHER), or remove it" ;;
	esac
}

# accepted_up lets what is translated pass the rules that others have for what is forwarded. The chain is replaced in one step,
# and its jump is the first of all.
accepted_up() {
	for version in 4 6; do
		program=$(tables "$version")
		lines=$(sed -n "s/^$version //p" "$here/accepted" 2>/dev/null)
		command -v "$program" >/dev/null || continue
		if [ -z "$lines" ]; then
			accepted_down "$version"
			continue
		fi
		if ! nft list table "$(family "$version")" filter >/dev/null 2>&1; then
			mkdir -p "$run"
			: >"$run/filter$version"
		fi
		mkdir -p "$run"
		: >"$run/chain$version"
		printf '*filter\n:VIRTCLUSTER - [0:0]\n-A VIRTCLUSTER -m comment --comment %s\n%s\nCOMMIT\n' "$mark" "$lines" | "$program-restore" --noflush --wait || fail "cannot write the chain VIRTCLUSTER of $program"
		first_jump "$version" && continue
		while "$program" --wait -D FORWARD -j VIRTCLUSTER 2>/dev/null; do :; done
		"$program" --wait -I FORWARD -j VIRTCLUSTER || fail "cannot let $program forward to VIRTCLUSTER"
	done
}

first_jump() { # VERSION
	[ "$("$(tables "$1")" --wait -S FORWARD 2>/dev/null | sed -n 2p)" = '-A FORWARD -j VIRTCLUSTER' ]
}

accepted_down() { # VERSION
	program=$(tables "$1")
	command -v "$program" >/dev/null && "$program" --wait -S VIRTCLUSTER >/dev/null 2>&1 || return 0
	[ -z "$(foreign_chain "$1")" ] || return 0
	while "$program" --wait -D FORWARD -j VIRTCLUSTER 2>/dev/null; do :; done
	"$program" --wait -F VIRTCLUSTER && "$program" --wait -X VIRTCLUSTER
	# The table itself, where it came with the chain and nobody else has anything in it.
	[ -e "$run/filter$1" ] && ! nft list table "$(family "$1")" filter 2>/dev/null | grep -qvE '^#|^table |^$|^.chain |type filter hook .* policy accept;$|^.?}$' || return 0
	nft delete table "$(family "$1")" filter 2>/dev/null
	rm -f "$run/filter$1"
}

family() { # VERSION: nftables' word for it
	case $1 in
	4) echo ip ;;
	6) echo ip6 ;;
	esac
}

has_address() { # DEVICE ADDRESS/LENGTH, or the address with the length of the device's network
	ip -o address show dev "$1" to "${2%/*}" 2>/dev/null | grep -q .
}

# announce tells the neighbours where an address is now: each that has it in its tables learns of it from the question for any other.
# What several addresses ask of one neighbour at a time the kernel asks in the name of the first: each has others to ask.
announce() { # DEVICE ADDRESS/LENGTH NUMBER
	address=${2%/*}
	if command -v arping >/dev/null && [ "${address#*:}" = "$address" ]; then
		arping -q -U -c 2 -w 2 -I "$1" "$address" >/dev/null 2>&1
		return 0
	fi
	case $address in
	*:*) ping -6 -n -c 1 -W 1 -I "$address" "ff02::1%$1" ;;
	*) for last in "$3" $(($3 + 63)) $(($3 + 126)) $(($3 + 189)); do ping -n -c 1 -W 1 -I "$address" "${address%.*}.$last" & done && wait ;;
	esac >/dev/null 2>&1
	return 0
}

has_left() { # DEVICE ADDRESS/LENGTH: the address is not on it any more, as far as the machine can tell
	said=$(ip -o address show dev "$1" to "${2%/*}" 2>&1) && [ -z "$said" ] && return 0
	case $said in *'does not exist'*) return 0 ;; esac
	return 1
}

# addresses_down takes away what was put on devices and is no longer asked for; what others put there stays. What is still there is not forgotten.
addresses_down() {
	[ -e "$run/addresses" ] || return 0
	stuck=
	# sed leaves the file that is read as it is, and puts another one in its place.
	# shellcheck disable=SC2094
	while read -r device address; do
		grep -qxF "$device $address" "$here/addresses" 2>/dev/null && continue
		ip address del "$address" dev "$device" 2>/dev/null
		if has_left "$device" "$address"; then
			sed -i "\|^$device $address\$|d" "$run/addresses"
		else
			stuck="$stuck cannot take $address off $device;"
		fi
	done <"$run/addresses"
	[ -z "$stuck" ] || fail "${stuck# }"
}

# addresses_up puts on devices what is not there, and prints it, as it does what was put there and of which the neighbours were not told.
addresses_up() { # HOW: "untold" where who calls asks the neighbours first, and tells them then
	[ -e "$here/addresses" ] || return 0
	mkdir -p "$run"
	touch "$run/addresses" "$run/untold"
	words=
	while read -r device address; do
		if ! has_address "$device" "$address"; then
			# Written down first: a run that is killed in between leaves no address that nobody takes back, or that nobody is told of.
			for list in addresses untold; do
				grep -qxF "$device $address" "$run/$list" || echo "$device $address" >>"$run/$list"
			done
			if ! ip address add "$address" dev "$device"; then
				# Whoever puts it there later keeps it.
				sed -i "\|^$device $address\$|d" "$run/addresses" "$run/untold"
				words="$words cannot put $address on $device;"
				continue
			fi
		fi
		! grep -qxF "$device $address" "$run/untold" || echo "put $address on $device"
	done <"$here/addresses"
	[ "$1" = untold ] || tell_neighbours
	[ -z "$words" ] || fail "${words# }"
}

# tell_neighbours announces the addresses of which they were not told.
tell_neighbours() {
	[ -e "$run/untold" ] || return 0
	number=0
	while read -r device address; do
		number=$((number % 63 + 1))
		! has_address "$device" "$address" || announce "$device" "$address" "$number" </dev/null &
	done <"$run/untold"
	wait
	rm -f "$run/untold"
}

# ports_of_targets prints the port of each bridge that a target is behind, where what bridges pass on is filtered as what the machine
# forwards is (br_netfilter). There a guest reaches itself only by a port that sends back where it came from.
ports_of_targets() {
	targets | while read -r target bridge; do
		mac=$(ip neigh show to "$target" dev "$bridge" | sed -n 's/.* lladdr \([^ ]*\).*/\1/p')
		[ -z "$mac" ] || bridge fdb show br "$bridge" | sed -n "s/^$mac dev \([^ ]*\) .*/\1/p" | head -n 1
	done | sort -u
}

targets() { # those behind such bridges, each with its bridge
	sed -n 's/.* -d \([^ ]*\) .*/\1/p' "$here/accepted" 2>/dev/null | sort -u | while read -r target; do
		bridge=$(ip route get "$target" 2>/dev/null | sed -n 's/.* dev \([^ ]*\).*/\1/p')
		case $target in *:*) filter=ip6tables ;; *) filter=iptables ;; esac
		case $(cat /proc/sys/net/bridge/bridge-nf-call-$filter 2>/dev/null)$(ip -d link show dev "${bridge:-lo}" type bridge 2>/dev/null) in
		1?* | *"nf_call_$filter 1"*) echo "$target $bridge" ;;
		esac
	done
}

sends_back() { # PORT
	bridge -d link show dev "$1" 2>/dev/null | grep -q 'hairpin on'
}

# ask_targets has those answer of whom nothing is known, as who was silent for a while is forgotten. All are asked at once. A bridge
# passes nothing on for two seconds after a port came up, and questions for addresses are repeated every second, three times; who said
# nothing until then is not waited for again within 15 seconds, in which an apply may come here for many of its exposures.
ask_targets() {
	now=$(date +%s)
	waited=$(awk -v now="$now" 'now - $2 < 15 { print $1 }' "$run/silent" 2>/dev/null)
	asked=$(targets | while read -r target bridge; do printf '%s\n' "$waited" | grep -qxF -- "$target" || echo "$target $bridge"; done)
	[ -n "$asked" ] || return 0
	printf '%s\n' "$asked" | {
		while read -r target bridge; do ping -n -c 1 -W 4 "$target" & done
		wait
	} >/dev/null 2>&1
	mkdir -p "$run"
	{
		awk -v now="$now" 'now - $2 < 15' "$run/silent" 2>/dev/null
		printf '%s\n' "$asked" | while read -r target bridge; do
			ip neigh show to "$target" dev "$bridge" | grep -q lladdr || echo "$target $now"
		done
	} >"$run/silent.new"
	mv "$run/silent.new" "$run/silent"
}

hairpins() {
	ask_targets
	wanted=$(ports_of_targets)
	# shellcheck disable=SC2013 # a name of a device has no blanks
	for port in $(cat "$run/hairpins" 2>/dev/null); do
		echo "$wanted" | grep -qxF "$port" && continue
		bridge link set dev "$port" hairpin off 2>/dev/null
		sed -i "/^$port\$/d" "$run/hairpins"
	done
	for port in $wanted; do
		sends_back "$port" && continue
		mkdir -p "$run"
		grep -qxF "$port" "$run/hairpins" 2>/dev/null || echo "$port" >>"$run/hairpins"
		bridge link set dev "$port" hairpin on || fail "cannot have $port send back what a guest sends to itself"
	done
}

units_up() {
	systemd=/etc/systemd/system
	changed=
	for link in sysinit.target.wants/virtcluster-exposure.service multi-user.target.wants/virtcluster-exposure-addresses.service; do
		unit=$systemd/${link#*/}
		if [ -e "$unit" ] && [ ! -e "$systemd/$link" ]; then
			mkdir -p "$systemd/${link%/*}"
			ln -sfn "../${link#*/}" "$systemd/$link"
			changed=yes
		elif [ ! -e "$unit" ] && [ -L "$systemd/$link" ]; then
			rm -f "$systemd/$link"
			changed=yes
		fi
	done
	[ -z "$changed" ] || systemctl daemon-reload
}

rules_up() {
	if [ -e "$here/table.nft" ]; then
		words=$(foreign)
		[ -z "$words" ] || fail "$words"
		forwarding_up
		note_routed
		nft -f "$here/table.nft" || fail "nftables does not take $here/table.nft"
		accepted_up
	else
		note_routed
		case $(listed) in *"chain $mark {"*) nft delete table "$table" ;; esac
		for version in 4 6; do accepted_down "$version"; done
		forwarding_down
	fi
}

# What is listed of a table that was just read is what is listed of the live one, unless somebody changed that.
listed() { nft --stateless list table "$table" 2>/dev/null; }

check() {
	[ -e "$here/table.nft" ] || return 0
	words=$(foreign)
	[ -z "$words" ] || fail "$words"
	want=$(unshare --net sh -c "nft -f $here/table.nft && nft --stateless list table $table") || fail "nftables does not take $here/table.nft"
	[ "$want" = "$(listed)" ] || fail "the table $table of nftables is not what it shall be"
	for version in $(versions); do
		[ "$(cat "$(forwarding "$version")")" != 0 ] || fail "forwarding of IPv$version is off"
		program=$(tables "$version")
		! command -v "$program" >/dev/null || first_jump "$version" || fail "the chain VIRTCLUSTER of $program is not the first that forwards"
	done
	while read -r device address; do
		has_address "$device" "$address" || fail "$device does not have $address"
	done <"$here/addresses"
	for port in $(ports_of_targets); do
		sends_back "$port" || fail "$port, which a target is behind, does not send back what the target sends to itself"
	done
}

# check_wait is check, and does not take what a change under way has done so far for its end: there is a journal meanwhile.
check_wait() {
	tries=0
	until words=$(check 2>&1); do
		[ "$tries" -gt 0 ] && [ ! -e "$here/journal.json" ] || [ "$tries" -ge 50 ] && fail "$words"
		tries=$((tries + 1))
		sleep 0.2
	done
}

case ${1:-} in
rules) rules_up ;;
up)
	# An address comes after the rules that refuse strangers, and goes before them.
	addresses_down
	rules_up
	addresses_up "${2:-}"
	hairpins
	units_up
	[ -e "$here/table.nft" ] || rm -rf "$run"
	;;
tell) tell_neighbours ;;
up-later)
	# At the machine's start a device may come late.
	sh "$0" up && exit
	systemd-run --quiet --collect --unit=virtcluster-exposure-late /bin/sh "$0" late
	exit 1
	;;
late) while [ -e "$0" ] && ! sh "$0" up; do sleep 15; done ;;
check) check ;;
check-wait) check_wait ;;
foreign) foreign ;;
*) fail "usage: exposure.sh up|tell|up-later|late|rules|check|check-wait|foreign" ;;
esac
