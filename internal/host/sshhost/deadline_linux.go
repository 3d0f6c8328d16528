package sshhost

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// giveUpAfter has the kernel end a TCP connection whose other end acknowledged nothing for so long: the network, or the machine, is gone. It
// returns what net.Dialer calls with the socket.
func giveUpAfter(limit time.Duration) func(network, address string, raw syscall.RawConn) error {
	return func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) {
			// A kernel that cannot leaves it to the signs of life, which take longer.
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
		})
	}
}
