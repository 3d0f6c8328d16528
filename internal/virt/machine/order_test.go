package machine

import (
	"slices"
	"testing"

	"libvirt.org/go/libvirtxml"
)

func TestBootOrderOfDevicesIsReadAndKept(t *testing.T) {
	d := &libvirtxml.Domain{}
	err := d.Unmarshal(`<domain type='qemu'><name>n</name><os><type machine='q35'>hvm</type></os><devices>
		<disk type='file' device='disk'><source file='/root'/><target dev='vda' bus='virtio'/><boot order='2'/></disk>
		<disk type='file' device='cdrom'><target dev='sda' bus='sata'/><boot order='3'/></disk>
		<interface type='network'><mac address='52:54:00:00:00:01'/><source network='a'/><model type='virtio'/><boot order='1'/></interface>
	</devices></domain>`)
	if err != nil {
		t.Fatal(err)
	}
	m := Read(d)
	if want := []string{"network", "hd", "cdrom"}; !slices.Equal(m.Boot.Order, want) {
		t.Fatalf("the order is %v, want %v", m.Boot.Order, want)
	}
	if err := Apply(d, m); err != nil {
		t.Fatal(err)
	}
	if b := d.Devices.Interfaces[0].Boot; len(d.OS.BootDevices) != 0 || b == nil || b.Order != 1 {
		t.Errorf("the devices' own order is lost: %v, %v", d.OS.BootDevices, b)
	}
}
