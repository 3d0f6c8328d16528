package hypervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/digitalocean/go-libvirt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
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

// Processors returns the numbers of the hypervisor's processors that are online, in order: some between them may be offline.
func (c *Client) Processors(ctx context.Context) ([]int, error) {
	return callIdempotent(ctx, c, "list the hypervisor's processors", func(l *libvirt.Libvirt) ([]int, error) {
		online, _, _, err := l.NodeGetCPUMap(1, 1, 0)
		return listBits(online), err
	})
}

// listBits returns the numbers of the bits that are set, the lowest of each byte first.
func listBits(set []byte) []int {
	var all []int
	for n := range 8 * len(set) {
		if set[n/8]&(1<<(n%8)) != 0 {
			all = append(all, n)
		}
	}
	return all
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

// HasDevice says whether the hypervisor's machine has a network device of a name; false where the transport
// gives no access to the machine.
func (c *Client) HasDevice(ctx context.Context, name string) (bool, error) {
	_, err := c.HostFile(ctx, filepath.Join("/sys/class/net", name, "ifindex"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// DeviceMaster returns the device that a network device of the hypervisor's machine is in, such as its bridge; "" where it is in none, and where
// the transport gives no access to the machine.
func (c *Client) DeviceMaster(ctx context.Context, name string) (string, error) {
	content, err := c.HostFile(ctx, filepath.Join("/sys/class/net", name, "master/uevent"))
	if errors.Is(err, fs.ErrNotExist) || c.TestDriver() {
		return "", nil
	}
	for line := range strings.Lines(string(content)) {
		if master, found := strings.CutPrefix(strings.TrimSpace(line), "INTERFACE="); found {
			return master, err
		}
	}
	return "", err
}

// LacksDevice says whether the hypervisor's machine has no network device of a name, and whether that is sure. It is
// not where only one of two witnesses can be asked: what this machine sees may be a container's devices or those of
// the wrong end of a forwarded socket, and a libvirt built with netcf knows only devices that have a configuration.
func (c *Client) LacksDevice(ctx context.Context, name string) (lacks, sure bool, err error) {
	if c.TestDriver() {
		return false, false, nil // nothing is plugged in anywhere there
	}
	has, seen := c.HasDevice(ctx, name)
	if has {
		return false, true, nil
	}
	_, err = callIdempotent(ctx, c, fmt.Sprintf("look for network device %q", name), func(l *libvirt.Libvirt) (libvirt.Interface, error) {
		return l.InterfaceLookupByName(name)
	})
	switch {
	case err == nil:
		return false, true, nil
	case libvirt.ErrorNumber(Code(err)) == libvirt.ErrNoInterface:
		return true, seen == nil && c.canSeeHost(), nil
	case Code(err) != 0: // it has no driver for interfaces
		return true, seen == nil && c.remote != nil, nil
	}
	return false, false, err
}

// LacksDirectory says whether the hypervisor's machine has no directory at a path; false where the transport gives no access to the machine.
func (c *Client) LacksDirectory(ctx context.Context, path string) (bool, error) {
	switch {
	case c.TestDriver():
		return false, nil // nothing is mounted anywhere there
	case c.remote != nil:
		_, err := c.remote.Run(ctx, host.Cmd{Argv: []string{"test", "-d", path}, Repeatable: true})
		if exit, failed := errors.AsType[*host.ExitError](err); failed && exit.Code == 1 {
			return true, nil
		}
		return false, err
	case c.Local():
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
		return err == nil && !info.IsDir(), err
	}
	return false, nil
}

// HasFile says whether the hypervisor's machine has a file at a path; false where the transport, or the user, has no access to it.
func (c *Client) HasFile(ctx context.Context, path string) (bool, error) {
	var err error
	switch {
	case c.TestDriver():
		return false, nil
	case c.remote != nil:
		_, err = c.remote.Run(ctx, host.Cmd{Argv: []string{"test", "-e", path}, Repeatable: true})
		if exit, failed := errors.AsType[*host.ExitError](err); failed && exit.Code == 1 {
			return false, nil
		}
	case c.Local():
		_, err = os.Lstat(path)
	default:
		return false, nil
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return false, nil
	}
	return err == nil, err
}

// canSeeHost says whether the transport gives access to the hypervisor's machine.
func (c *Client) canSeeHost() bool { return c.remote != nil || c.Local() }
