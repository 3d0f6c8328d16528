# shellcheck shell=sh
# Prints those addresses that another machine on a device's wire answers for, each with its hardware address. The kernel asks for the owner
# of an address (ARP, neighbour discovery) before it sends a ping; the ping itself needs no answer. Two who ask at one time take turns, as
# each forgets what the kernel knew before, and so what the other one has just learned; a lock on the directory leaves no file behind.
# Arguments: how many seconds an answer may take; the device; the addresses.
wait=$1
device=$2
shift 2
exec 9</run
flock -w 60 9 2>/dev/null
ask() {
  ip neigh del "$1" dev "$device" 2>/dev/null
  ping -n -c 1 -W "$wait" -I "$device" "$1" >/dev/null 2>&1
  ip neigh show to "$1" dev "$device" | awk -v a="$1" '{ for (i = 1; i < NF; i++) if ($i == "lladdr" && $NF != "FAILED") print a, $(i + 1) }'
}
for address; do ask "$address" & done
wait
