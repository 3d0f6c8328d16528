package netboot

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"
)

// discName is the disc of a machine.
const discName = "boot.img"

// restartGrub ends a script of GRUB: what it has to do with is on the disc, so that another try begins with the firmware.
const restartGrub = `echo "Nothing was booted, once more in 10 s"
sleep 10
reboot
`

// serveDisc answers with a disc that firmware keeps in memory and boots from, by its media type (UEFI 2.10, section 24.7.3.2), with shim, GRUB, and
// what the profile has GRUB boot. One that is installed gets none: firmware that gets nothing goes on to its next entry, which is its disk.
func (s *service) serveDisc(w http.ResponseWriter, r *http.Request, server Server, p Profile, now Record) {
	if p.Once && now.Spent != nil {
		s.recordAsked(w, p, discName, func(*Record) {}, func() {
			http.Error(w, p.Name+" is installed since "+now.Spent.Format(time.RFC3339)+": it boots from its disk", http.StatusGone)
		})
		return
	}
	s.recordAsked(w, p, discName, func(rec *Record) { rec.Fetched = nil }, func() {
		files, err := s.openFiles(r, server, p)
		defer func() {
			for _, f := range files {
				_ = f.content.Close()
			}
		}()
		var d *disc
		if err == nil {
			d, err = newDisc(files)
		}
		if err != nil {
			s.log.Printf("%s %s: %v", p.MAC, discName, err)
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.efi-img")
		w.Header().Set("Content-Length", strconv.FormatInt(d.size(), 10))
		w.Header().Set("Cache-Control", "no-store")
		if r.Method != http.MethodGet { // firmware asks first how much it will be
			return
		}
		if err := d.writeTo(w); err != nil {
			s.log.Printf("%s %s: %v", p.MAC, discName, err)
			panic(http.ErrAbortHandler) // or the machine would take what it has for all of it
		}
		s.recordFetched(p, discName, p.bootNames()...)
	})
}

// openFiles opens the files of a machine's disc. Those that are open are returned with an error too.
func (s *service) openFiles(r *http.Request, server Server, p Profile) (files []discFile, err error) {
	for _, loader := range []struct{ name, at string }{{"EFI/BOOT/BOOTX64.EFI", secureLoader}, {"EFI/BOOT/" + strings.ToUpper(grubLoader), grubLoader}} {
		f, err := os.Open(server.findLoader(loader.at))
		if err != nil {
			return files, err
		}
		files = append(files, discFile{path: loader.name, content: f})
		info, err := f.Stat()
		if err != nil {
			return files, err
		}
		files[len(files)-1].size = info.Size()
	}
	script := p.renderGrubFrom("", server) + restartGrub
	files = append(files, discFile{"GRUB/GRUB.CFG", int64(len(script)), io.NopCloser(strings.NewReader(script))})
	names := p.bootNames()
	for i, url := range append([]string{p.Kernel}, p.Initrd...) {
		resp, err := s.askUpstream(r, url, "") //nolint:bodyclose // serveDisc closes all of them
		if err != nil {
			return files, err
		}
		if files = append(files, discFile{names[i], resp.ContentLength, resp.Body}); resp.ContentLength < 0 {
			return files, fmt.Errorf("%s: its server does not say how long it is, as a disc needs it", url)
		}
	}
	return files, nil
}

// findNeighbour returns the MAC address of who asks, as the kernel knows it of who is on the same segment; "" of anybody else.
func (s *service) findNeighbour(remote string) string {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return ""
	}
	table, err := os.ReadFile(s.neighbours)
	if err != nil {
		s.log.Print(err)
	}
	for line := range strings.Lines(string(table)) {
		// The fields are the address, two of types and flags, and the hardware's address.
		if words := strings.Fields(line); len(words) > 3 && words[0] == from.Addr().Unmap().String() {
			return CanonicalMAC(words[3])
		}
	}
	return ""
}
