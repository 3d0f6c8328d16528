# shellcheck shell=sh
# Prints what there is to know before a DHCP server is put on the device $1: a line "address CIDR" for each of its addresses, "port WORDS"
# where a process has the port already (as ss tells it), and "answers ADDRESS" for each server that gives out addresses on the segment, which
# the program $2 asks for; "peer" where the other one of a pair takes connections at the address $3 and port $4. "deaf" says that there is no
# python to ask with; status 44 that there is no such device.
set -u
ip link show dev "$1" >/dev/null 2>&1 || exit 44
ip -o -4 address show dev "$1" | awk '{ print "address", $4 }'
ss -Hlunp 'sport = :67' | awk '{ print "port", $4, $NF }'
ip -o link show up dev "$1" | grep -q . || exit 0
for p in python3 /usr/libexec/platform-python; do
	command -v "$p" >/dev/null 2>&1 || continue
	[ -z "${3-}" ] || ! "$p" -c 'import socket, sys; socket.create_connection(sys.argv[1:], 3)' "$3" "$4" 2>/dev/null || echo peer
	exec "$p" -c "$2" "$1"
done
echo deaf
