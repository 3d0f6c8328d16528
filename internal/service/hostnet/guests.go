package hostnet

import (
	"fmt"
	"slices"
	"strings"
)

// keepGuests is the script that has a bridge keep what others put into it, such as virtual machines: NetworkManager lets go of all
// ports of a bridge that it brings up by another connection, or anew. They are put back at once, with the VLANs and the options that
// they had as ports, while the commands behind the script run, and when those end: not in the middle of one's return. A port that
// NetworkManager took back itself has lost its VLANs and options too, so they are compared, and not only who is in the bridge.
// Arguments: the bridge, its own ports as options of grep's.
const keepGuests = `guests=$(ip -o link show master %[1]s 2>/dev/null | sed 's/^[0-9]*: \([^:@]*\).*/\1/' | grep -vxF %[2]s) || :
portsNow() {
  bridge -d link show 2>/dev/null | awk '/^[0-9]+:/ { port = $2; sub(/[:@].*/, "", port); mine = / master %[1]s / }
    mine { for (i = 1; i < NF; i++)
      if ($i ~ /^(isolated|hairpin|guard|root_block|fastleave|learning|flood|mcast_flood|bcast_flood|neigh_suppress|locked)$/) print "link set dev", port, $i, $(i + 1)
    }'
  bridge vlan show 2>/dev/null | awk 'NR > 1 {
    if ($0 ~ /^[^ \t]/) { port = $1; $1 = ""; $0 = $0; n = 0 }
    if ($1 ~ /^[0-9]/ && !n++) print "vlan del dev", port, "vid 1"
    if ($1 ~ /^[0-9]/) print "vlan add dev", port, "vid", $1, (/PVID/ ? "pvid" : ""), (/Untagged/ ? "untagged" : "")
  }'
}
ports=$(portsNow)
rejoin() {
  now=$(portsNow)
  for guest in $guests; do
    if ! ip -o link show dev "$guest" 2>/dev/null | grep -qF ' master %[1]s '; then ip link set dev "$guest" master %[1]s 2>/dev/null || continue; fi
    had=$(printf '%%s\n' "$ports" | grep -F " dev $guest ") || :
    if [ "$had" != "$(printf '%%s\n' "$now" | grep -F " dev $guest ")" ]; then printf '%%s\n' "$had" | bridge -force -batch - >/dev/null 2>&1 || :; fi
  done
}
if [ -n "$guests" ]; then
  (n=0; trap n=300 TERM; while [ $n -lt 300 ]; do rejoin; sleep 0.2; n=$((n + 1)); done) &
  trap "kill $! 2>/dev/null || :; wait $! || :; rejoin" EXIT
fi
`

// guestsStay is keepGuests for a bridge that stays: one that is configured, or goes back to a person's connection.
func guestsStay(from, to []Setup) string {
	var own []string
	all := append(slices.Clone(to), from...)
	for _, s := range all {
		own = append(own, "-e "+s.Device)
	}
	i := slices.IndexFunc(all, func(s Setup) bool { return s.Bridge != nil && (hasDevice(to, s.Device) || !s.isCreated()) })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf(keepGuests, all[i].Device, strings.Join(own, " "))
}
