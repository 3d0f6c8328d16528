package upload

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// Source is where an image comes from: a URL, or a file on the machine that Terraform runs on.
type Source struct {
	url  *url.URL // nil for a file
	file string
}

// ParseSource reads a `source`: https://…, http://…, file:///path or a path.
func ParseSource(text string) (Source, error) {
	if !strings.Contains(text, "://") {
		if text == "" {
			return Source{}, errors.New("it is empty: write an https URL or the path of a file")
		}
		return Source{file: text}, nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return Source{}, fmt.Errorf("%q is no URL: %w", text, err)
	}
	switch u.Scheme {
	case "http", "https":
		if u.Host == "" {
			return Source{}, fmt.Errorf("%q names no host", text)
		}
		return Source{url: u}, nil
	case "file":
		if u.Host != "" && u.Host != "localhost" || u.Path == "" {
			return Source{}, fmt.Errorf("%q names a file on another machine: write file:///path, with three slashes", text)
		}
		return Source{file: u.Path}, nil
	}
	return Source{}, fmt.Errorf("cannot fetch %s://…: write an https URL or the path of a file", u.Scheme)
}

// String names the source in messages, without a password that a URL may hold.
func (s Source) String() string {
	if s.url != nil {
		return s.url.Redacted()
	}
	return s.file
}

// IsLocal says that the source is a file on the machine that Terraform runs on.
func (s Source) IsLocal() bool { return s.url == nil }

// CRC32C reads a local source for its sum; see Result.
func (s Source) CRC32C() (uint32, error) {
	h := newCRC32C()
	err := s.digestFile(h)
	return h.Sum32(), err
}

// HasChecksum reads a local source and says whether it has a checksum.
func (s Source) HasChecksum(want Checksum) (bool, error) {
	h := algorithms[want.Algorithm]()
	err := s.digestFile(h)
	return err == nil && hex.EncodeToString(h.Sum(nil)) == want.Sum, err
}

func (s Source) digestFile(h io.Writer) error {
	f, err := os.Open(s.file)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	_, err = io.CopyBuffer(h, struct{ io.Reader }{f}, make([]byte, 1<<20))
	return err
}

// IsInsecure says that whoever is on the way could change what arrives.
func (s Source) IsInsecure() bool { return s.url != nil && s.url.Scheme == "http" }

// Stat looks at a local source, which must be a file that can be read to its end.
func (s Source) Stat() (fs.FileInfo, error) {
	info, err := os.Stat(s.file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(s.file, "~"):
		return nil, fmt.Errorf("there is no file %s, because ~ means nothing here: write pathexpand(%q)", s.file, s.file)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s", s.file)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", s.file)
	}
	f, err := os.Open(s.file) // whether this user may
	if err != nil {
		return nil, err
	}
	return info, f.Close()
}

// Open starts reading the source. A transfer that breaks is taken up again where that is safe.
func (s Source) Open(ctx context.Context) (io.ReadCloser, error) {
	r, _, err := s.openSource(ctx, false, false)
	return r, err
}

// Probe starts reading the source too, and asks nobody twice.
func (s Source) Probe(ctx context.Context) (io.ReadCloser, error) {
	r, _, err := s.openSource(ctx, false, true)
	return r, err
}

// openSource starts reading the source; size is -1 where it is not known. With a checksum more can be done about
// a broken transfer, because it is certain in the end that the parts belong together.
func (s Source) openSource(ctx context.Context, guarded, once bool) (r io.ReadCloser, size int64, err error) {
	if s.url != nil {
		d, err := startDownload(ctx, s.url, guarded, once)
		if err != nil {
			return nil, 0, err
		}
		return d, d.size, nil
	}
	if _, err := s.Stat(); err != nil {
		return nil, 0, err
	}
	f, err := os.Open(s.file)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return openSparse(f, info.Size()), info.Size(), nil
}

// ReportEvery is how often a long transfer says in the log how far it is.
const ReportEvery = 3 * time.Second

// progress counts what is read of a source, logs it, and computes the digests on the way.
type progress struct {
	io.Reader
	ctx     context.Context
	image   string
	size    int64 // -1 where unknown
	done    int64
	digests *digests
	start   time.Time
	last    time.Time
}

func newProgress(ctx context.Context, req Request, r io.Reader, size int64) *progress {
	now := time.Now()
	return &progress{Reader: r, ctx: ctx, image: req.Name, size: size, digests: newDigests(req.Checksum, req.Source.IsLocal()), start: now, last: now}
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.done += int64(n)
	_, _ = p.digests.Write(b[:n])
	if now := time.Now(); now.Sub(p.last) >= ReportEvery {
		p.last = now
		p.reportProgress("uploading image")
	}
	return n, err
}

func (p *progress) reportProgress(message string) {
	elapsed := time.Since(p.start)
	fields := map[string]any{
		"image": p.image, "mib": p.done >> 20, "seconds": int(elapsed.Seconds()),
		"mib_per_second": int(float64(p.done>>20) / max(elapsed.Seconds(), 0.001)),
	}
	if p.size > 0 {
		fields["of_mib"], fields["percent"] = p.size>>20, 100*p.done/p.size
	}
	tflog.Info(p.ctx, message, fields)
}
