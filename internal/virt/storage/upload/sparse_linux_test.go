package upload

import (
	"bytes"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Whatever a file is made of, it is read as it is.
func TestHolesAreReadAsZeros(t *testing.T) {
	const page = 64 << 10
	for name, extents := range map[string]string{
		"nothing": "", "data": "dd", "a hole": "..", "a hole first": "..d", "a hole last": "dd...", "both": ".d..d.", "many": "d.d.d.d",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close() //nolint:errcheck // only a test
			for i, kind := range extents {
				if kind == 'd' {
					data := make([]byte, page)
					_, _ = rand.Read(data)
					if _, err := f.WriteAt(data, int64(i*page)); err != nil {
						t.Fatal(err)
					}
				}
			}
			size := int64(len(extents) * page)
			if len(extents) > 0 {
				size -= 100 // ends within a page
			}
			if err := f.Truncate(size); err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			again, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			r := openSparse(again, size)
			defer r.Close() //nolint:errcheck // only a test
			var got bytes.Buffer
			// What the buffer held before must not pass for a hole.
			dirty := bytes.Repeat([]byte{0xff}, 100_000)
			if _, err := io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{r}, dirty); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%d bytes are read, not the %d that are there", got.Len(), len(want))
			}
		})
	}
}
