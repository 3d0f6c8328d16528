package machine

import (
	"reflect"
	"slices"

	"libvirt.org/go/libvirtxml"
)

// SMBIOS is what the firmware says of the machine, as dmidecode shows it; "" is what QEMU says by itself.
type SMBIOS struct {
	Manufacturer string `attr:"manufacturer" restart:"yes" entry:"manufacturer"`
	Product      string `attr:"product" restart:"yes" entry:"product"`
	Version      string `attr:"version" restart:"yes" entry:"version"`
	Serial       string `attr:"serial" restart:"yes" entry:"serial"`
	SKU          string `attr:"sku" restart:"yes" entry:"sku"`
	Family       string `attr:"family" restart:"yes" entry:"family"`
	// OEMStrings are texts for programs in the guest, such as credentials of systemd.
	OEMStrings []string `attr:"oem_strings" restart:"yes"`
}

// visitEntries calls visit with each field that is an entry of libvirt's <system>, and the entry's name.
func (s *SMBIOS) visitEntries(visit func(name string, text *string)) {
	v := reflect.ValueOf(s).Elem()
	for n := range v.NumField() {
		if name := v.Type().Field(n).Tag.Get("entry"); name != "" {
			visit(name, v.Field(n).Addr().Interface().(*string))
		}
	}
}

// findSMBIOS returns what a domain's firmware is told to say; nil where it says what QEMU does by itself.
func findSMBIOS(d *libvirtxml.Domain) *libvirtxml.DomainSysInfoSMBIOS {
	if d.OS == nil || d.OS.SMBios == nil || d.OS.SMBios.Mode != "sysinfo" {
		return nil
	}
	for _, s := range d.SysInfo {
		if s.SMBIOS != nil {
			return s.SMBIOS
		}
	}
	return nil
}

func readSMBIOS(d *libvirtxml.Domain) SMBIOS {
	var s SMBIOS
	x := findSMBIOS(d)
	if x == nil {
		return s
	}
	if x.System != nil {
		s.visitEntries(func(name string, text *string) {
			for _, e := range x.System.Entry {
				if e.Name == name {
					*text = e.Value
				}
			}
		})
	}
	if x.OEMStrings != nil {
		s.OEMStrings = x.OEMStrings.Entry
	}
	return s
}

// applySMBIOS leaves what somebody has the firmware say besides, such as the board's maker, as it is.
func applySMBIOS(d *libvirtxml.Domain, was, want SMBIOS) {
	if reflect.DeepEqual(was, want) {
		return
	}
	x := findSMBIOS(d)
	if x == nil {
		d.SysInfo = slices.DeleteFunc(d.SysInfo, func(s libvirtxml.DomainSysInfo) bool { return s.SMBIOS != nil }) // which the firmware does not say
		x = &libvirtxml.DomainSysInfoSMBIOS{}
		d.SysInfo = append(d.SysInfo, libvirtxml.DomainSysInfo{SMBIOS: x})
		d.OS.SMBios = &libvirtxml.DomainSMBios{Mode: "sysinfo"}
	}
	if x.System == nil {
		x.System = &libvirtxml.DomainSysInfoSystem{}
	}
	want.visitEntries(func(name string, text *string) {
		x.System.Entry = slices.DeleteFunc(x.System.Entry, func(e libvirtxml.DomainSysInfoEntry) bool { return e.Name == name })
		if *text != "" {
			x.System.Entry = append(x.System.Entry, libvirtxml.DomainSysInfoEntry{Name: name, Value: *text})
		}
	})
	if len(x.System.Entry) == 0 {
		x.System = nil
	}
	if x.OEMStrings = nil; len(want.OEMStrings) > 0 {
		x.OEMStrings = &libvirtxml.DomainSysInfoOEMStrings{Entry: want.OEMStrings}
	}
	if reflect.ValueOf(*x).IsZero() {
		d.SysInfo = slices.DeleteFunc(d.SysInfo, func(s libvirtxml.DomainSysInfo) bool { return s.SMBIOS == x })
		d.OS.SMBios = nil
	}
}
