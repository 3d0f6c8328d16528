#!/bin/sh
# Prints a line for each thing that is in the way of what a machine exposes, after a word that says what it is. Its argument is the text of
# exposure.sh, which knows what is foreign.
set -u

# What firewalls that run say about themselves.
if command -v firewall-cmd >/dev/null && firewall-cmd --quiet --state 2>/dev/null; then
	firewall-cmd --get-default-zone | sed 's/^/firewalld default /'
	firewall-cmd --list-all-zones | sed 's/^/firewalld /'
elif command -v ufw >/dev/null; then
	ufw status verbose 2>/dev/null | sed 's/^/ufw /'
fi

sh -c "$1" sh foreign | sed 's/^/foreign /'
ip -o address show 2>/dev/null | awk '$2 != "lo" && !/ secondary / && !/ scope link / { print "address", $2, $4 }
$2 != "lo" { print "any", $4 }'

ss -H -lntup 2>/dev/null | while read -r protocol _ _ _ place _ who; do
	process=${who#*\(\(\"}
	process=${process%%\"*}
	pid=${who#*pid=}
	pid=${pid%%[!0-9]*}
	unit=$(sed -n 's|.*/\([^/]*\.service\).*|\1|p' "/proc/${pid:-none}/cgroup" 2>/dev/null | head -n 1)
	echo "listener $protocol $place ${process:--} ${unit:--}"
done

# Rules that see what comes in. A program that is told which table to print makes it, so none is told; what filters is left out.
! command -v nft >/dev/null || nft --json --stateless list ruleset 2>/dev/null | sed 's/^/nft /'
for family in ip ip6; do
	found=
	for program in "${family}tables-nft-save" "${family}tables-legacy-save" "${family}tables-save"; do
		command -v "$program" >/dev/null || continue
		# The last is another name of one of the others, where these are there.
		[ "$program" != "${family}tables-save" ] || [ -z "$found" ] || continue
		found=yes
		"$program" 2>/dev/null | awk -v head="iptables $program $family" '/^\*/ { wanted = $0 != "*filter" && $0 != "*security" } /^[*-]/ && wanted { print head, $0 }'
	done
done
