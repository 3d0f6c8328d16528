//go:build !linux

package netboot

import (
	"errors"
	"syscall"
)

// bindTo is for Linux, which service nodes are.
func bindTo(string) func(network, address string, raw syscall.RawConn) error {
	return func(string, string, syscall.RawConn) error {
		return errors.New("only Linux listens at an interface alone")
	}
}
