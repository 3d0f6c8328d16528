//go:build !linux

package sshhost

import (
	"syscall"
	"time"
)

// giveUpAfter is Linux's alone: elsewhere a connection that is gone is noticed by the signs of life, which takes longer.
func giveUpAfter(time.Duration) func(network, address string, raw syscall.RawConn) error { return nil }
