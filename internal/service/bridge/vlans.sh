# shellcheck shell=sh
# Makes a bridge with VLANs in a network namespace of its own, and prints "none" where it has none. Where there can be no such namespace
# nothing is known, and nothing printed.
unshare --net true 2>/dev/null || exit 0
unshare --net sh -c 'ip link add name probe type bridge vlan_filtering 1 && [ -n "$(ip -details link show dev probe | grep -w "vlan_filtering 1")" ]' 2>/dev/null || echo none
