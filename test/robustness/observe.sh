#!/bin/sh
# observe.sh: what the clients on a service node see, in sections that begin with a line "== NAME".
section() { printf '\n== %s\n' "$1"; }
section hosts
cat /etc/hosts
section addresses
ip -d -j addr show
section routes
ip -4 route show
section tables
nft list ruleset
section stat
printf 'show stat\n' | timeout 3 socat -t 3 - UNIX-CONNECT:/run/haproxy/admin.sock 2>/dev/null
section info
printf 'show info\n' | timeout 3 socat -t 3 - UNIX-CONNECT:/run/haproxy/admin.sock 2>/dev/null | grep '^Maxconn:'
section version
! systemctl is-active --quiet named || dig +short +time=1 +tries=2 @127.0.0.1 version.bind TXT CH
section views
# What each view answers to its own clients, which are an address of the loopback each.
sed -n 's/^view "\(v[0-9]\)".*/\1/p' /etc/bind/named.conf | while read -r view; do
	rndc zonestatus localhost IN "$view" >/dev/null 2>&1 || continue
	echo "$view"
	# shellcheck disable=SC2046 # they are several
	dig +norecurse +noall +comments +answer +time=1 +tries=2 -b "127.0.1.${view#v}" @127.0.0.1 $(for zone in 0 1 2; do for name in x ra rb rc rd; do echo "$name.z$zone.example"; done; done)
done
section resolver
cat /etc/resolv.conf
section exports
exportfs -s 2>/dev/null
section dhcp
# Kea says of nobody's port what it gives out: that it listens, and by which file.
[ -z "$(ss -Hlun 'sport = :67')" ] || grep -h '"pool"' /etc/kea/virtcluster/eth1/kea-dhcp4.conf
section boots
ss -Hltn '( sport >= :8090 and sport <= :8091 )' | awk '{ sub(/.*:/, "", $4); print $4 }' | sort -u | paste -sd' '
section profiles
ss -Hltn '( sport >= :8090 and sport <= :8091 )' | awk '{ print $4 }' | sort -u | while read -r where; do
	for n in 0 1; do
		curl -s --max-time 2 "http://$where/boot/52-54-00-b0-00-0$n/script.ipxe" | sed -n "s/.*\\(boot[a-d][0-9]\\{1,\\}\\).*/52:54:00:b0:00:0$n \\1/p" | head -n 1
	done
done
section time
! systemctl is-active --quiet chrony || sed -n 's/^allow //p' /etc/chrony/conf.d/virtcluster.conf 2>/dev/null | paste -sd' '
section ledgers
for file in /var/lib/virtcluster/addresspool/pools/*; do
	case $file in */original.json | */journal.json | */interrupted.json) continue ;; esac
	[ ! -e "$file" ] || { printf '%s\t' "$file" && tr -d '\n' <"$file" && echo; }
done
section haproxy
cat /etc/haproxy/haproxy.cfg
section keepalived
cat /etc/keepalived/keepalived.conf 2>/dev/null
section zones
cat /etc/bind/named.conf.local
section files
files() {
	find /srv /etc/bind /etc/haproxy /etc/keepalived /etc/systemd/network /etc/exports.d /etc/nftables.conf /etc/hosts /etc/resolv.conf /etc/dhcp /etc/nftables.d /etc/kea /etc/chrony /etc/virtcluster /var/lib/virtcluster /etc/netplan \
		-type f ! -name '*.jnl' "$@" 2>/dev/null
}
{ files -exec sha256sum {} +; files -printf '%m %u:%g %p\n'; } | awk 'NF == 2 { sum[$2] = substr($1, 1, 12) } NF == 3 { print $3, $1, $2, sum[$3] }'
section directories
# What is made for an export stays after it.
find /srv -mindepth 1 -name made -prune -o -type d -printf '%p %m %u:%g\n' 2>/dev/null
section units
systemctl is-active named haproxy keepalived nftables nfs-server | paste -sd' '
systemctl is-enabled named haproxy keepalived nftables nfs-server 2>/dev/null | paste -sd' '
section failed
# That somebody's session could not begin or end on a busy machine, or that nobody can be watched who asks for a password, is nobody's fault
# here.
systemctl list-units --state=failed --plain --no-legend | awk '$1 !~ /^(user|session-|systemd-ask-password)/ { print $1 }'
section forwarding
cat /proc/sys/net/ipv4/ip_forward
