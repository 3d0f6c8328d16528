//go:build !linux

package hypervisor

import (
	"context"
	"net/netip"
)

// sendFrom has no way to pretend to be a bridge's here.
func sendFrom(context.Context, string, netip.Addr, []byte) error { return errNoRelease }
