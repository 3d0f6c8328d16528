#!/bin/sh
# person.sh add|remove KIND NAME [VALUE…]: what a person does on a service node by hand. It ends with 9 where that makes no sense now.
set -eu
verb=$1 kind=$2 name=$3
shift 3
running() { systemctl is-active --quiet "$1" || exit 9; }
nb() { ovn-nbctl --timeout=20 "$@"; }
told() { ! systemctl is-active --quiet "$1" || systemctl reload "$1"; }
# load_networkd has systemd-networkd read its files. Of a device that it configures anew it takes away what no file of its has: a careful
# person puts that back, and leaves keepalived's to keepalived.
load_networkd() {
	# Who is letting an address go at this moment has it gone first.
	n=0
	until [ "$n" -ge 100 ] || [ ! -e /var/lib/virtcluster/keepalived/journal.json ]; do
		n=$((n + 1))
		sleep 0.1
	done
	had=$(ip -o -4 addr show dev eth1 | awk '{ print $4 }')
	routes=$(ip -4 route show proto boot)
	networkctl reload
	for device in eth0 eth1; do
		n=0
		until [ "$n" -ge 50 ] || networkctl list --no-legend --no-pager "$device" | grep -qw configured; do
			n=$((n + 1))
			sleep 0.1
		done
	done
	# shellcheck disable=SC2086 # a route is several words
	printf '%s\n' "$routes" | while read -r route; do [ -z "$route" ] || ip route replace $route || :; done
	for address in $had; do
		grep -qF "${address%/*}" /etc/keepalived/keepalived.conf 2>/dev/null || ip addr replace "$address" dev eth1
	done
}

case $verb-$kind in
add-hosts) printf '10.8.0.%s %s.example\n' "$1" "$name" >>/etc/hosts ;;
remove-hosts) sed -i "/^10\.8\.0\.$1 $name\.example$/d" /etc/hosts ;;
add-file) printf '%s\n' "$name" >"/srv/$name" && chown nobody:nogroup "/srv/$name" && chmod 0640 "/srv/$name" ;;
remove-file) rm "/srv/$name" ;;
add-networkd)
	mkdir -p /etc/systemd/network/10-eth1.network.d
	printf '[Network]\nAddress=%s/24\n' "$1" >"/etc/systemd/network/10-eth1.network.d/$name.conf"
	load_networkd
	ip addr replace "$1/24" dev eth1
	;;
remove-networkd)
	rm "/etc/systemd/network/10-eth1.network.d/$name.conf"
	rmdir --ignore-fail-on-non-empty /etc/systemd/network/10-eth1.network.d
	load_networkd
	ip addr del "$1/24" dev eth1 || :
	;;
add-address) ip addr add "$1/24" dev eth1 ;;
remove-address)
	ip addr del "$1/24" dev eth1 || :
	# named goes on listening on what is gone until it looks again, which is within the hour.
	rndc scan >/dev/null 2>&1 || :
	;;
add-rules)
	nft -f - <<-RULES
		table ip $name {
			chain pre {
				type nat hook prerouting priority dstnat; policy accept;
				fib daddr type local tcp dport $1 dnat to $2:7002
			}
		}
	RULES
	;;
remove-rules) nft delete table ip "$name" || : ;;
add-haproxy)
	running haproxy
	printf '\nfrontend %s\n\tbind *:%s\n\tmode http\n\ttimeout client 5s\n\thttp-request return status 200 content-type text/plain string %s\n' "$name" "$1" "$name" >>/etc/haproxy/haproxy.cfg
	told haproxy
	;;
remove-haproxy)
	perl -0pi -e "s/\nfrontend $name\n(?:\t[^\n]*\n)+//" /etc/haproxy/haproxy.cfg
	told haproxy
	;;
