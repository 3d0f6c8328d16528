package upload

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"runtime"
	"strings"
	"testing"
)

// xzAskingFor is an xz file whose header asks for a dictionary (format 1.2.1, 5.3.1: 40 is 4 GiB less a byte).
func xzAskingFor(t *testing.T, bits byte, content []byte) []byte {
	t.Helper()
	file := compressed(t, compressions["xz"], content)
	header := file[12 : 12+4*(int(file[12])+1)]
	at := bytes.Index(header, []byte{0x21, 1}) // the filter LZMA2 with one byte of properties
	if at < 0 {
		t.Fatalf("no filter in %x", header)
	}
	header[at+2] = bits
	binary.LittleEndian.PutUint32(header[len(header)-4:], crc32.ChecksumIEEE(header[:len(header)-4]))
	return file
}

// zstdAskingFor is a frame with a window of 1 KiB << exponent, and one raw block (RFC 8878, 3.1.1).
func zstdAskingFor(exponent byte, content []byte) []byte {
	file := append([]byte("\x28\xb5\x2f\xfd\x00"), exponent<<3)
	block := uint32(len(content))<<3 | 1
	return append(append(file, byte(block), byte(block>>8), byte(block>>16)), content...)
}

// zstdOfOneSegment is a frame whose window is as long as the content that it announces.
func zstdOfOneSegment(announced uint64, content []byte) []byte {
	file := binary.LittleEndian.AppendUint64([]byte("\x28\xb5\x2f\xfd\xe0"), announced)
	block := uint32(len(content))<<3 | 1
	return append(append(file, byte(block), byte(block>>8), byte(block>>16)), content...)
}

func TestASourceCannotAskForMoreMemoryThanThereMayBe(t *testing.T) {
	content := qcow2(3, nil)
	for name, c := range map[string]struct {
		source []byte
		fails  string
	}{
		"xz with 64 MiB, as of xz -9":        {xzAskingFor(t, 28, content), ""},
		"xz with 4 GiB":                      {xzAskingFor(t, 40, content), "more than 128 MiB"},
		"xz whose second part asks":          {append(compressed(t, compressions["xz"], content), xzAskingFor(t, 40, content)...), "more than 128 MiB"},
		"zstd with 128 MiB, as of zstd -22":  {zstdAskingFor(17, content), ""},
		"zstd with 2 GiB":                    {zstdAskingFor(21, content), "more than 128 MiB"},
		"zstd that announces 3 GiB":          {zstdOfOneSegment(3<<30, content), "more than 128 MiB"},
		"zstd whose second part asks":        {append(compressed(t, compressions["zstd"], content), zstdAskingFor(21, content)...), "more than 128 MiB"},
		"gzip with a name that does not end": {append([]byte("\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x03"), bytes.Repeat([]byte("name"), 64<<20/4)...), "decompress gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			image, err := openContent(bytes.NewReader(c.source))
			if err == nil {
				_, err = io.Copy(io.Discard, image.rest)
				image.close()
			}
			runtime.ReadMemStats(&after)
			if (c.fails == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("want an error with %q, got %v", c.fails, err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 3*windowLimit {
				t.Errorf("it took %d MiB", took>>20)
			}
		})
	}
}
