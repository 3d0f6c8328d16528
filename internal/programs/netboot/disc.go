package netboot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// discFile is a file on a disc: a path of names of eight characters and three at most, such as "EFI/BOOT/BOOTX64.EFI", and its content, of
// which the size is known before it is read.
type discFile struct {
	path    string
	size    int64
	content io.ReadCloser
}

// disc is a FAT16 file system as a whole disc, which is written from its first byte to its last without being kept anywhere. What its fields are is in
// Microsoft's "FAT: General Overview of On-Disk Format" (version 1.03).
type disc struct {
	// files are directories, whose content is rendered, and then what was given.
	files []discFile
	// cluster is the size of a cluster in bytes, and clusters their number.
	cluster  int64
	clusters int64
	tables   [2][]byte
	root     []byte
}

const (
	sectorSize     = 512
	entrySize      = 32
	rootEntries    = 512
	fewestClusters = 4085 // with fewer it would be FAT12
	mostClusters   = 65524
	largestCluster = 32 << 10
	isDirectory    = 0x10
	endOfChain     = 0xffff
)

// newDisc lays out a disc. Its error says that there is more than it can have, which is 2 GiB.
func newDisc(files []discFile) (*disc, error) {
	d := &disc{}
	for _, dir := range listDirectories(files) {
		d.files = append(d.files, discFile{path: dir})
	}
	directories := len(d.files)
	d.files = append(d.files, files...)
	for d.cluster = sectorSize; ; d.cluster *= 2 {
		if d.clusters = int64(directories); d.cluster > largestCluster {
			return nil, errors.New("kernel and initial RAM disks have more than the 2 GiB of a disc")
		}
		for _, f := range files {
			d.clusters += d.countClusters(f.size)
		}
		if d.clusters <= mostClusters {
			break
		}
	}
	d.clusters = max(d.clusters, fewestClusters)
	table := make([]byte, roundUp(2*(d.clusters+2), sectorSize))
	binary.LittleEndian.PutUint32(table, endOfChain<<16|0xfff8)
	first, at := make([]uint16, len(d.files)), uint16(2)
	for i, f := range d.files {
		n := d.countClusters(f.size)
		if i < directories {
			n = 1
		}
		if n == 0 {
			continue
		}
		for first[i] = at; n > 0; n-- {
			next := at + 1
			if n == 1 {
				next = endOfChain
			}
			binary.LittleEndian.PutUint16(table[2*int(at):], next)
			at++
		}
	}
	d.tables = [2][]byte{table, table}
	if d.root = d.renderDirectory(".", first, directories); len(d.root) > rootEntries*entrySize {
		return nil, errors.New("too many files")
	}
	for i := range d.files[:directories] {
		parent := uint16(0)
		if p := slices.IndexFunc(d.files, func(f discFile) bool { return f.path == path.Dir(d.files[i].path) }); p >= 0 {
			parent = first[p]
		}
		content := append(renderEntry(".", isDirectory, first[i], 0), renderEntry("..", isDirectory, parent, 0)...)
		content = append(content, d.renderDirectory(d.files[i].path, first, directories)...)
		if int64(len(content)) > d.cluster {
			return nil, fmt.Errorf("too many files in %s", d.files[i].path)
		}
		d.files[i].size, d.files[i].content = int64(len(content)), io.NopCloser(strings.NewReader(string(content)))
	}
	return d, nil
}

// listDirectories are those of files, each after the one that it is in.
func listDirectories(files []discFile) (all []string) {
	for _, f := range files {
		for dir := path.Dir(f.path); dir != "."; dir = path.Dir(dir) {
			if !slices.Contains(all, dir) {
				all = append(all, dir)
			}
		}
	}
	slices.Sort(all)
	return all
}

func (d *disc) countClusters(size int64) int64 { return roundUp(size, d.cluster) / d.cluster }

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// renderDirectory lists what is in a directory, by the first clusters of all files.
func (d *disc) renderDirectory(dir string, first []uint16, directories int) (content []byte) {
	for i, f := range d.files {
		if path.Dir(f.path) != dir {
			continue
		}
		attributes, size := byte(0), f.size
		if i < directories {
			attributes, size = isDirectory, 0
		}
		content = append(content, renderEntry(path.Base(f.path), attributes, first[i], size)...)
	}
	return content
}

// renderEntry is an entry of a directory, of the first day that there is.
func renderEntry(name string, attributes byte, first uint16, size int64) []byte {
	const firstDay = 1<<5 | 1 // 1980-01-01
	entry := make([]byte, entrySize)
	base, extension := name, ""
	if dot := strings.LastIndexByte(name, '.'); dot > 0 && name != ".." {
		base, extension = name[:dot], name[dot+1:]
	}
	copy(entry, fmt.Sprintf("%-8s%-3s", strings.ToUpper(base), strings.ToUpper(extension)))
	entry[11] = attributes
	binary.LittleEndian.PutUint16(entry[16:], firstDay)
	binary.LittleEndian.PutUint16(entry[18:], firstDay)
	binary.LittleEndian.PutUint16(entry[24:], firstDay)
	binary.LittleEndian.PutUint16(entry[26:], first)
	binary.LittleEndian.PutUint32(entry[28:], uint32(size)) //nolint:gosec // a disc has 2 GiB
	return entry
}

// countBytes returns how many bytes writeTo writes.
func (d *disc) countBytes() int64 {
	return sectorSize + 2*int64(len(d.tables[0])) + rootEntries*entrySize + d.clusters*d.cluster
}

// bootSector says where everything is.
func (d *disc) bootSector() []byte {
	b := make([]byte, sectorSize)
	copy(b, "\xeb\x3c\x90virtclus")
	binary.LittleEndian.PutUint16(b[11:], sectorSize)
	b[13] = byte(d.cluster / sectorSize)
	b[14], b[16] = 1, byte(len(d.tables)) // sectors before the first table, and tables
	binary.LittleEndian.PutUint16(b[17:], rootEntries)
	b[21] = 0xf8                                                               // a fixed disc
	binary.LittleEndian.PutUint16(b[22:], uint16(len(d.tables[0])/sectorSize)) //nolint:gosec // of 65526 clusters
	binary.LittleEndian.PutUint16(b[24:], 63)                                  // sectors of a track
	binary.LittleEndian.PutUint16(b[26:], 255)                                 // heads
	binary.LittleEndian.PutUint32(b[32:], uint32(d.countBytes()/sectorSize))   //nolint:gosec // a disc has 2 GiB
	b[36], b[38] = 0x80, 0x29                                                  // the first drive; what follows is there
	copy(b[43:], "NO NAME    FAT16   ")
	b[510], b[511] = 0x55, 0xaa
	return b
}

// writeTo writes the disc. A file that has less than its size, or more, is an error.
func (d *disc) writeTo(w io.Writer) error {
	root := make([]byte, rootEntries*entrySize)
	copy(root, d.root)
	for _, part := range [][]byte{d.bootSector(), d.tables[0], d.tables[1], root} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	left := d.clusters * d.cluster
	for _, f := range d.files {
		n, err := io.Copy(w, io.LimitReader(f.content, f.size))
		if err == nil && n != f.size {
			err = io.ErrUnexpectedEOF
		}
		if err == nil {
			err = writeZeros(w, roundUp(n, d.cluster)-n)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		left -= roundUp(n, d.cluster)
	}
	return writeZeros(w, left)
}

func writeZeros(w io.Writer, n int64) error {
	_, err := io.CopyN(w, zeros{}, n)
	return err
}

// zeros is a reader without an end.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

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
		w.Header().Set("Content-Length", strconv.FormatInt(d.countBytes(), 10))
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
