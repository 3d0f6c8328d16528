package drive

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/kdomanski/iso9660"
	"libvirt.org/go/libvirtxml"
)

func TestOnlyAnImageOfADiscIsOne(t *testing.T) {
	w, err := iso9660.NewWriter()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Cleanup() }()
	var disc bytes.Buffer
	if err := errors.Join(w.AddFile(strings.NewReader("hello"), "HELLO.TXT"), w.WriteTo(&disc, "DISC")); err != nil {
		t.Fatal(err)
	}
	udf := append(make([]byte, 32769), "BEA01"...)
	for name, c := range map[string]struct {
		content io.Reader
		fails   string
	}{
		"ISO 9660":             {bytes.NewReader(disc.Bytes()), ""},
		"UDF":                  {bytes.NewReader(udf), ""},
		"a page":               {strings.NewReader("<html>not found</html>"), "no ISO image"},
		"nothing":              {strings.NewReader(""), "no ISO image"},
		"a disk":               {bytes.NewReader(make([]byte, 1<<20)), "no ISO image"},
		"cut before the name":  {bytes.NewReader(disc.Bytes()[:32770]), "no ISO image"},
		"a source that breaks": {io.MultiReader(bytes.NewReader(disc.Bytes()[:1000]), iotest.ErrReader(io.ErrUnexpectedEOF)), "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := bufio.NewReaderSize(c.content, 64<<10)
			err := Check(r)
			if (c.fails == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Fatalf("want an error with %q, got %v", c.fails, err)
			}
			if rest, _ := io.ReadAll(r); c.fails == "" && len(rest) < HeadLength {
				t.Errorf("%d bytes are left to read", len(rest))
			}
		})
	}
}

func TestADriveIsKnownByItsAliasAlone(t *testing.T) {
	x := &libvirtxml.Domain{}
	text := `<domain><os><type machine='pc-i440fx-7.2'>hvm</type></os><devices>
  <disk type='file' device='cdrom'><target dev='hda' bus='ide'/></disk>
  <disk type='file' device='disk'><target dev='hdb' bus='ide'/><alias name='ua-media'/></disk></devices></domain>`
	if err := x.Unmarshal(text); err != nil {
		t.Fatal(err)
	}
	if d := Find(x); d != nil {
		t.Fatalf("found is %s", d.Target.Dev)
	}
	fresh := New(Bus(x), x.Devices.Disks)
	SetSource(fresh, &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: "/a.iso"}})
	x.Devices.Disks = append(x.Devices.Disks, *fresh)
	if d := Find(x); d == nil || d.Target.Dev != "hdc" || d.Target.Bus != "ide" || Source(d) != "/a.iso" {
		t.Fatalf("found is %+v", d)
	}
	SetSource(Find(x), nil)
	if got := Source(Find(x)); got != "" {
		t.Errorf("an empty drive has %s", got)
	}
	if Find(nil) != nil || Find(&libvirtxml.Domain{}) != nil {
		t.Error("no domain has a drive")
	}
	x.OS.Type.Machine = "pc-q35-7.2"
	if bus := Bus(x); bus != "sata" {
		t.Errorf("a q35 has its drive at %s", bus)
	}
}

func TestTheStickIsPluggedInBesideOtherDisksAndKnownByItsAlias(t *testing.T) {
	x := &libvirtxml.Domain{}
	text := `<domain><devices><controller type='usb' model='none'/>
  <disk type='file' device='disk'><source file='/own.img'/><target dev='sda' bus='usb'/></disk>
  <disk type='file' device='cdrom'><target dev='sdb' bus='usb'/><alias name='ua-stick'/></disk></devices></domain>`
	if err := x.Unmarshal(text); err != nil {
		t.Fatal(err)
	}
	if d := FindStick(x); d != nil {
		t.Fatalf("found is %s", d.Target.Dev)
	}
	if MissingController(x, "usb") == nil {
		t.Error("a machine that is to have no USB is said to have it")
	}
	AddController(x, "usb")
	if c := x.Devices.Controllers; len(c) != 1 || c[0].Model != "qemu-xhci" || MissingController(x, "usb") != nil {
		t.Errorf("the controllers are %+v", c)
	}
	fresh := NewStick(x.Devices.Disks)
	SetSource(fresh, &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: "/a.img"}})
	x.Devices.Disks = append(x.Devices.Disks, *fresh)
	d := FindStick(x)
	if d == nil || d.Target.Dev != "sdc" || d.Target.Bus != "usb" || d.Target.Removable != "on" || d.ReadOnly == nil || Source(d) != "/a.img" {
		t.Fatalf("found is %+v", d)
	}
	if Find(x) != nil || IsStick(&x.Devices.Disks[0]) || IsStick(&x.Devices.Disks[1]) || !IsStick(d) {
		t.Error("a stick is taken for something else, or something else for it")
	}
}
