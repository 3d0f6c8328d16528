package hypervisor

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// sendFrom sends a message to the DHCP server of a bridge of this machine as if it came from that bridge: dnsmasq answers to
// nothing else.
func sendFrom(ctx context.Context, bridge string, server netip.Addr, message []byte) error {
	var bound error
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		err := raw.Control(func(fd uintptr) { bound = syscall.BindToDevice(int(fd), bridge) })
		if err == nil && bound != nil {
			err = fmt.Errorf("bind to bridge %s: %w", bridge, bound)
		}
		return err
	}}
	conn, err := dialer.DialContext(ctx, "udp4", netip.AddrPortFrom(server, 67).String())
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write(message)
	return err
}
