package machine

import (
	"path/filepath"
	"strings"

	"libvirt.org/go/libvirtxml"
)

// applyFirmware changes the firmware and keeps account of the variable store: libvirt leaves the one that is there,
// whichever firmware it was made for.
func applyFirmware(d *libvirtxml.Domain, was, m *Machine) {
	if was.Firmware == m.Firmware && was.UUID != "" {
		m.Mark.Store = was.Mark.Store
		return
	}
	store := was.Mark.Store
	if had := configuredFirmware(d); store == nil && had != "bios" && was.UUID != "" {
		store = &MarkedStore{Firmware: had, Path: storePath(d)}
	}
	setFirmware(d, m.Firmware)
	if store != nil {
		if m.Firmware != "bios" {
			setStorePath(d, store.Path)
		}
		if store.Firmware == m.Firmware {
			store = nil
		}
	}
	m.Mark.Store = store
}

// setFirmware leaves the choice of files to libvirt, which knows where the distribution keeps them.
func setFirmware(d *libvirtxml.Domain, firmware string) {
	d.OS.Firmware, d.OS.FirmwareInfo, d.OS.Loader, d.OS.NVRam = "", nil, nil, nil
	if d.Features != nil {
		d.Features.SMM = nil
	}
	if firmware == "bios" {
		return
	}
	secure := firmware == "uefi-secure"
	d.OS.Firmware = "efi"
	d.OS.FirmwareInfo = &libvirtxml.DomainOSFirmwareInfo{Features: []libvirtxml.DomainOSFirmwareFeature{
		{Enabled: yesNo(secure), Name: "enrolled-keys"}, {Enabled: yesNo(secure), Name: "secure-boot"},
	}}
	if secure {
		d.OS.Loader = &libvirtxml.DomainLoader{Secure: "yes"}
		if d.Features == nil {
			d.Features = &libvirtxml.DomainFeatureList{}
		}
		d.Features.SMM = &libvirtxml.DomainFeatureSMM{State: "on"}
	}
}

// storePath is the file of a variable store that somebody placed; "" for the one that libvirt chooses, whose name
// and format belong to the firmware.
func storePath(d *libvirtxml.Domain) string {
	n := d.OS.NVRam
	if n == nil {
		return ""
	}
	path := n.NVRam
	if n.Source != nil && n.Source.File != nil {
		path = n.Source.File.File
	}
	if strings.HasPrefix(filepath.Base(path), d.Name+"_VARS.") {
		return ""
	}
	return path
}

func setStorePath(d *libvirtxml.Domain, path string) {
	if path != "" {
		d.OS.NVRam = &libvirtxml.DomainNVRam{NVRam: path}
	}
}

// storeDirectory is where libvirt's daemon of the system has the variable stores of machines, by their names.
const storeDirectory = "/var/lib/libvirt/qemu/nvram/"

// HasOutdatedStore says whether the machine has UEFI with a variable store that was made for another firmware, to be
// made anew before the machine starts.
func (m *Machine) HasOutdatedStore() bool { return m.Mark.Store != nil && m.Firmware != "bios" }

// ReclaimStore gives a domain that has a BIOS the UEFI back whose variable store it left behind, so that undefining
// the domain removes the store. It says whether there was one.
func ReclaimStore(d *libvirtxml.Domain) bool {
	mark, err := readMark(d)
	if err != nil || mark.Store == nil || d.OS == nil || configuredFirmware(d) != "bios" {
		return false
	}
	setFirmware(d, mark.Store.Firmware)
	setStorePath(d, mark.Store.Path)
	return true
}

// readFirmware returns the machine's firmware. Where the variable store was made for another firmware, as an interrupted change
// leaves it, it returns a text that no firmware is called, so that it differs from whatever is wanted.
func readFirmware(d *libvirtxml.Domain, mark Mark) string {
	firmware := configuredFirmware(d)
	if s := mark.Store; s != nil && firmware != "bios" && s.Firmware != firmware {
		return firmware + " with the variables of " + s.Firmware
	}
	return firmware
}

func configuredFirmware(d *libvirtxml.Domain) string {
	if d.OS == nil {
		return "bios"
	}
	loader := d.OS.Loader
	if d.OS.Firmware != "efi" && (loader == nil || loader.Type != "pflash") {
		return "bios"
	}
	if loader != nil && loader.Secure == "yes" {
		return "uefi-secure"
	}
	return "uefi"
}
