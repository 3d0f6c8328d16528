package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// How long a server may keep us waiting, and how often we come back to one that fails. Variables for tests.
var (
	// stallTimeout is how long nothing may arrive.
	stallTimeout = 60 * time.Second
	// tries is how often in a row a request may fail without a byte of progress.
	tries = 6
	// firstWait is what follows the first failure; each further wait is half as long again or more.
	firstWait = time.Second
)

// download is a transfer that is taken up again where it broke.
type download struct {
	ctx     context.Context // until end is called
	end     context.CancelFunc
	url     *url.URL
	guarded bool // by a checksum
	once    bool // a request that fails is not made again
	client  *http.Client
	size    int64 // -1 where the server does not say
	// version is the server's name for this version of the file: a strong ETag, or "".
	version string

	mu     sync.Mutex // what follows is that of the Read under way
	body   io.ReadCloser
	cancel context.CancelFunc
	stall  *time.Timer
	at     int64
	failed int // requests in a row that brought nothing
	wait   *backoff.ExponentialBackOff
}

// startDownload makes the first request, so that what is wrong with the address shows before anything is made.
func startDownload(ctx context.Context, u *url.URL, guarded, once bool) (*download, error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval = firstWait
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = stallTimeout
	ctx, end := context.WithCancel(ctx)
	d := &download{ctx: ctx, end: end, url: u, guarded: guarded, once: once, size: -1, wait: wait, client: &http.Client{Transport: transport}}
	d.client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) >= 10 {
			return errors.New("it leads on and on: 10 redirects")
		}
		if req.URL.Scheme == "http" && via[0].URL.Scheme == "https" && !guarded {
			return fmt.Errorf("it leads to %s, which is not secure: give a checksum to allow it", req.URL.Redacted())
		}
		return nil
	}
	if err := d.connectAgain(); err != nil {
		end()
		d.client.CloseIdleConnections()
		return nil, err
	}
	return d, nil
}

// Read reads on, over any number of connections. An error is final.
func (d *download) Read(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		n, err := d.body.Read(p)
		d.at += int64(n)
		if n > 0 {
			d.failed = 0
			d.wait.Reset()
			d.stall.Reset(stallTimeout)
		}
		whole := errors.Is(err, io.EOF) && (d.size < 0 || d.at == d.size)
		switch {
		case whole:
			return n, io.EOF
		case n > 0 || err == nil:
			return n, nil // the failure, if it was one, comes again
		case d.ctx.Err() != nil:
			return 0, fmt.Errorf("download %s: %w", d.url.Redacted(), context.Cause(d.ctx))
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err := d.resumeTransfer(err); err != nil {
			return 0, err
		}
	}
}

// resumeTransfer takes a broken transfer up again.
func (d *download) resumeTransfer(broken error) error {
	d.releaseConnection()
	if d.at > 0 && !d.guarded && d.version == "" {
		return fmt.Errorf("download %s: the transfer broke after %d of %s bytes, and cannot be resumed because the server gives the file no ETag: give a checksum, so that the parts can be trusted to belong together: %w",
			d.url.Redacted(), d.at, describeCount(d.size), broken)
	}
	tflog.Warn(d.ctx, "download broke, taking it up again", map[string]any{"url": d.url.Redacted(), "at": d.at, "reason": broken.Error()})
	if err := d.pauseBeforeRetry(broken); err != nil {
		return err
	}
	return d.connectAgain()
}

// connectAgain makes requests until one is answered with what comes next.
func (d *download) connectAgain() error {
	for {
		err := d.requestRest()
		var final *backoff.PermanentError
		switch {
		case err == nil:
			return nil
		case d.ctx.Err() != nil:
			return fmt.Errorf("download %s: %w", d.url.Redacted(), context.Cause(d.ctx))
		case errors.As(err, &final):
			return fmt.Errorf("download %s: %w", d.url.Redacted(), final.Unwrap())
		}
		tflog.Warn(d.ctx, "download not answered, trying again", map[string]any{"url": d.url.Redacted(), "reason": err.Error()})
		if err := d.pauseBeforeRetry(err); err != nil {
			return err
		}
	}
}

// pauseBeforeRetry waits before the next request, or gives up.
func (d *download) pauseBeforeRetry(reason error) error {
	if d.once {
		return fmt.Errorf("download %s: %w", d.url.Redacted(), reason)
	}
	d.failed++
	if d.failed >= tries {
		return fmt.Errorf("download %s: gave up after %d tries: %w", d.url.Redacted(), d.failed, reason)
	}
	select {
	case <-d.ctx.Done():
		return fmt.Errorf("download %s: %w", d.url.Redacted(), context.Cause(d.ctx))
	case <-time.After(d.wait.NextBackOff()):
		return nil
	}
}

