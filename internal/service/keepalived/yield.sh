# shellcheck shell=sh
# Has the machine hand over its virtual addresses, or keep them, by what is in the files that keepalived watches. Without a systemd that takes
# the order back nothing is done. ADDRESSES are those that move by it at once, with blanks between, "" for none: new connections to them are put
# off for less than the second after which whoever began one tries again (RFC 6298, section 2), and those that there are may end for a part of
# that. What is under way then would break, as the other machine knows nothing of it. Where nft cannot do that, it does.
#
# usage: yield.sh begin VALUE SECONDS ADDRESSES FILE...   writes VALUE, which is taken back after SECONDS
#        yield.sh look FILE...                            prints "yes" where the machine stays behind others
#        yield.sh end FILE...                             takes an order back
verb=$1
shift

# put_off_connections returns when no connection to the addresses is left, or after 0.5 s.
put_off_connections() {
	[ -n "$addresses" ] || return 0
	began=$(tell_time)
	drop='tcp flags & (syn | ack) == syn drop'
	connected=
	{
		echo 'table inet virtcluster_hand_over { }'
		echo 'delete table inet virtcluster_hand_over'
		echo 'table inet virtcluster_hand_over {'
		# They end by themselves, also where this script is killed.
		echo '  set four { type ipv4_addr; flags timeout; timeout 900ms; }'
		echo '  set six { type ipv6_addr; flags timeout; timeout 900ms; }'
		echo "  chain arriving { type filter hook prerouting priority -300; ip daddr @four $drop; ip6 daddr @six $drop; }"
		echo '}'
		for address in $addresses; do
			case $address in
			*:*) echo "add element inet virtcluster_hand_over six { $address }" ;;
			*) echo "add element inet virtcluster_hand_over four { $address }" ;;
			esac
		done
	} | nft -f - 2>/dev/null || return 0
	for address in $addresses; do connected="$connected${connected:+ or }src [$address]"; done
	while [ -n "$(ss -Htn state connected exclude time-wait "( $connected )" 2>/dev/null)" ] && has_time 50; do sleep 0.02; done
}

# take_connections has connections come again once the addresses are gone, or 0.85 s after they were put off.
take_connections() {
	[ -n "$addresses" ] || return 0
	while has_addresses && has_time 85; do sleep 0.02; done
	nft delete table inet virtcluster_hand_over 2>/dev/null || :
}

has_addresses() {
	held=$(ip -o address show)
	for address in $addresses; do
		case $held in *" $address/"*) return 0 ;; esac
	done
	return 1
}

# tell_time prints the hundredths of a second since the machine was started, and has_time says whether fewer than so many are over since $began.
tell_time() { sed 's/ .*//; s/[.]//' /proc/uptime; }
has_time() { [ $(($(tell_time) - began)) -lt "$1" ]; }

case $verb in
begin)
	set -e
	value=$1 time=$2 addresses=$3
	shift 3
	systemctl stop virtcluster-keepalived-yield.timer 2>/dev/null || :
	systemd-run --quiet --collect --unit=virtcluster-keepalived-yield --on-active="$time" /bin/sh -c 'for f; do [ ! -e "$f" ] || echo 0 >"$f"; done' sh "$@"
	put_off_connections
	for f; do [ ! -e "$f" ] || echo "$value" >"$f"; done
	take_connections
	;;
look)
	for f; do [ ! -e "$f" ] || case $(cat "$f") in -*) echo yes && break ;; esac; done
	;;
end)
	for f; do [ ! -s "$f" ] || [ "$(cat "$f")" = 0 ] || echo 0 >"$f"; done
	;;
esac
