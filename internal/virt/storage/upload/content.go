package upload

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// headLength is how much of an image is looked at, and held back until the rest has arrived.
const headLength = 4096

// sectorLength is the least that can be an image: one sector.
const sectorLength = 512

// content is an image as it is to be stored: decompressed, its kind known from its first bytes.
type content struct {
	// head is the first 4 KiB, or all of it. rest is what follows.
	head []byte
	rest io.Reader
	// format is "qcow2" or "raw".
	format string
	// virtualSize is what a machine sees, in bytes; 0 where that is the content's length ("raw").
	virtualSize uint64
	// compressed says that the source is not the content's length.
	compressed bool
	// close waits for a read that is under way, so the source is to be closed before.
	close func()
}

// openContent decompresses a source and looks at it. The source's own errors come through as they are.
func openContent(source io.Reader) (*content, error) {
	plain, closer, err := decompressSource(source)
	if err != nil {
		return nil, err
	}
	_, asItIs := plain.(*bufio.Reader)
	rest := &closableReader{Reader: plain, closer: closer}
	c := &content{rest: rest, close: rest.close, head: make([]byte, headLength), compressed: !asItIs}
	n, err := hypervisor.Fill(plain, c.head)
	c.head = c.head[:n]
	if err != nil && err != io.EOF { //nolint:errorlint // an EOF that is wrapped is a source that broke off, not the end
		c.close()
		return nil, fmt.Errorf("read the image's first bytes: %w", err)
	}
	if err := c.inspectFormat(); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// closableReader has a decompressor closed between two reads: none can be closed while another goroutine reads from it.
type closableReader struct {
	io.Reader
	closer func()

	mu     sync.Mutex
	closed bool
}

func (r *closableReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, fs.ErrClosed
	}
	return r.Reader.Read(p)
}

func (r *closableReader) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.closer()
}

// foreign are the beginnings of what is no image that libvirt could use as it is.
var foreign = []struct {
	offset        int
	magic, remedy string
}{
	{0, "KDMV", "a VMDK image: convert it with `qemu-img convert -O qcow2`"},
	{0, "vhdxfile", "a VHDX image: convert it with `qemu-img convert -O qcow2`"},
	{0, "conectix", "a VHD image: convert it with `qemu-img convert -O qcow2`"},
	{0x40, "\x7f\x10\xda\xbe", "a VDI image: convert it with `qemu-img convert -O qcow2`"},
	{0, "QED\x00", "a QED image: convert it with `qemu-img convert -O qcow2`"},
	{0, "BZh", "compressed with bzip2: use xz, gzip or zstd"},
	{0, "7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it"},
	{0, "PK\x03\x04", "a zip archive: unpack it"},
	{257, "ustar", "a tar archive: unpack it"},
	{0, "<!DOCTYPE", "a web page: the address is likely that of a page about the image, or of a login"},
	{0, "<!doctype", "a web page: the address is likely that of a page about the image, or of a login"},
	{0, "<html", "a web page: the address is likely that of a page about the image, or of a login"},
	{0, "\xfd7zXZ\x00", "compressed twice: undo one of the two"},
	{0, "\x1f\x8b", "compressed twice: undo one of the two"},
	{0, "\x28\xb5\x2f\xfd", "compressed twice: undo one of the two"},
}

// inspectFormat finds the format, and refuses what cannot be a base image.
func (c *content) inspectFormat() error {
	for _, f := range foreign {
		if len(c.head) > f.offset && bytes.HasPrefix(c.head[f.offset:], []byte(f.magic)) {
			return fmt.Errorf("unsupported format: the source is %s", f.remedy)
		}
	}
	if len(c.head) < sectorLength {
		return fmt.Errorf("the source holds %d bytes, which is no disk image", len(c.head))
	}
	if !bytes.HasPrefix(c.head, []byte("QFI\xfb")) {
		c.format = "raw"
		return nil
	}
	return c.inspectQCOW2()
}

