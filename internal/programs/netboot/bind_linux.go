package netboot

import (
	"errors"
	"fmt"
	"syscall"
)

// bindTo has a socket be one of an interface alone (socket(7), SO_BINDTODEVICE), which takes no privilege since Linux 5.7.
func bindTo(device string) func(network, address string, raw syscall.RawConn) error {
	return func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = syscall.BindToDevice(int(fd), device) })
		if failed != nil {
			failed = fmt.Errorf("listen at interface %s alone: %w", device, failed)
		}
		return errors.Join(err, failed)
	}
}
