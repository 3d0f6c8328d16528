package bmc

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/drive"
)

func domainWith(t *testing.T, devices string) *libvirtxml.Domain {
	t.Helper()
	x := &libvirtxml.Domain{}
	if err := x.Unmarshal("<domain><name>w1</name><os><type machine='pc-q35-7.2'>hvm</type></os><devices>" + devices + "</devices></domain>"); err != nil {
		t.Fatal(err)
	}
	return x
}

const (
	vda       = "<disk type='file' device='disk'><source file='/root.qcow2'/><target dev='vda' bus='virtio'/></disk>"
	stickInIt = "<disk type='file' device='disk'><source file='/bmc-w1-x.img'/><target dev='sda' bus='usb'/><alias name='ua-stick'/></disk>"
)

func TestAStickIsNoDiskToBootFrom(t *testing.T) {
	x := domainWith(t, stickInIt+vda)
	if places := bootPlaces(x); len(places) != 1 || places["vda"] != 1 {
		t.Errorf("the machine boots from %v", places)
	}
	if err := bootFrom(x, Hdd); err != nil {
		t.Fatal(err)
	}
	if at := slices.IndexFunc(x.Devices.Disks, func(d libvirtxml.DomainDisk) bool { return d.Boot != nil }); at != 1 || x.Devices.Disks[1].Boot.Order != 1 {
		t.Errorf("it boots from disk %d", at)
	}
	if err := bootFrom(domainWith(t, stickInIt), Hdd); err == nil {
		t.Error("a machine that has a stick alone boots from a disk")
	}
}

func TestWhichMachinesTakeAMedium(t *testing.T) {
	const sata, none, xhci = "<disk type='file' device='cdrom'><target dev='sda' bus='sata'/></disk>", "<controller type='usb' model='none'/>", "<controller type='usb' model='qemu-xhci'/>"
	for name, c := range map[string]struct {
		slot    string
		devices string
		on      bool
		fails   string
	}{
		"a disc, off without a drive":    {"Cd", "", false, ""},
		"a disc, running with a drive":   {"Cd", sata, true, ""},
		"a disc, running without one":    {"Cd", "", true, "switch it off first"},
		"a stick, off without USB":       {"Usb", none, false, ""},
		"a stick, running with USB":      {"Usb", xhci, true, ""},
		"a stick, running without USB":   {"Usb", none, true, "switch it off first"},
		"a stick, running with no words": {"Usb", "", true, "switch it off first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &hypervisor.Domain{Config: domainWith(t, c.devices)}
			if c.on {
				d.Live = domainWith(t, c.devices)
			}
			in := slots[slices.IndexFunc(slots, func(s *slot) bool { return s.id == c.slot })]
			if err := in.checkMachine(d); (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("want an error with %q, got %v", c.fails, err)
			}
		})
	}
	if err := checkUSB(&hypervisor.Domain{Config: domainWith(t, none), Live: domainWith(t, none)}); !errors.Is(err, ErrOn) {
		t.Errorf("what the machine's state is in the way of is %v", err)
	}
}

func TestAMediumIsTakenFromTheConfigurationWhereItIsInIt(t *testing.T) {
	const disc = "<disk type='file' device='cdrom'><source file='/bmc-w1-y.iso'/><target dev='sdb' bus='sata'/><alias name='ua-media'/></disk>"
	for volume, want := range map[string]struct {
		disks int
		disc  string
	}{"bmc-w1-x.img": {2, "/bmc-w1-y.iso"}, "bmc-w1-y.iso": {3, ""}, "bmc-w1-z.iso": {3, "/bmc-w1-y.iso"}} {
		t.Run(volume, func(t *testing.T) {
			t.Parallel()
			x := domainWith(t, stickInIt+vda+disc)
			was := takeFrom(x, Medium{Volume: volume})
			if got := drive.Source(mediaDrive(x)); was != (volume != "bmc-w1-z.iso") || len(x.Devices.Disks) != want.disks || got != want.disc {
				t.Errorf("was in it: %t; it has %d disks, and the disc %q", was, len(x.Devices.Disks), got)
			}
		})
	}
}

func TestAnyImageThatHasSomethingIsAStick(t *testing.T) {
	files := map[string]string{"/disk.img": strings.Repeat("x", 1<<20), "/byte.img": "x", "/empty.img": ""}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, known := files[r.URL.Path]
		switch {
		case r.URL.Path == "/broken.img":
			w.Header().Set("Content-Length", "10")
		case !known:
			http.NotFound(w, r)
		default:
			_, _ = io.Copy(w, bytes.NewReader([]byte(content)))
		}
	}))
	t.Cleanup(server.Close)
	for path, fails := range map[string]string{"/disk.img": "", "/byte.img": "", "/empty.img": "the image is empty", "/broken.img": "cannot be read", "/none.img": "404"} {
		t.Run(path, func(t *testing.T) {
			content, err := openImage(t.Context(), Medium{URL: server.URL + path}, checkStick)
			if fails != "" {
				if _, ok := errors.AsType[*InputError](err); !ok || !strings.Contains(err.Error(), fails) {
					t.Errorf("want an error with %q, got %v", fails, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = content.Close() }()
			if got, err := io.ReadAll(content); err != nil || string(got) != files[path] {
				t.Errorf("%d bytes: %v", len(got), err)
			}
		})
	}
}

func TestAServerThatFallsSilentIsGivenUp(t *testing.T) {
	patience := fetchPatience
	fetchPatience = 100 * time.Millisecond
	t.Cleanup(func() { fetchPatience = patience })
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late.img" {
			_, _ = io.WriteString(w, strings.Repeat("x", 70_000))
			w.(http.Flusher).Flush()
		}
		<-over
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	for path, what := range map[string]string{"/none.img": "opened", "/late.img": "read"} {
		t.Run(path, func(t *testing.T) {
			content, err := openImage(t.Context(), Medium{URL: server.URL + path}, checkStick)
			if err == nil && what == "read" {
				time.Sleep(2 * fetchPatience) // which is the reader's own pause
				_, err = io.ReadAll(content)
				_ = content.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "has sent nothing for 100ms") {
				t.Errorf("when it is %s: %v", what, err)
			}
		})
	}
}
