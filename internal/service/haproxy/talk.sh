# shellcheck shell=sh
# Passes its standard input to a socket, which is its argument, and prints the answer, with what the machine has: Debian always has perl,
# Fedora mostly python3, and none of the three is everywhere; status 69 says that there is none.
if command -v socat >/dev/null; then exec socat -t 60 - "UNIX-CONNECT:$1"; fi
if command -v perl >/dev/null; then exec perl -MSocket -e '
	socket(S, PF_UNIX, SOCK_STREAM, 0) && connect(S, sockaddr_un($ARGV[0])) or die "$ARGV[0]: $!\n";
	local $/; print S scalar <STDIN>; S->flush; shutdown(S, 1); print scalar <S>' "$1"; fi
if command -v python3 >/dev/null; then exec python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(sys.stdin.buffer.read()); s.shutdown(1)
while (b := s.recv(65536)): sys.stdout.buffer.write(b)' "$1"; fi
echo "none of socat, perl and python3 is installed" >&2; exit 69
