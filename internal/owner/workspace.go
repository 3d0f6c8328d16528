package owner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Workspace returns a fingerprint of where this run's state is: the backend and the selected workspace, and for a state that the
// backend's settings do not tell from all others, as one in a file, the computer and the working directory too. A run that was killed
// while it made something is followed by one with the same fingerprint, which may take that over; another state's runs have another
// one. It is the same for the life of the process, and "" where the working directory cannot be told, which is nobody's.
var Workspace = sync.OnceValue(func() string {
	directory, err := os.Getwd()
	if err != nil {
		return ""
	}
	return fingerprintPlace(locateState(directory, dataDirectory(directory)))
})

// Describe returns where this run's state is, for people, without anything of a backend's settings that may be a secret:
// `workspace "default" in /srv/okd on ci-1`, or `workspace "default" of backend s3 (bucket "states", key "okd") on ci-1`.
var Describe = sync.OnceValue(func() string {
	directory, err := os.Getwd()
	if err != nil {
		return "a run whose directory cannot be told"
	}
	name, _ := os.Hostname()
	return describePlace(directory, dataDirectory(directory), name)
})

// describedLength bounds what Describe says of a backend.
const describedLength = 120

func describePlace(directory, data, computer string) string {
	where := "in " + directory
	if b := readBackend(data); b.Type != "local" {
		text := b.String()
		where = "of backend " + text[:min(len(text), describedLength)]
	}
	return fmt.Sprintf("workspace %q %s on %s", selectedWorkspace(data), where, computer)
}

// place is what tells one state from another.
type place struct{ computer, directory, workspace, backend, stateFile string }

// locateState returns the place of a directory's state.
func locateState(directory, data string) place {
	b := readBackend(data)
	p := place{workspace: selectedWorkspace(data)}
	if !b.isFound() {
		p.computer, p.directory = computerName(), directory
	}
	if b.Type == "local" {
		path, _ := b.Config["path"].(string)
		folder, _ := b.Config["workspace_dir"].(string)
		p.stateFile = strings.TrimSuffix(path+"\x00"+folder, "\x00")
		return p
	}
	text, err := json.Marshal(b)
	if err != nil {
		panic(err) // texts and lists of them always marshal
	}
	p.backend = string(text)
	return p
}

func fingerprintPlace(p place) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{p.computer, p.directory, p.workspace, p.backend, p.stateFile}, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// computerName is the machine that Terraform runs on: copies of one image share an id, and containers of one host a name.
func computerName() string {
	id, _ := os.ReadFile("/etc/machine-id")
	name, _ := os.Hostname()
	return strings.TrimSpace(string(id)) + " " + name
}

// dataDirectory is where Terraform keeps what it knows of a working directory.
func dataDirectory(directory string) string {
	if named := os.Getenv("TF_DATA_DIR"); named != "" {
		if filepath.IsAbs(named) {
			return named
		}
		return filepath.Join(directory, named)
	}
	return filepath.Join(directory, ".terraform")
}

// selectedWorkspace is the workspace that Terraform runs in.
func selectedWorkspace(data string) string {
	if named := os.Getenv("TF_WORKSPACE"); named != "" {
		return named
	}
	name, err := os.ReadFile(filepath.Join(data, "environment"))
	if err != nil || len(name) == 0 {
		return "default"
	}
	return strings.TrimSpace(string(name))
}
