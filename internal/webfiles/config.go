// Package webfiles is the program that serves files by HTTP on a service node: what there is to serve lies by its checksum in one directory,
// and a file of the configuration for each content says under which paths.
package webfiles

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/unitprogram"
)

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
		for below, sum := range e.Files {
			if _, err := hex.DecodeString(sum); err != nil {
				return l, nil, fmt.Errorf("%s: %q is no checksum", filepath.Base(path), sum)
			}
			all[strings.TrimSuffix(e.Path+"/"+below, "/")] = sum
		}
	}
	return l, all, err
}
