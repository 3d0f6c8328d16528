package hypervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// IsBootDisplay says whether the firmware of the hypervisor's machine chose a PCI device, by its address, for its own screen; false where the transport
// gives no access to the machine.
func (c *Client) IsBootDisplay(ctx context.Context, address string) (bool, error) {
	if c.TestDriver() {
		return false, nil
	}
	content, err := c.HostFile(ctx, filepath.Join("/sys/bus/pci/devices", address, "boot_vga"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return strings.TrimSpace(string(content)) == "1", err
}

// NodeDevices lists the devices of the hypervisor's machine that a guest can have to itself, which are PCI, USB and mediated ones, and the
// interfaces and disks that its kernel has by them.
func (c *Client) NodeDevices(ctx context.Context) ([]*libvirtxml.NodeDevice, error) {
	const kinds = libvirt.ConnectListNodeDevicesCapPciDev | libvirt.ConnectListNodeDevicesCapUsbDev | libvirt.ConnectListNodeDevicesCapMdev |
		libvirt.ConnectListNodeDevicesCapNet | libvirt.ConnectListNodeDevicesCapStorage
	return callIdempotent(ctx, c, "list the devices", func(l *libvirt.Libvirt) ([]*libvirtxml.NodeDevice, error) {
		names, _, err := l.ConnectListAllNodeDevices(1, uint32(kinds))
		if err != nil {
			return nil, err
		}
		return readAll(names, func(d libvirt.NodeDevice) (*libvirtxml.NodeDevice, error) {
			text, err := l.NodeDeviceGetXMLDesc(d.Name, 0)
			if err != nil {
				return nil, err
			}
			device := &libvirtxml.NodeDevice{}
			if err := device.Unmarshal(text); err != nil {
				return nil, fmt.Errorf("cannot read device %q: %w", d.Name, err)
			}
			return device, nil
		})
	})
}