add-zone)
	running named
	! grep -q '^view' /etc/bind/named.conf || exit 9
	# shellcheck disable=SC2016 # the dollar is BIND's
	printf '$TTL 60\n@ SOA ns1 root 1 3600 600 86400 60\n@ NS ns1\nns1 A 10.0.0.1\nx A %s\n' "$1" >"/etc/bind/$name.zone"
	printf 'zone "%s.example" {\n\ttype primary;\n\tfile "/etc/bind/%s.zone";\n};\n' "$name" "$name" >>/etc/bind/named.conf.local
	rndc reconfig
	;;
remove-zone)
	perl -0pi -e "s/zone \"$name.example\" \{\n(?:\t[^\n]*\n)+\};\n//" /etc/bind/named.conf.local
	rm "/etc/bind/$name.zone"
	! systemctl is-active --quiet named || rndc reconfig
	;;
add-instance)
	running keepalived
	printf '\nvrrp_instance %s {\n\tinterface eth1\n\tvirtual_router_id %s\n\tpriority 10\n\tvirtual_ipaddress {\n\t\t%s/24\n\t}\n}\n' "$name" "$2" "$1" >>/etc/keepalived/keepalived.conf
	told keepalived
	;;
remove-instance)
	perl -0pi -e "s/\nvrrp_instance $name \{\n(?:\t[^\n]*\n)+\}\n//" /etc/keepalived/keepalived.conf
	told keepalived
	;;
add-route) ip route add "$1" via 10.0.100.253 ;;
remove-route) ip route del "$1" || : ;;
add-export)
	running nfs-server
	printf '%s %s(ro)\n' "$1" "$2" >"/etc/exports.d/$name.exports"
	exportfs -r
	;;
remove-export) rm "/etc/exports.d/$name.exports" && exportfs -r ;;
add-resolver) printf 'search %s.example\n' "$name" >>/etc/resolv.conf ;;
remove-resolver) sed -i "/search $name\.example$/d" /etc/resolv.conf ;;
add-bridge) ip link add "$1" type bridge ;;
remove-bridge) ip link del "$1" || : ;;
add-spare) ip addr add "$1" dev spare0 ;;
remove-spare) ip addr del "$1" dev spare0 || : ;;
add-stop) running "$1" && systemctl stop "$1" ;;
remove-stop) ! systemctl is-enabled --quiet "$1" || systemctl start "$1" ;;
remove-unit)
	systemctl disable --quiet --now "$1"
	# Who took the last instance out of a file that was not there before the first one removes it.
	[ "$1" != keepalived ] || [ -s /etc/keepalived/keepalived.conf ] || rm -f /etc/keepalived/keepalived.conf
	;;
add-forget) rm -rf /var/lib/virtcluster/addresspool ;;
add-unwrite) sed -i "/^$1[[:space:]]/d" /etc/hosts ;;
add-unlink) ip link del "$1" || exit 9 ;;
add-unroute) ip route del "$1" ;;
add-segment) nb --wait=sb ls-add "$1" -- lsp-add "$1" "$name" || exit 9 ;;
remove-segment) nb ls-del "$1" ;;
add-router) nb lr-add "$1" -- lrp-add "$1" "$name" 02:00:00:00:00:08 "$2/16" || exit 9 ;;
remove-router) nb lr-del "$1" ;;
add-balancer)
	[ -z "$(nb --bare --columns=name find Load_Balancer name="$1")" ] || exit 9
	nb lb-add "$1" "${2%%=*}" "${2#*=}"
	;;
remove-balancer) nb lb-del "$1" ;;
add-port) nb lsp-add "$1" "$name" || exit 9 ;;
remove-port) nb --if-exists lsp-del "$name" ;;
add-listener)
	[ -z "$(ss -Hltn "sport = :$1")" ] || exit 9
	systemd-run --quiet --collect --unit="$name" socat "TCP-LISTEN:$1,fork,reuseaddr" SYSTEM:true
	;;
remove-listener) systemctl stop "$name" || : ;;
add-unrow)
	! nb lsp-list "$1" | grep -q '(person' || exit 9
	nb ls-del "$1"
	;;
*) echo "person.sh cannot $verb $kind" >&2 && exit 2 ;;
esac
