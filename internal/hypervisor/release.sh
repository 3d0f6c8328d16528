# shellcheck shell=sh
# Sends a message to a DHCP server as if it came from a device, with what the machine has: Debian always has perl, Red Hat's family a python,
# and neither is everywhere; status 69 says that there is neither. 25 is SO_BINDTODEVICE. Arguments: the device; the server's address; the
# message in hexadecimal.
for p in python3 /usr/libexec/platform-python; do
	command -v "$p" >/dev/null || continue
	# shellcheck disable=SC2093 # what follows is for where there is none
	exec "$p" -c '
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 25, sys.argv[1].encode())
s.sendto(bytes.fromhex(sys.argv[3]), (sys.argv[2], 67))' "$@"
done
if command -v perl >/dev/null; then exec perl -MSocket -e '
	socket(S, PF_INET, SOCK_DGRAM, 0) && setsockopt(S, SOL_SOCKET, 25, $ARGV[0]) &&
		send(S, pack("H*", $ARGV[2]), 0, pack_sockaddr_in(67, inet_aton($ARGV[1]))) or die "send from $ARGV[0]: $!\n"' "$@"; fi
echo "neither python3 nor perl is installed" >&2; exit 69
