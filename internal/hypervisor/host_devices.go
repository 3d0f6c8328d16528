package hypervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/digitalocean/go-libvirt"
)

// HasDevice says whether the hypervisor's machine has a network device of a name; false where the transport
// gives no access to the machine.
func (c *Client) HasDevice(ctx context.Context, name string) (bool, error) {
	_, err := c.HostFile(ctx, filepath.Join("/sys/class/net", name, "ifindex"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
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

// canSeeHost says whether the transport gives access to the hypervisor's machine.
func (c *Client) canSeeHost() bool { return c.remote != nil || c.Local() }
