package upload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// server is a file server that fails in the ways that it is told to.
type server struct {
	content []byte
	etag    string
	ranges  bool
	// breakAfter ends the first `breaks` answers after so many bytes.
	breakAfter int
	breaks     atomic.Int32
	// statuses are answered first.
	statuses []int
	requests atomic.Int32
	stall    chan struct{}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := int(s.requests.Add(1))
	if n <= len(s.statuses) {
		w.WriteHeader(s.statuses[n-1])
		return
	}
	if s.etag != "" {
		w.Header().Set("ETag", s.etag)
	}
	from := 0
	if start := r.Header.Get("Range"); s.ranges && start != "" && (r.Header.Get("If-Range") == "" || r.Header.Get("If-Range") == s.etag) {
		from, _ = strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(start, "bytes="), "-"))
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(s.content)-1, len(s.content)))
		w.Header().Set("Content-Length", strconv.Itoa(len(s.content)-from))
		w.WriteHeader(http.StatusPartialContent)
	} else {
		w.Header().Set("Content-Length", strconv.Itoa(len(s.content)))
	}
	rest := s.content[from:]
	if s.breaks.Add(-1) >= 0 {
		_, _ = w.Write(rest[:min(s.breakAfter, len(rest))])
		w.(http.Flusher).Flush()
		if s.stall != nil {
			<-s.stall
		}
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(rest)
}

// fast makes retries and stalls short for a test.
func fast(t *testing.T) {
	wait, stall := firstWait, stallTimeout
	firstWait, stallTimeout = time.Millisecond, 200*time.Millisecond
	t.Cleanup(func() { firstWait, stallTimeout = wait, stall })
}

func fetch(ctx context.Context, t *testing.T, h http.Handler, guarded bool) ([]byte, error) {
	t.Helper()
	web := httptest.NewServer(h)
	defer web.Close()
	u, err := url.Parse(web.URL + "/image")
	if err != nil {
		t.Fatal(err)
	}
	d, err := startDownload(ctx, u, guarded, false)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // never fails
	return io.ReadAll(d)
}

func TestAProbeAsksOnce(t *testing.T) {
	busy := &server{statuses: []int{503}, content: someBytes()}
	web := httptest.NewServer(busy)
	defer web.Close()
	source, err := ParseSource(web.URL + "/image")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "503") || strings.Contains(err.Error(), "tries") {
		t.Errorf("of a server that is busy: %v", err)
	}
	if n := busy.requests.Load(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	r, err := source.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // never fails
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, busy.content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// An upload that the daemon ends leaves a read under way, which would take the transfer up again.
func TestADownloadThatIsClosedIsNotResumed(t *testing.T) {
	fast(t)
	stallTimeout = time.Minute
	s := &server{content: someBytes(), ranges: true, etag: `"1"`, breakAfter: 1000, stall: make(chan struct{})}
	s.breaks.Store(1)
	web := httptest.NewServer(s)
	defer web.Close()
	defer close(s.stall)
	u, err := url.Parse(web.URL + "/image")
	if err != nil {
		t.Fatal(err)
	}
	d, err := startDownload(t.Context(), u, true, false)
	if err != nil {
		t.Fatal(err)
	}
	begun, read := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := io.ReadFull(d, make([]byte, 1000))
		close(begun)
		if err == nil {
			_, err = d.Read(make([]byte, 1))
		}
		read <- err
	}()
	<-begun
	time.Sleep(20 * time.Millisecond) // the next read is under way
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := <-read; !errors.Is(err, context.Canceled) {
		t.Errorf("the read that was under way: %v", err)
	}
	if n := s.requests.Load(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}

func someBytes() []byte {
	b := make([]byte, 300_000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

func TestDownload(t *testing.T) {
	fast(t)
	content := someBytes()
	for name, c := range map[string]struct {
		server  *server
		breaks  int32
		guarded bool
		fails   string
	}{
		"whole":                              {server: &server{}},
		"resumed by range":                   {server: &server{etag: `"v1"`, ranges: true, breakAfter: 70_000}, breaks: 4},
		"resumed without ranges":             {server: &server{etag: `"v1"`, breakAfter: 250_000}, breaks: 2},
		"resumed with only a checksum":       {server: &server{ranges: true, breakAfter: 70_000}, breaks: 2, guarded: true},
		"broken without ETag or checksum":    {server: &server{ranges: true, breakAfter: 70_000}, breaks: 1, fails: "give a checksum"},
		"a weak ETag is none":                {server: &server{etag: `W/"v1"`, ranges: true, breakAfter: 70_000}, breaks: 1, fails: "give a checksum"},
		"broken before the first byte":       {server: &server{}, breaks: 2},
		"broken for ever":                    {server: &server{}, breaks: 1000, fails: "gave up after 6 tries"},
		"busy at first":                      {server: &server{statuses: []int{503, 429, 502}}},
		"busy for ever":                      {server: &server{statuses: []int{503, 503, 503, 503, 503, 503, 503}}, fails: "503 Service Unavailable"},
		"not there":                          {server: &server{statuses: []int{404}}, fails: "404 Not Found"},
		"not allowed is not asked for twice": {server: &server{statuses: []int{403}}, fails: "403 Forbidden"},
		"stalled":                            {server: &server{etag: `"v1"`, ranges: true, breakAfter: 70_000, stall: make(chan struct{})}, breaks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c.server.content = content
			c.server.breaks.Store(c.breaks)
			if c.server.stall != nil {
				time.AfterFunc(2*time.Second, func() { close(c.server.stall) })
			}
			got, err := fetch(t.Context(), t, c.server, c.guarded)
			switch {
			case c.fails == "" && (err != nil || !bytes.Equal(got, content)):
				t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
			case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails) || !strings.Contains(err.Error(), "/image")):
				t.Errorf("want an error with %q and the URL, got %v", c.fails, err)
			}
			if strings.HasPrefix(c.fails, "40") && c.server.requests.Load() != 1 {
				t.Errorf("asked %d times", c.server.requests.Load())
			}
		})
	}
}

func TestDownloadOfAFileThatChangesMeanwhileFails(t *testing.T) {
	fast(t)
	for name, c := range map[string]struct {
		second *server
		// careless has the server answer with a part of whatever file it has.
		careless bool
	}{
		"a server that heeds If-Range":                  {&server{content: someBytes(), etag: `"v2"`, ranges: true}, false},
		"one that does not":                             {&server{content: someBytes(), etag: `"v2"`, ranges: true}, true},
		"one that does not, and tells its length alone": {&server{content: append(someBytes(), 0), ranges: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			first := &server{content: someBytes(), etag: `"v1"`, ranges: true, breakAfter: 70_000}
			first.breaks.Store(1)
			var n atomic.Int32
			_, err := fetch(t.Context(), t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1) == 1 {
					first.ServeHTTP(w, r)
					return
				}
				if c.careless {
					r.Header.Del("If-Range")
				}
				c.second.ServeHTTP(w, r)
			}), false)
			if err == nil || !strings.Contains(err.Error(), "changed on the server") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDownloadEndsWithItsContext(t *testing.T) {
	s := &server{content: someBytes(), breakAfter: 70_000, stall: make(chan struct{})}
	s.breaks.Store(1)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	time.AfterFunc(time.Second, func() { close(s.stall) })
	start := time.Now()
	if _, err := fetch(ctx, t, s, true); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if waited := time.Since(start); waited > 3*time.Second {
		t.Errorf("went on for %s", waited)
	}
}
