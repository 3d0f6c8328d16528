package upload

import (
	"cmp"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"strings"
)

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
