package webfiles

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/unitprogram"
)

// ask returns what is answered to a request.
func ask(t *testing.T, method, url, part string) (status int, body string, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if part != "" {
		req.Header.Set("Range", part)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(content), resp.Header
}

// TestFilesAreServedByTheirNames runs the program, and tells it of more.
func TestFilesAreServedByTheirNames(t *testing.T) { //nolint:paralleltest // a signal goes to all of the process
	directory, store := t.TempDir(), t.TempDir()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := Listener{netip.MustParseAddr("127.0.0.1"), int64(free.Addr().(*net.TCPAddr).Port)}
	_ = free.Close()
	write := func(path string, content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put := func(text string) string {
		t.Helper()
		sum := sha256.Sum256([]byte(text))
		name := hex.EncodeToString(sum[:])
		write(filepath.Join(store, name), []byte(text))
		return name
	}
	config := func(name string, v any) {
		t.Helper()
		content, err := unitprogram.Encode("x", v)
		if err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(directory, name), content)
	}
	config(ListenerFile, at)
	config("content-1.json", Entry{Path: "/kernel", Files: map[string]string{"": put("kernel")}})
	config("content-2.json", Entry{Path: "/repo", Files: map[string]string{"a/b.txt": put("b"), "gone": strings.Repeat("0", 64)}})
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- Main(ctx, []string{"-config", directory, "-store", store}, io.Discard) }()
	base := "http://" + at.String()
	for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", at.String()); err == nil {
			_ = conn.Close()
			break
		}
	}
	for name, c := range map[string]struct {
		method, path, part string
		status             int
		body               string
	}{
		"a file":                {"GET", "/kernel", "", 200, "kernel"},
		"a part of it":          {"GET", "/kernel", "bytes=1-3", 206, "ern"},
		"its head":              {"HEAD", "/kernel", "", 200, ""},
		"in a directory":        {"GET", "/repo/a/b.txt", "", 200, "b"},
		"by way of another one": {"GET", "/repo/x/../a//b.txt", "", 200, "b"},
		"a directory":           {"GET", "/repo", "", 404, "404 page not found\n"},
		"one that was lost":     {"GET", "/repo/gone", "", 500, "it is not on this machine: apply its virtcluster_http_content again\n"},
		"outside of all":        {"GET", "/../../etc/passwd", "", 404, "404 page not found\n"},
		"a write":               {"PUT", "/kernel", "", 405, "files can be read, and nothing else\n"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body, header := ask(t, c.method, base+c.path, c.part)
			if status != c.status || body != c.body {
				t.Errorf("%d: %q", status, body)
			}
			if status == 200 && len(header.Get("ETag")) != 66 {
				t.Errorf("the tag is %s", header.Get("ETag"))
			}
		})
	}
	config("content-3.json", Entry{Path: "/later", Files: map[string]string{"": put("later")}})
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	said := ""
	for began := time.Now(); said != "later" && time.Since(began) < 5*time.Second; time.Sleep(10 * time.Millisecond) {
		_, said, _ = ask(t, "GET", base+"/later", "")
	}
	if said != "later" {
		t.Errorf("what was added is %q", said)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAConfigurationThatNobodyWroteIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text, says string }{
		"no listener":   {"content-1.json", `{}`, "listen.json"},
		"no JSON":       {"listen.json", `{`, "EOF"},
		"no checksum":   {"content-1.json", `{"path": "/x", "files": {"": "../../etc/passwd"}}`, "no checksum"},
		"another field": {"content-1.json", `{"secret": 1}`, "secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			texts := map[string]string{c.file: c.text}
			if c.file != "listen.json" && name != "no listener" {
				texts["listen.json"] = `{"address": "127.0.0.1", "port": 1}`
			}
			for file, text := range texts {
				if err := os.WriteFile(filepath.Join(directory, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := Main(t.Context(), []string{"-config", directory}, io.Discard); err == nil || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}
