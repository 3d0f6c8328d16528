package netboot

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// readDisc reads the files of a FAT16 file system as who knows nothing but its boot sector does.
func readDisc(t *testing.T, b []byte) map[string]string {
	t.Helper()
	word := func(at int) int { return int(binary.LittleEndian.Uint16(b[at:])) }
	sector, cluster, reserved, tables, root, table := word(11), int(b[13])*word(11), word(14), int(b[16]), word(17), word(22)
	if size := int(binary.LittleEndian.Uint32(b[32:])) * sector; size != len(b) || word(510) != 0xaa55 {
		t.Fatalf("it says that it has %d bytes and has %d", size, len(b))
	}
	fat := reserved * sector
	rootAt := fat + tables*table*sector
	data := rootAt + root*32
	if clusters := (len(b) - data) / cluster; clusters < 4085 || clusters > 65524 || 2*(clusters+2) > table*sector {
		t.Fatalf("%d clusters are not those of FAT16, or its table is too small", clusters)
	}
	if !bytes.Equal(b[fat:fat+table*sector], b[fat+table*sector:rootAt]) {
		t.Error("the tables differ")
	}
	chain := func(first int) (content []byte) {
		for n := first; n != 0xffff && n != 0; n = word(fat + 2*n) {
			at := data + (n-2)*cluster
			content = append(content, b[at:at+cluster]...)
		}
		return content
	}
	files := map[string]string{}
	var walk func(dir string, entries []byte)
	walk = func(dir string, entries []byte) {
		for ; len(entries) >= 32 && entries[0] != 0; entries = entries[32:] {
			base, extension := strings.TrimRight(string(entries[:8]), " "), strings.TrimRight(string(entries[8:11]), " ")
			if base[0] == '.' {
				continue
			}
			name := path.Join(dir, strings.TrimSuffix(base+"."+extension, "."))
			content := chain(int(binary.LittleEndian.Uint16(entries[26:])))
			if entries[11]&0x10 != 0 {
				walk(name, content)
				continue
			}
			files[name] = string(content[:binary.LittleEndian.Uint32(entries[28:])])
		}
	}
	walk("", b[rootAt:data])
	return files
}

func TestADiscHasItsFiles(t *testing.T) {
	t.Parallel()
	for name, sizes := range map[string]map[string]int{
		"small ones":         {"EFI/BOOT/BOOTX64.EFI": 1, "EFI/BOOT/GRUBX64.EFI": 512, "GRUB/GRUB.CFG": 513, "KERNEL": 0},
		"larger clusters":    {"EFI/BOOT/BOOTX64.EFI": 7, "KERNEL": 40 << 20, "INITRD0": 30<<20 + 1},
		"as many as it goes": {"A": 512 * 65520, "B/C/D/E": 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := map[string]string{}
			var files []discFile
			for name, size := range sizes {
				want[name] = strings.Repeat(name+"!", size/len(name)+1)[:size]
				files = append(files, discFile{name, int64(size), io.NopCloser(strings.NewReader(want[name]))})
			}
			d, err := newDisc(files)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := d.writeTo(&b); err != nil || int64(b.Len()) != d.countBytes() {
				t.Fatalf("%v: %d bytes of %d", err, b.Len(), d.countBytes())
			}
			got := readDisc(t, b.Bytes())
			for name, content := range want {
				if got[name] != content {
					t.Errorf("%s has %d bytes that are not its %d", name, len(got[name]), len(content))
				}
			}
			if len(got) != len(want) {
				t.Errorf("it has %d files", len(got))
			}
		})
	}
}

func TestADiscThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := newDisc([]discFile{{path: "KERNEL", size: 2 << 30}}); err == nil || !strings.Contains(err.Error(), "2 GiB") {
		t.Errorf("%v", err)
	}
	var many []discFile
	for i := range rootEntries {
		many = append(many, discFile{path: fmt.Sprintf("F%d", i)})
	}
	if _, err := newDisc(append(many, discFile{path: "A/B"})); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("%v", err)
	}
	d, err := newDisc([]discFile{{"KERNEL", 10, io.NopCloser(strings.NewReader("short"))}})
	if err == nil {
		err = d.writeTo(io.Discard)
	}
	if err == nil || !strings.Contains(err.Error(), "KERNEL: unexpected EOF") {
		t.Errorf("of a file that ends early: %v", err)
	}
}

