// Command pictures draws topologies, to be looked at: of each file in JSON, as virtcluster_topology has it, the picture and the page go
// into a directory, under the file's name.
//
//	go run ./test/pictures DIRECTORY internal/topology/testdata/*.json
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/topology"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: pictures DIRECTORY FILE.json…")
		os.Exit(2)
	}
	for _, path := range os.Args[2:] {
		if err := drawFile(path, os.Args[1]); err != nil {
			fmt.Fprintf(os.Stderr, "cannot draw %s: %s\n", path, err)
			os.Exit(1)
		}
	}
}

// drawFile writes the picture and the page of a topology into a directory.
func drawFile(path, directory string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var t topology.Topology
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	page, err := t.HTML()
	if err != nil {
		return err
	}
	at := filepath.Join(directory, strings.TrimSuffix(filepath.Base(path), ".json"))
	if err := os.WriteFile(at+".svg", []byte(t.SVG()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(at+".html", []byte(page), 0o644)
}