// requestRest asks for the file, from where we are. A permanent error is one that a further try does not mend.
func (d *download) requestRest() error {
	ctx, end := context.WithCancelCause(d.ctx)
	stall := time.AfterFunc(stallTimeout, func() { end(fmt.Errorf("nothing arrived for %s", stallTimeout)) })
	cancel := func() { end(nil) }
	resp, err := d.sendRequest(ctx)
	if err == nil {
		if err = d.checkStatus(resp); err == nil {
			d.body, d.cancel, d.stall = resp.Body, cancel, stall
			err = d.skipReceived(resp)
		}
		if err != nil {
			_ = resp.Body.Close()
		}
	}
	if err != nil {
		stall.Stop()
		cancel()
	}
	return err
}

func (d *download) sendRequest(ctx context.Context) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url.String(), nil)
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	// The file as it is: checksums are over that, and what is compressed is decompressed later.
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "terraform-provider-virtcluster")
	if d.at > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.at))
		if d.version != "" {
			req.Header.Set("If-Range", d.version)
		}
	}
	resp, err := d.client.Do(req)
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return nil, backoff.Permanent(err)
	}
	var refused *url.Error
	if errors.As(err, &refused) && resp != nil { // CheckRedirect said no
		return nil, backoff.Permanent(refused.Err)
	}
	return resp, err
}

// errChanged says that what comes next is of another version of the file.
var errChanged = backoff.Permanent(errors.New("the file changed on the server while it was downloaded: apply again"))

// checkStatus judges an answer's status.
func (d *download) checkStatus(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusOK:
		if d.at == 0 {
			d.size = resp.ContentLength
			if tag := resp.Header.Get("ETag"); !strings.HasPrefix(tag, "W/") {
				d.version = tag
			}
		}
		if d.at > 0 && d.version != "" && resp.Header.Get("ETag") != d.version && !d.guarded {
			return errChanged
		}
		return nil
	case http.StatusPartialContent:
		start, size, ok := parseRange(resp.Header.Get("Content-Range"))
		if !ok || start != d.at {
			return backoff.Permanent(fmt.Errorf("asked for the file from byte %d on, the server sent %q", d.at, resp.Header.Get("Content-Range")))
		}
		// Not every server heeds If-Range, or tells the version again.
		tag := resp.Header.Get("ETag")
		if !d.guarded && (tag != "" && tag != d.version || size >= 0 && d.size >= 0 && size != d.size) {
			return errChanged
		}
		return nil
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("the server answered %s", resp.Status)
	}
	return backoff.Permanent(fmt.Errorf("the server answered %s", resp.Status))
}

// skipReceived passes over what we have already, where the server starts from the beginning again.
func (d *download) skipReceived(resp *http.Response) error {
	if resp.StatusCode != http.StatusOK || d.at == 0 {
		return nil
	}
	_, err := io.CopyN(io.Discard, &stallReader{resp.Body, d.stall}, d.at)
	return err
}

// stallReader keeps a timer from running out while something arrives.
type stallReader struct {
	io.Reader
	timer *time.Timer
}

func (s *stallReader) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.timer.Reset(stallTimeout)
	return n, err
}

// parseRange reads "bytes 100-199/200"; size is -1 where the server does not say.
func parseRange(header string) (start, size int64, ok bool) {
	span, all, _ := strings.Cut(strings.TrimPrefix(header, "bytes "), "/")
	first, _, ok := strings.Cut(span, "-")
	start, err := strconv.ParseInt(first, 10, 64)
	size, unknown := strconv.ParseInt(all, 10, 64)
	if unknown != nil {
		size = -1
	}
	return start, size, ok && err == nil
}

func describeCount(size int64) string {
	if size < 0 {
		return "an unknown number of"
	}
	return strconv.FormatInt(size, 10)
}

func (d *download) releaseConnection() {
	d.stall.Stop()
	_ = d.body.Close()
	d.cancel()
}

// Close ends the transfer, and a Read that is under way, which would take for broken what is closed. UploadVolume leaves one where the daemon
// refuses what it is sent.
func (d *download) Close() error {
	d.end()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.releaseConnection()
	d.client.CloseIdleConnections()
	return nil
}