// newSecureService is a server under Secure Boot, with loaders of its own, that 127.0.0.1 is known to as the machine of the profile.
func newSecureService(t *testing.T, change func(*Profile)) (*service, string) {
	t.Helper()
	s, server, _ := newService(t, change)
	c := *s.config.Load()
	c.Server.SecureBoot = true
	s.config.Store(&c)
	s.neighbours = filepath.Join(t.TempDir(), "arp")
	for at, text := range map[string]string{
		filepath.Join(c.Server.Loaders, secureLoader): "shim", filepath.Join(c.Server.Loaders, grubLoader): "GRUB",
		s.neighbours: "IP address       HW type     Flags       HW address            Mask     Device\n10.0.0.9         0x1         0x2         52:54:00:00:00:99     *        eth0\n" +
			"127.0.0.1        0x1         0x2         52:54:00:aa:00:01     *        eth0\n",
	} {
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s, server.URL
}

// TestUnderSecureBootByHTTPAMachineGetsADisc asks as firmware does that boots by HTTP: how long the disc is, and then for it.
func TestUnderSecureBootByHTTPAMachineGetsADisc(t *testing.T) {
	t.Parallel()
	s, url := newSecureService(t, func(p *Profile) {
		p.Kind, p.Files = "cloud_init", map[string]string{"meta-data": "x", "user-data": "y"}
	})
	asked, err := http.Head(url + "/boot.img") //nolint:gosec // it is the test's
	if err != nil || asked.StatusCode != http.StatusOK || asked.Header.Get("Content-Type") != "application/vnd.efi-img" {
		t.Fatalf("%v: %+v", err, asked)
	}
	_ = asked.Body.Close()
	for _, at := range []string{"/boot.img", here + "/boot.img"} {
		t.Run(at, func(t *testing.T) {
			text, status := get(t, url+at)
			if status != http.StatusOK || int64(len(text)) != asked.ContentLength {
				t.Fatalf("%d: %d bytes of %d", status, len(text), asked.ContentLength)
			}
			files := readDisc(t, []byte(text))
			script := files["GRUB/GRUB.CFG"]
			delete(files, "GRUB/GRUB.CFG")
			want := map[string]string{"EFI/BOOT/BOOTX64.EFI": "shim", "EFI/BOOT/GRUBX64.EFI": "GRUB", "KERNEL": "content of /kernel", "INITRD0": "content of /initrd"}
			if fmt.Sprint(files) != fmt.Sprint(want) {
				t.Errorf("it has %v", files)
			}
			if !strings.Contains(script, "if linux /kernel 'console=ttyS0' 'ds=nocloud;s=http://127.0.0.1:8090/boot/52-54-00-aa-00-01/'; then\nif initrd /initrd0; then\nboot\n") || !strings.HasSuffix(script, "\nreboot\n") {
				t.Errorf("GRUB is told\n%s", script)
			}
		})
	}
	if s.states.getRecord(machine(1)).Spent != nil {
		t.Error("it is installed without its configuration")
	}
	for _, name := range []string{"meta-data", "user-data"} {
		get(t, url+here+"/"+name)
	}
	if text, status := get(t, url+"/boot.img"); status != http.StatusGone || !strings.Contains(text, "worker-1 is installed") {
		t.Errorf("then it gets %d: %s", status, text)
	}
}

// TestNoDiscIsServedThatIsNone has a machine's firmware go on to its disk, be it a stranger's or one whose files cannot be had.
func TestNoDiscIsServedThatIsNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Profile)
		spoil  func(*service)
		status int
	}{
		"without Secure Boot": {nil, func(s *service) {
			c := *s.config.Load()
			c.Server.SecureBoot = false
			s.config.Store(&c)
		}, http.StatusNotFound},
		"a machine of another segment": {nil, func(s *service) { _ = os.WriteFile(s.neighbours, []byte("IP address\n"), 0o600) }, http.StatusNotFound},
		"no table of neighbours":       {nil, func(s *service) { _ = os.Remove(s.neighbours) }, http.StatusNotFound},
		"a machine without a profile":  {func(p *Profile) { p.MAC = "52:54:00:aa:00:02" }, func(*service) {}, http.StatusNotFound},
		"no GRUB":                      {nil, func(s *service) { _ = os.Remove(filepath.Join(s.config.Load().Server.Loaders, grubLoader)) }, http.StatusBadGateway},
		"no kernel":                    {func(p *Profile) { p.Kernel = strings.TrimSuffix(p.Kernel, "/kernel") + "/missing" }, func(*service) {}, http.StatusBadGateway},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, url := newSecureService(t, c.change)
			c.spoil(s)
			if text, status := get(t, url+"/boot.img"); status != c.status {
				t.Errorf("%d: %s", status, text)
			}
			if s.states.getRecord(machine(1)).Spent != nil {
				t.Error("it is installed")
			}
		})
	}
}
