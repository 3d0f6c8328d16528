package storage

import (
	"fmt"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

func volumeOf(path, format, backing string, bytes uint64) *hypervisor.Volume {
	v := &hypervisor.Volume{Pool: "okd", XML: libvirtxml.StorageVolume{
		Name: "v", Capacity: &libvirtxml.StorageVolumeSize{Value: bytes},
		Target: &libvirtxml.StorageVolumeTarget{Path: path, Format: &libvirtxml.StorageVolumeTargetFormat{Type: format}},
	}}
	if backing != "" {
		v.XML.BackingStore = &libvirtxml.StorageVolumeBackingStore{Path: backing}
	}
	return v
}

func TestSizesAreWholeGiB(t *testing.T) {
	if got := newVolume(volumeOf("/srv/okd/v", "qcow2", "", 5<<30+1)).SizeGiB; got != 5 {
		t.Errorf("a part of a GiB counts: %d", got)
	}
	if got := (Volume{}).capacityBytes(volumeOf("/srv/okd/v", "qcow2", "", 5<<30+1)); got != 6<<30 {
		t.Errorf("an image of 5 GiB and a byte gets a volume of %d bytes", got)
	}
	if got := (Volume{SizeGiB: 8}).capacityBytes(volumeOf("/srv/okd/v", "qcow2", "", 5<<30)); got != 8<<30 {
		t.Errorf("size_gib = 8 gives %d bytes", got)
	}
	if got := hypervisor.WholeGiB(1<<64 - 1); got != 1<<34 {
		t.Errorf("an image of 16 EiB less a byte needs %d GiB", got)
	}
}

// 17179869185 GiB are one GiB more than 64 bits can count in bytes.
func TestASizeThatBytesCannotCountIsRefused(t *testing.T) {
	for size, valid := range map[int64]bool{1: true, MaxSizeGiB: true, MaxSizeGiB + 1: false, 17179869185: false, -1: false} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			if problems := (Volume{Name: "v", SizeGiB: size}).Validate(); (len(problems) == 0) != valid {
				t.Errorf("%d GiB: %v", size, problems)
			}
		})
	}
}

func TestWhatAChangeOfAVolumeTakes(t *testing.T) {
	was := Volume{Pool: "okd", Name: "v", Format: "qcow2", SizeGiB: 5, Image: "/srv/okd/base", Path: "/srv/okd/v"}
	for name, c := range map[string]struct {
		change func(*Volume)
		want   []Change
	}{
		"nothing":                           {func(*Volume) {}, nil},
		"no size of its own":                {func(v *Volume) { v.SizeGiB = 0 }, nil},
		"larger":                            {func(v *Volume) { v.SizeGiB = 6 }, []Change{{"size_gib", InPlace, ""}}},
		"the image by its name":             {func(v *Volume) { v.Image = "base" }, nil},
		"the image by another spelling":     {func(v *Volume) { v.Image = "/srv//okd/./base" }, nil},
		"another image":                     {func(v *Volume) { v.Image = "other" }, []Change{{"image", Anew, ""}}},
		"another format, and smaller":       {func(v *Volume) { v.Format, v.SizeGiB = "raw", 1 }, []Change{{"format", Anew, ""}}},
		"no image, another format, larger":  {func(v *Volume) { v.Image, v.Format, v.SizeGiB = "", "raw", 9 }, []Change{{"format", Anew, ""}, {"image", Anew, ""}, {"size_gib", InPlace, ""}}},
		"smaller, which would cut data off": {func(v *Volume) { v.SizeGiB = 4 }, []Change{{"size_gib", Refused, "why"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := was
			c.change(&want)
			got := was.Compare(want)
			for i := range got {
				if got[i].Why != "" {
					got[i].Why = "why"
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("%s: %v, want %v", name, got, c.want)
				return
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("%s: %v, want %v", name, got, c.want)
				}
			}
		})
	}
}

// TestOneFileIsToldByItsTimes compares files of two hypervisors.
func TestOneFileIsToldByItsTimes(t *testing.T) {
	file := func(written, changed string) *hypervisor.Volume {
		v := volumeOf("/srv/okd/v", "raw", "", 0)
		v.XML.Target.Timestamps = &libvirtxml.StorageVolumeTargetTimestamps{Atime: "1", Mtime: written, Ctime: changed}
		return v
	}
	for name, c := range map[string]struct {
		a, b *hypervisor.Volume
		one  bool
	}{
		"one":                      {file("2.000000001", "3.000000001"), file("2.000000001", "3.000000001"), true},
		"a copy with its time":     {file("2.000000001", "3.000000001"), file("2.000000001", "4.000000001"), false},
		"written to":               {file("2.000000001", "3.000000001"), file("5.000000001", "3.000000001"), false},
		"none":                     {file("2.000000001", "3.000000001"), nil, false},
		"a pool that has no times": {volumeOf("/dev/vg/v", "", "", 0), volumeOf("/dev/vg/v", "", "", 0), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := isOneFile(c.a, c.b); got != c.one {
				t.Errorf("they are one: %t", got)
			}
		})
	}
}
