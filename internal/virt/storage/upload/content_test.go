package upload

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// qcow2 is a header of the given version with a virtual size of 3 GiB, and some bytes after it.
func qcow2(version uint32, change func(header []byte)) []byte {
	b := make([]byte, 10_000)
	copy(b, "QFI\xfb")
	binary.BigEndian.PutUint32(b[4:], version)
	binary.BigEndian.PutUint64(b[24:], 3<<30)
	b[9999] = 1
	if change != nil {
		change(b)
	}
	return b
}

func compressed(t *testing.T, with func(io.Writer) (io.WriteCloser, error), content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := with(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var compressions = map[string]func(io.Writer) (io.WriteCloser, error){
	"xz":   func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
	"gzip": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	"zstd": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
}

func TestContentIsDecompressedAndRecognised(t *testing.T) {
	raw := bytes.Repeat([]byte("raw disk"), 1000)
	for _, want := range []struct {
		format  string
		size    uint64
		content []byte
	}{{"qcow2", 3 << 30, qcow2(3, nil)}, {"qcow2", 3 << 30, qcow2(2, nil)}, {"raw", 0, raw}, {"raw", 0, raw[:600]}, {"raw", 0, raw[:4096]}} {
		t.Run(want.format, func(t *testing.T) {
			sources := map[string][]byte{"plain": want.content}
			for name, with := range compressions {
				sources[name] = compressed(t, with, want.content)
			}
			for name, source := range sources {
				for _, reader := range []io.Reader{bytes.NewReader(source), iotest.OneByteReader(bytes.NewReader(source)), iotest.DataErrReader(bytes.NewReader(source))} {
					c, err := openContent(reader)
					if err != nil {
						t.Errorf("%s %s: %v", name, want.format, err)
						continue
					}
					got, err := io.ReadAll(io.MultiReader(bytes.NewReader(c.head), c.rest))
					if err != nil || !bytes.Equal(got, want.content) || c.format != want.format || c.virtualSize != want.size {
						t.Errorf("%s %s: %d bytes of %d, format %s, size %d, %v", name, want.format, len(got), len(want.content), c.format, c.virtualSize, err)
					}
					c.close()
				}
			}
		})
	}
}

func TestContentThatIsNoImage(t *testing.T) {
	long := func(prefix string) []byte { return append([]byte(prefix), make([]byte, 5000)...) }
	for name, c := range map[string]struct {
		source  []byte
		message string
	}{
		"empty":            {nil, "0 bytes"},
		"too short":        {[]byte("hello"), "5 bytes"},
		"web page":         {long("<!DOCTYPE html>"), "web page"},
		"vmdk":             {long("KDMV"), "VMDK"},
		"vdi":              {append(make([]byte, 0x40), long("\x7f\x10\xda\xbe")...), "VDI"},
		"bzip2":            {long("BZh91AY"), "bzip2"},
		"qcow version 1":   {qcow2(1, nil), "version 1"},
		"overlay":          {qcow2(3, func(b []byte) { b[15] = 104 }), "overlay"},
		"external data":    {qcow2(3, func(b []byte) { b[79] = 4 }), "data in another file"},
		"compressed twice": {compressed(t, compressions["gzip"], compressed(t, compressions["xz"], qcow2(3, nil))), "compressed twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := openContent(bytes.NewReader(c.source)); err == nil || !strings.Contains(err.Error(), c.message) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestSeveralCompressedPartsAreOneImage(t *testing.T) {
	content := qcow2(3, nil)
	for name, with := range compressions {
		t.Run(name, func(t *testing.T) {
			parts := append(compressed(t, with, content[:6000]), compressed(t, with, content[6000:])...)
			for behind, good := range map[string]bool{"": true, "\x00\x00\x00\x00": name != "zstd", "garbage": false, strings.Repeat("garbage", 10): false} {
				c, err := openContent(iotest.HalfReader(strings.NewReader(string(parts) + behind)))
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				got, err := io.ReadAll(io.MultiReader(bytes.NewReader(c.head), c.rest))
				if good && (err != nil || !bytes.Equal(got, content)) {
					t.Errorf("%s with %q behind it: %d bytes, %v", name, behind, len(got), err)
				}
				if !good && (err == nil || !strings.Contains(err.Error(), "something behind its end")) {
					t.Errorf("%s with %q behind it: %v", name, behind, err)
				}
				c.close()
			}
		})
	}
}

func TestASourceThatBreaksIsNotCalledDamaged(t *testing.T) {
	for name, with := range compressions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := compressed(t, with, bytes.Repeat([]byte("raw disk"), 100_000))
			broke := errors.New("the connection broke")
			c, err := openContent(io.MultiReader(bytes.NewReader(whole[:len(whole)-20]), iotest.ErrReader(broke)))
			if err == nil {
				_, err = io.ReadAll(c.rest)
			}
			if !errors.Is(err, broke) || strings.Contains(err.Error(), "damaged") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// pausingReader says when it is read from, and goes on when it is told to.
type pausingReader struct {
	io.Reader
	reads chan struct{}
	goOn  chan struct{}
}

func (r *pausingReader) Read(p []byte) (int, error) {
	r.reads <- struct{}{}
	<-r.goOn
	return r.Reader.Read(p)
}

// An upload that the daemon ends leaves a read under way.
func TestADecompressorIsClosedBetweenReads(t *testing.T) {
	noise := make([]byte, 256<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	for name, with := range compressions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := compressed(t, with, noise)
			slow := &pausingReader{bytes.NewReader(whole[len(whole)/2:]), make(chan struct{}), make(chan struct{})}
			c, err := openContent(io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), slow))
			if err != nil {
				t.Fatal(err)
			}
			read, closed := make(chan error, 1), make(chan struct{})
			go func() {
				_, err := io.Copy(io.Discard, c.rest)
				read <- err
			}()
			<-slow.reads
			go func() {
				c.close()
				close(closed)
			}()
			select {
			case <-closed:
				t.Error("it is closed while it is read from")
			case <-time.After(50 * time.Millisecond):
			}
			go func() {
				for range slow.reads {
				}
			}()
			close(slow.goOn)
			<-closed
			if err := <-read; err != nil && !errors.Is(err, fs.ErrClosed) {
				t.Errorf("the read that was under way: %v", err)
			}
			close(slow.reads)
			if _, err := c.rest.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("it can be read from still: %v", err)
			}
		})
	}
}

