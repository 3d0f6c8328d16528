# shellcheck shell=sh
# Prints those addresses that another machine on a device's wire answers for, each with its hardware address, also where this one has them
# too. The kernel asks for the owner of an address (ARP, neighbour discovery) before it sends a ping; the ping itself needs no answer. Two who
# ask at one time take turns, as each forgets what the kernel knew before, and so what the other one has just learned; a lock on the directory
# leaves no file behind.
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
# What the machine has itself it asks nobody for. A device beside its own one does, in a namespace that goes with its process, and without an
# address of its own, as who probes for one before it takes it (RFC 5227). Of IPv6 the kernel does this itself.
ask_beside() {
  unshare --net sleep 60 9>&- >/dev/null 2>&1 &
  beside=$!
  while [ "$(readlink "/proc/$beside/ns/net")" = "$(readlink "/proc/$$/ns/net")" ]; do sleep 0.01; done
  in="nsenter --net=/proc/$beside/ns/net"
  {
    ip link add link "$device" name beside netns "$beside" type macvlan mode private && $in ip link set lo up && $in ip link set beside up &&
      $in ip route add "$1" dev beside && $in ping -n -c 1 -W "$wait" -I beside "$1"
  } >/dev/null 2>&1
  $in ip neigh show to "$1" dev beside 2>/dev/null | awk -v a="$1" '{ for (i = 1; i < NF; i++) if ($i == "lladdr" && $NF != "FAILED") print a, $(i + 1) }'
  kill "$beside" 2>/dev/null
}
for address; do
  case $(ip -o address show to "$address" 2>/dev/null) in
  '') ask "$address" & ;;
  *' inet '*) ask_beside "$address" & ;;
  esac
done
wait
