package hypervisor

import (
	"context"
	"fmt"

	"github.com/digitalocean/go-libvirt"
)

// Host is what a hypervisor's machine says of itself.
type Host struct {
	Hostname string
	// Libvirt and Emulator are versions such as "9.0.0"; Emulator is QEMU's.
	Libvirt, Emulator string
	// CPUs are the logical ones in use.
	CPUs int
	// Memory and Free are bytes.
	Memory, Free uint64
}

// Host asks the hypervisor's machine what it is.
func (c *Client) Host(ctx context.Context) (Host, error) {
	return callIdempotent(ctx, c, "ask the hypervisor what it is", func(l *libvirt.Libvirt) (Host, error) {
		var h Host
		var err error
		if h.Hostname, err = l.ConnectGetHostname(); err != nil {
			return h, err
		}
		library, err := l.ConnectGetLibVersion()
		if err != nil {
			return h, err
		}
		emulator, err := l.ConnectGetVersion()
		if err != nil {
			return h, err
		}
		h.Libvirt, h.Emulator = formatVersion(library), formatVersion(emulator)
		_, kib, cpus, _, _, _, _, _, err := l.NodeGetInfo()
		if err != nil {
			return h, err
		}
		h.CPUs, h.Memory = int(cpus), kib<<10
		h.Free, err = l.NodeGetFreeMemory()
		return h, err
	})
}

// HasLibvirt says whether the host's libvirt is of a version or newer. One that does not tell its version counts as new.
func (h Host) HasLibvirt(major, minor int) bool {
	var has, hasMinor int
	if _, err := fmt.Sscanf(h.Libvirt, "%d.%d", &has, &hasMinor); err != nil {
		return true
	}
	return has > major || has == major && hasMinor >= minor
}

// formatVersion spells libvirt's number of a version: 9000000 is 9.0.0.
func formatVersion(n uint64) string {
	return fmt.Sprintf("%d.%d.%d", n/1_000_000, n/1000%1000, n%1000)
}
