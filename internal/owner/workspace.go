package owner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/cli"
)

// Workspace returns a fingerprint of where this run's state is: the backend and the selected workspace, and for a state in a
// file the computer, the working directory and the file's name. A run that was killed before its state knew what it had made
// is followed by one with the same fingerprint, which may take that over; another state's runs have another one. It is the
// same for the life of the process, and "" where the working directory cannot be told, which is nobody's.
var Workspace = sync.OnceValue(func() string {
	directory, err := os.Getwd()
	if err != nil {
		return ""
	}
	data := dataDirectory(directory)
	p := place{backend: backend(data), workspace: selected(data)}
	if p.backend == "" {
		p.computer, p.directory, p.stateFile = computer(), directory, cli.Option(cli.Arguments(), "state")
	}
	return fingerprint(p)
})

// Describe returns where this run's state is, for people: `workspace "default" in /srv/okd on ci-1`, or the backend's type in
// place of a directory.
var Describe = sync.OnceValue(func() string {
	directory, err := os.Getwd()
	if err != nil {
		return "a run whose directory cannot be told"
	}
	data := dataDirectory(directory)
	where := fmt.Sprintf("in %s", directory)
	if b := backend(data); b != "" {
		where = fmt.Sprintf("of backend %s", b[:min(len(b), describedLength)])
	}
	name, _ := os.Hostname()
	return fmt.Sprintf("workspace %q %s on %s", selected(data), where, name)
})

// describedLength bounds what Describe says of a backend.
const describedLength = 120

// place is what tells one state from another.
type place struct{ computer, directory, workspace, backend, stateFile string }

func fingerprint(p place) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{p.computer, p.directory, p.workspace, p.backend, p.stateFile}, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// computer is the machine that Terraform runs on: copies of one image share an id, and containers of one host a name.
func computer() string {
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

// selected is the workspace that Terraform runs in.
func selected(data string) string {
	if named := os.Getenv("TF_WORKSPACE"); named != "" {
		return named
	}
	name, err := os.ReadFile(filepath.Join(data, "environment"))
	if err != nil || len(name) == 0 {
		return "default"
	}
	return strings.TrimSpace(string(name))
}

// backend is where `terraform init` found the state to be kept, as text; "" for a file on this computer.
func backend(data string) string {
	text, err := os.ReadFile(filepath.Join(data, "terraform.tfstate"))
	if err != nil {
		return ""
	}
	var initialized struct {
		Backend struct {
			Type   string         `json:"type"`
			Config map[string]any `json:"config"`
		} `json:"backend"`
	}
	if json.Unmarshal(text, &initialized) != nil || initialized.Backend.Type == "" || initialized.Backend.Type == "local" {
		return ""
	}
	// Credentials change from run to run, and say nothing about which state it is.
	maps.DeleteFunc(initialized.Backend.Config, func(name string, value any) bool {
		return value == nil || slices.Contains(credentials, name)
	})
	where, err := json.Marshal(initialized.Backend)
	if err != nil {
		return ""
	}
	return string(where)
}

// credentials are the settings of backends that hold secrets, by their whole names: "secret_suffix" of the backend "kubernetes" tells
// two states apart, as does who asks where each has a place of their own.
var credentials = []string{
	// azurerm
	"access_key", "client_certificate", "client_certificate_password", "client_secret", "oidc_request_token", "oidc_token", "sas_token",
	// consul, http, pg, remote
	"access_token", "http_auth", "password", "token", "client_private_key_pem",
	// cos, oss
	"secret_id", "secret_key", "security_token",
	// gcs, kubernetes, oci, s3
	"credentials", "encryption_key", "client_key", "private_key", "private_key_password", "sse_customer_key",
}
