package image

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

// checksum is a parsed "sha256:…" or "sha512:…", over the source as it is, compressed or not.
type checksum struct {
	algorithm string
	// sum in lower-case hexadecimal.
	sum string
}

var algorithms = map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New}

// parseChecksum reads a checksum; the empty text is the absence of one.
func parseChecksum(text string) (checksum, error) {
	if text == "" {
		return checksum{}, nil
	}
	algorithm, sum, found := strings.Cut(text, ":")
	if !found {
		return checksum{}, fmt.Errorf("%q does not name its algorithm: write \"sha256:\" or \"sha512:\" and the sum in hexadecimal", text)
	}
	c := checksum{strings.ToLower(algorithm), strings.ToLower(strings.TrimSpace(sum))}
	newHash, known := algorithms[c.algorithm]
	if !known {
		return checksum{}, fmt.Errorf("%q is no algorithm that is known here: write \"sha256:\" or \"sha512:\" and the sum in hexadecimal", algorithm)
	}
	raw, err := hex.DecodeString(c.sum)
	if want := newHash().Size(); err != nil || len(raw) != want {
		return checksum{}, fmt.Errorf("a %s sum has %d hexadecimal digits, and %q has not", c.algorithm, 2*want, sum)
	}
	return c, nil
}

func (c checksum) String() string {
	if c.algorithm == "" {
		return ""
	}
	return c.algorithm + ":" + c.sum
}

// digests computes what is to be known of a source once it has been read.
type digests struct {
	want checksum
	// algorithm of sum; "" for none.
	algorithm string
	sum       hash.Hash
	fast      hash.Hash32
}

// newDigests computes the sum that is wanted, or SHA-256 of what comes over a network, which is slower than
// that anyway. A local file without a checksum is only to be told from its own former self, for which a
// CRC does that costs a tenth.
func newDigests(want checksum, local bool) *digests {
	d := &digests{want: want, algorithm: want.algorithm}
	if local {
		d.fast = newFast()
	} else {
		d.algorithm = cmp.Or(d.algorithm, "sha256")
	}
	if d.algorithm != "" {
		d.sum = algorithms[d.algorithm]()
	}
	return d
}

// newFast is CRC-32C, which processors compute themselves.
func newFast() hash.Hash32 { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }

// Write implements io.Writer; it cannot fail.
func (d *digests) Write(p []byte) (int, error) {
	if d.sum != nil {
		d.sum.Write(p)
	}
	if d.fast != nil {
		d.fast.Write(p)
	}
	return len(p), nil
}

// SHA256 of what was written so far, in hexadecimal; "" where it was not computed.
func (d *digests) SHA256() string {
	if d.algorithm != "sha256" {
		return ""
	}
	return hex.EncodeToString(d.sum.Sum(nil))
}

// Fast is the CRC of what was written so far; 0 where it was not computed.
func (d *digests) Fast() uint32 {
	if d.fast == nil {
		return 0
	}
	return d.fast.Sum32()
}

// verify compares what was written with the wanted sum.
func (d *digests) verify() error {
	if d.want.algorithm == "" {
		return nil
	}
	if got := hex.EncodeToString(d.sum.Sum(nil)); got != d.want.sum {
		return fmt.Errorf("wrong checksum: it should be %s and is %s:%s. Either the source changed, or it was tampered with, or `checksum` is wrong", d.want, d.want.algorithm, got)
	}
	return nil
}