// inspectQCOW2 reads the header (QEMU's docs/interop/qcow2.txt).
func (c *content) inspectQCOW2() error {
	field := func(at int) uint32 { return binary.BigEndian.Uint32(c.head[at:]) }
	const dataFileBit = 4 // of the incompatible features, from version 3 on
	version := field(4)
	switch {
	case !slices.Contains([]uint32{2, 3}, version):
		return fmt.Errorf("unsupported format: the source is a qcow image of version %d, and 2 and 3 can be used", version)
	case binary.BigEndian.Uint64(c.head[8:]) != 0:
		return errors.New("the qcow2 image is an overlay of another file, which would be missing: flatten it with `qemu-img convert -O qcow2`")
	case version == 3 && binary.BigEndian.Uint64(c.head[72:])&dataFileBit != 0:
		return errors.New("the qcow2 image keeps its data in another file, which would be missing: convert it with `qemu-img convert -O qcow2`")
	}
	c.format, c.virtualSize = "qcow2", binary.BigEndian.Uint64(c.head[24:])
	return nil
}

// Checksum is a parsed "sha256:…" or "sha512:…", over the source as it is, compressed or not.
type Checksum struct {
	// Algorithm is "sha256" or "sha512"; "" where there is no checksum.
	Algorithm string
	// Sum in lower-case hexadecimal.
	Sum string
}

var algorithms = map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New}

// ParseChecksum reads a checksum; the empty text is the absence of one.
func ParseChecksum(text string) (Checksum, error) {
	if text == "" {
		return Checksum{}, nil
	}
	algorithm, sum, found := strings.Cut(text, ":")
	if !found {
		return Checksum{}, fmt.Errorf("%q does not name its algorithm: write \"sha256:\" or \"sha512:\" and the sum in hexadecimal", text)
	}
	c := Checksum{strings.ToLower(algorithm), strings.ToLower(strings.TrimSpace(sum))}
	newHash, known := algorithms[c.Algorithm]
	if !known {
		return Checksum{}, fmt.Errorf("%q is no algorithm that is known here: write \"sha256:\" or \"sha512:\" and the sum in hexadecimal", algorithm)
	}
	raw, err := hex.DecodeString(c.Sum)
	if want := newHash().Size(); err != nil || len(raw) != want {
		return Checksum{}, fmt.Errorf("a %s sum has %d hexadecimal digits, and %q has not", c.Algorithm, 2*want, sum)
	}
	return c, nil
}

func (c Checksum) String() string {
	if c.Algorithm == "" {
		return ""
	}
	return c.Algorithm + ":" + c.Sum
}

// digests computes what is to be known of a source once it has been read.
type digests struct {
	want Checksum
	// algorithm of sum; "" for none.
	algorithm string
	sum       hash.Hash
	crc       hash.Hash32
}

// newDigests returns the digests to compute of a source. Those are the wanted sum, or SHA-256 of what comes over a network, which
// is slower than that anyway. A local file without a checksum is only to be told from what it was before, for which a CRC does
// that costs a tenth.
func newDigests(want Checksum, local bool) *digests {
	d := &digests{want: want, algorithm: want.Algorithm}
	if local {
		d.crc = newCRC32C()
	} else {
		d.algorithm = cmp.Or(d.algorithm, "sha256")
	}
	if d.algorithm != "" {
		d.sum = algorithms[d.algorithm]()
	}
	return d
}

// newCRC32C returns a CRC-32C, which processors compute themselves.
func newCRC32C() hash.Hash32 { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }

// Write implements io.Writer; it cannot fail.
func (d *digests) Write(p []byte) (int, error) {
	if d.sum != nil {
		d.sum.Write(p)
	}
	if d.crc != nil {
		d.crc.Write(p)
	}
	return len(p), nil
}

// SHA256 returns the sum of what was written so far, in hexadecimal; "" where it was not computed.
func (d *digests) SHA256() string {
	if d.algorithm != "sha256" {
		return ""
	}
	return hex.EncodeToString(d.sum.Sum(nil))
}

// CRC32C returns the CRC of what was written so far; 0 where it was not computed.
func (d *digests) CRC32C() uint32 {
	if d.crc == nil {
		return 0
	}
	return d.crc.Sum32()
}

// verifySum compares what was written with the wanted sum.
func (d *digests) verifySum() error {
	if d.want.Algorithm == "" {
		return nil
	}
	if got := hex.EncodeToString(d.sum.Sum(nil)); got != d.want.Sum {
		return fmt.Errorf("wrong checksum: it should be %s and is %s:%s. Either the source changed, or it was tampered with, or `checksum` is wrong", d.want, d.want.Algorithm, got)
	}
	return nil
}