func TestTruncatedSourceIsNeverWhole(t *testing.T) {
	content := qcow2(3, nil)
	for name, with := range compressions {
		t.Run(name, func(t *testing.T) {
			whole := compressed(t, with, content)
			for cut := range whole {
				c, err := openContent(bytes.NewReader(whole[:cut]))
				if err != nil {
					continue
				}
				if got, err := io.ReadAll(io.MultiReader(bytes.NewReader(c.head), c.rest)); err == nil && len(got) > 0 && cut > 6 {
					t.Errorf("%s cut after %d of %d bytes passes for an image of %d bytes", name, cut, len(whole), len(got))
				}
			}
		})
	}
}

func TestBrokenSourceIsNoShortOne(t *testing.T) {
	source := io.MultiReader(bytes.NewReader(qcow2(3, nil)[:2000]), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, err := openContent(source); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

func TestChecksum(t *testing.T) {
	const sum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // of "hello"
	for _, text := range []string{"sha256:" + sum, "SHA256:" + strings.ToUpper(sum)} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			c, err := ParseChecksum(text)
			if err != nil || c.String() != "sha256:"+sum {
				t.Errorf("%s: %v, %v", text, c, err)
			}
			d := newDigests(c, false)
			_, _ = d.Write([]byte("hello"))
			if err := d.verifySum(); err != nil {
				t.Error(err)
			}
			_, _ = d.Write([]byte("!"))
			if err := d.verifySum(); err == nil {
				t.Error("another content has the same sum")
			}
		})
	}
	for _, text := range []string{sum, "md5:abcd", "sha256:abcd", "sha512:" + sum, "sha256:" + strings.Repeat("x", 64), "sha256"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if c, err := ParseChecksum(text); err == nil {
				t.Errorf("%q passes as %v", text, c)
			}
		})
	}
}

func TestASourceThatIsNoFile(t *testing.T) {
	there := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{there: "", there + "s": "there is no file " + there + "s", filepath.Dir(there): "not a regular file", "~/file": `pathexpand("~/file")`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Source{file: name}.Stat()
			if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestParseSource(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.org/a.qcow2": "https://example.org/a.qcow2", "https://u:secret@example.org/a": "https://u:xxxxx@example.org/a",
		"file:///srv/a.qcow2": "/srv/a.qcow2", "a.qcow2": "a.qcow2", "/srv/a b.raw": "/srv/a b.raw",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if s, err := ParseSource(text); err != nil || s.String() != want {
				t.Errorf("%q: %s, %v", text, s, err)
			}
		})
	}
	for _, text := range []string{"", "ftp://example.org/a", "https:///a", "file://srv/a", "oci://example.org/a"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if s, err := ParseSource(text); err == nil {
				t.Errorf("%q passes as %s", text, s)
			}
		})
	}
}
