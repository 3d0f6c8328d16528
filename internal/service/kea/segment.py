# Asks on the wire who gives out addresses: prints the address of every DHCP server that offers one on the device, its first argument, within
# four seconds: dnsmasq looks for three whether somebody has the address. The question comes from a made-up card, and no offer is taken. Exit status 0.
import os, socket, struct, sys, time


def read_offer(data, number, sender):
    """The address of the server whose offer a packet is, for the question of a number; None for any other packet."""
    if len(data) < 241 or data[0] != 2 or data[4:8] != number: return None
    server, at = sender, 240
    while at + 1 < len(data) and data[at] != 255:
        if data[at] == 0:
            at += 1
            continue
        value = data[at + 2:at + 2 + data[at + 1]]
        if data[at] == 54 and data[at + 1] == 4 and len(value) == 4: server = socket.inet_ntoa(value)
        at += 2 + data[at + 1]
    return server


def ask(device):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    s.setsockopt(socket.SOL_SOCKET, 25, device.encode())  # SO_BINDTODEVICE
    s.bind(("0.0.0.0", 68))
    card = bytes([0x02]) + os.urandom(5)
    number = os.urandom(4)
    header = struct.pack("!BBBB4sHH16x16s192x", 1, 1, 6, 0, number, 0, 0x8000, card)
    question = header + bytes([99, 130, 83, 99, 53, 1, 1, 55, 1, 1, 255])
    end, again, seen = time.monotonic() + 4.0, 0, set()
    while True:
        now = time.monotonic()
        if now >= end: break
        if now >= again:
            s.sendto(question, ("255.255.255.255", 67))
            again = now + 0.9
        s.settimeout(max(0.01, min(end, again) - now))
        try: data, sender = s.recvfrom(4096)
        except socket.timeout: continue
        server = read_offer(data, number, sender[0])
        if server is not None and server not in seen: print("answers", server)
        seen.add(server)


if __name__ == "__main__": ask(sys.argv[1])
