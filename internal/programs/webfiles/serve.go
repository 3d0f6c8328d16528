// Package webfiles is the program that serves files by HTTP on a service node: what there is to serve lies by its checksum in one directory,
// and a file of the configuration for each content says under which paths.
package webfiles

import (
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/unitprogram"
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

// Listener is where a server listens, in ListenerFile.
type Listener struct {
	Address netip.Addr `json:"address"`
	Port    int64      `json:"port"`
}

// ListenerFile is the server's own file in its directory.
const ListenerFile = "listen.json"

// String is the listener as net.Listen takes it.
func (l Listener) String() string {
	return net.JoinHostPort(l.Address.String(), strconv.FormatInt(l.Port, 10))
}

// Entry is what is served under a path.
type Entry struct {
	Path string `json:"path"`
	// Source or Directory is where it comes from, as its resource names it; both are "" for a text.
	Source    string `json:"source,omitempty"`
	Directory string `json:"directory,omitempty"`
	// Files are the SHA-256 of all files in hexadecimal, by their paths below Path: "" for the only one of what is no directory.
	Files map[string]string `json:"files"`
}

// Served are the SHA-256 of its files by the paths that clients ask for.
func (e Entry) Served() map[string]string {
	all := map[string]string{}
	for below, sum := range e.Files {
		all[strings.TrimSuffix(e.Path+"/"+below, "/")] = sum
	}
	return all
}

// files are what a server has, by their paths.
type files map[string]string

// loadConfig reads the configuration.
func loadConfig(directory string) (l Listener, all files, err error) {
	if err := unitprogram.ReadFile(directory, ListenerFile, &l); err != nil {
		return l, nil, err
	}
	paths, err := filepath.Glob(filepath.Join(directory, "content-*.json"))
	all = files{}
	for _, path := range paths {
		var e Entry
		if err := unitprogram.ReadFile(directory, filepath.Base(path), &e); err != nil {
			return l, nil, err
		}
		for at, sum := range e.Served() {
			if _, err := hex.DecodeString(sum); err != nil {
				return l, nil, fmt.Errorf("%s: %q is no checksum", filepath.Base(path), sum)
			}
			all[at] = sum
		}
	}
	return l, all, err
}
