# shellcheck shell=sh
# Prints the sender and the virtual router id of every advertisement that a device hears in 1.5 s, with the python that cloud-init and Red
# Hat's tools bring along; status 45 says that there is none. VRRP is IP protocol 112, sent to 224.0.0.18 or ff02::12 (RFC 5798, section
# 5.1), and to the machine itself where it is unicast. Version 2 and 3 both have the id in the second byte. Arguments: the device; 4 or 6.
set -u
for p in python3 /usr/libexec/platform-python; do
	command -v "$p" >/dev/null 2>&1 && exec "$p" -c '
import socket, struct, sys, time
device, six = sys.argv[1], sys.argv[2] == "6"
s = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_RAW, 112)
s.setsockopt(socket.SOL_SOCKET, 25, device.encode())
index = socket.if_nametoindex(device)
if six:
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, socket.inet_pton(socket.AF_INET6, "ff02::12") + struct.pack("@I", index))
else:
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("224.0.0.18") + struct.pack("@4si", b"\0\0\0\0", index))
end = time.monotonic() + 1.5
while True:
    left = end - time.monotonic()
    if left <= 0: break
    s.settimeout(left)
    try: data, sender = s.recvfrom(4096)
    except socket.timeout: break
    if not six: data = data[(data[0] & 15) * 4:]
    if len(data) > 1 and data[0] & 15 == 1: print(sender[0].split("%")[0], data[1])
' "$@"
done
exit 45
