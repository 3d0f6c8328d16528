# shellcheck shell=sh
# Has Kea look at the configuration $1, as it is staged. Where its hooks are is a link of the unit's, which is not there now; a real path
# stands in for it. Kea's own words go to standard output, and its status is the script's.
set -u
hooks=
for at in /usr/lib/*/kea/hooks /usr/lib64/kea/hooks /usr/lib/kea/hooks; do
	[ ! -d "$at" ] || hooks=$at
done
copy=$(mktemp) || exit 1
trap 'rm -f "$copy"' EXIT
sed "s|\"/run/kea/hooks/|\"$hooks/|" "$1" >"$copy"
words=$(kea-dhcp4 -t "$copy" 2>&1) && exit 0
printf '%s\n' "$words" | sed -n "s|$copy||g; s/.*\(Error encountered: \|DHCP4_[A-Z_]*FAIL[A-Z]* \|ERROR *\[[^]]*] *\)//p" | tail -n 3
exit 1
