package drive

import (
	"slices"

	"libvirt.org/go/libvirtxml"
)

// AddController adds the controller that a disk on a bus needs to a domain, in place of one that says there is to be none.
func AddController(d *libvirtxml.Domain, bus string) {
	controller := MissingController(d, bus)
	if controller == nil {
		return
	}
	d.Devices.Controllers = slices.DeleteFunc(d.Devices.Controllers, func(c libvirtxml.DomainController) bool { return c.Type == controller.Type && c.Model == "none" })
	d.Devices.Controllers = append(d.Devices.Controllers, *controller)
}

// MissingController is the controller that a disk on a bus needs and that the domain does not have; nil where
// it has one or libvirt adds the right one by itself. For SCSI it would add one that few guests have a driver for.
func MissingController(d *libvirtxml.Domain, bus string) *libvirtxml.DomainController {
	controller, needed := map[string]libvirtxml.DomainController{
		"scsi": {Type: "scsi", Model: "virtio-scsi"}, "usb": {Type: "usb", Model: "qemu-xhci"},
	}[bus]
	has := func(c libvirtxml.DomainController) bool { return c.Type == controller.Type && c.Model != "none" }
	if !needed || slices.ContainsFunc(d.Devices.Controllers, has) {
		return nil
	}
	return &controller
}
