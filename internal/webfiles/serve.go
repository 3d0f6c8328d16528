package webfiles

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/unitprogram"
)

// Main serves what the configuration in a directory says until it is told to end, and reads it anew on SIGHUP.
func Main(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("webfiles", flag.ContinueOnError)
	flags.SetOutput(stderr)
	directory := flags.String("config", "", "directory of the configuration")
	store := flags.String("store", "", "directory of what is served, by checksums")
	if err := flags.Parse(args); err != nil {
		return err
	}
	at, all, err := loadConfig(*directory)
	if err != nil {
		return err
	}
	s := &server{store: *store}
	s.files.Store(&all)
	listener, err := net.Listen("tcp", at.String())
	if err != nil {
		return err
	}
	web := &http.Server{Handler: s, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: log.New(stderr, "", 0)}
	program := unitprogram.Program{Reload: func(context.Context) error {
		now, all, err := loadConfig(*directory)
		if err == nil && now != at {
			err = errors.New("it listens elsewhere now, and starts anew")
		}
		if err != nil {
			return err
		}
		s.files.Store(&all)
		return nil
	}}
	program.AddServer(func(context.Context) error { return web.Serve(listener) }, web.Close)
	defer func() { _ = program.Close() }()
	return program.Run(ctx)
}

// server serves files by the names that the configuration gives them.
type server struct {
	store string
	files atomic.Pointer[files]
}

// ServeHTTP implements http.Handler. A file is answered whole or in parts (RFC 9110, section 14), with its checksum as its tag.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "files can be read, and nothing else", http.StatusMethodNotAllowed)
		return
	}
	name := path.Clean("/" + r.URL.Path)
	sum, there := (*s.files.Load())[name]
	if !there {
		http.NotFound(w, r)
		return
	}
	f, err := os.Open(filepath.Join(s.store, sum))
	if err != nil {
		http.Error(w, "it is not on this machine: apply its virtcluster_http_content again", http.StatusInternalServerError)
		return
	}
	defer f.Close()
	w.Header().Set("ETag", `"`+sum+`"`)
	http.ServeContent(w, r, path.Base(name), time.Time{}, f)
}
