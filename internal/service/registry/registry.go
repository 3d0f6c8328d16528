// Package registry is a registry of container images: docker-registry, in a unit of the provider's own for each registry.
package registry

import (
	"bytes"
	"context"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/ownunit"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Registry is what is served at one port.
type Registry struct {
	Name string `attr:"name"`
	// Address is where it listens; the zero value is every address.
	Address netip.Addr `attr:"address"`
	Port    int64      `attr:"port"`
	// Storage is the directory that has the images.
	Storage string `attr:"storage"`
	// MirrorOf is the URL of the registry whose images it fetches and keeps; "" for one that images are pushed to.
	MirrorOf string `attr:"mirror_of"`
	// Certificate and Key are PEM; "" for plain HTTP. KeyVersion is that of a key which no state has, 0 for another one's.
	Certificate, Key string
	KeyVersion       int64
	// Users may use it, each with the bcrypt hash of a password; empty for everybody.
	Users map[string]string `attr:"users"`
}

// CheckName refuses what is no name of a registry.
var CheckName = service.NewForm(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`, "write 1 to 32 lower-case letters, digits and dashes")

// CheckUser refuses what is no name of a user.
var CheckUser = service.NewForm(`^[A-Za-z0-9_.@-]{1,64}$`, "write letters, digits and . _ @ -")

var hashForm = regexp.MustCompile(`^\$2[aby]\$[0-9]{2}\$[./A-Za-z0-9]{53}$`)

// CheckHash refuses what is no hash of a password. What is wrong is not shown: it may be a password.
func CheckHash(text string) error {
	if hashForm.MatchString(text) {
		return nil
	}
	return errors.New("write the bcrypt hash of the password, as `htpasswd -nB` or Terraform's bcrypt() makes it, and not the password")
}

// CheckMirrored refuses what is no registry.
var CheckMirrored = service.NewForm(`^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._/-]*)?$`, "write the URL of a registry such as https://registry-1.docker.io")

// Validate finds what no registry would serve.
func (r Registry) Validate() []service.Problem {
	if r.Certificate == "" || r.Key == "" {
		return nil // or the key is known while it is applied alone
	}
	if _, err := tls.X509KeyPair([]byte(r.Certificate), []byte(r.Key)); err != nil {
		return []service.Problem{service.Problemf([]any{"tls", "certificate"}, "Certificate and key do not fit", "%s", err)}
	}
	return nil
}

// Uses implements plan.User: a port has one registry.
func (r Registry) Uses() []plan.Use {
	if r.Port == 0 {
		return nil
	}
	return []plan.Use{{Kind: plan.ServedPort, Value: strconv.FormatInt(r.Port, 10), Path: []any{"port"}}}
}

var (
	//go:embed virtcluster-registry@.service
	unit string
	// serveScript is what the unit runs.
	//
	//go:embed serve.sh
	serveScript string
)

const (
	configFile      = "config.yml"
	aloneFile       = "alone.yml" // what a mirror serves by while the registry that it mirrors does not answer
	unitFile        = "unit.env"
	serveFile       = "serve.sh"
	usersFile       = "htpasswd"
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
	account         = "docker-registry"
)

// Daemon is docker-registry, to a transaction. It has no checker: what is written was checked before, and one that does not start is rolled back.
var Daemon = &ownunit.Daemon{Label: "registry", Program: "docker-registry", Unit: "virtcluster-registry", Text: unit, Directory: "/etc/virtcluster-registry", Main: configFile}

// document is the part of the registry's configuration that is written (https://distribution.github.io/distribution/about/configuration/).
type document struct {
	Version string        `yaml:"version"`
	Log     logConfig     `yaml:"log"`
	Storage storageConfig `yaml:"storage"`
	HTTP    httpConfig    `yaml:"http"`
	Auth    *authConfig   `yaml:"auth,omitempty"`
	Proxy   *proxyConfig  `yaml:"proxy,omitempty"`
}

type (
	logConfig     struct{ Level string }
	storageConfig struct {
		Filesystem struct {
			Root string `yaml:"rootdirectory"`
		} `yaml:"filesystem"`
		Delete struct {
			Enabled bool `yaml:"enabled"`
		} `yaml:"delete"`
		Maintenance *maintenanceConfig `yaml:"maintenance,omitempty"`
	}
	maintenanceConfig struct {
		ReadOnly struct {
			Enabled bool `yaml:"enabled"`
		} `yaml:"readonly"`
	}
	httpConfig struct {
		Addr string     `yaml:"addr"`
		TLS  *tlsConfig `yaml:"tls,omitempty"`
	}
	tlsConfig struct {
		Certificate string `yaml:"certificate"`
		Key         string `yaml:"key"`
	}
	authConfig struct {
		Htpasswd struct {
			Realm string `yaml:"realm"`
			Path  string `yaml:"path"`
		} `yaml:"htpasswd"`
	}
	proxyConfig struct {
		URL string `yaml:"remoteurl"`
	}
)

const (
	head       = "# Written by terraform-provider-virtcluster "
	keyVersion = "# key_wo_version "
)

// writeFiles writes all files of the registry.
func (r Registry) writeFiles(t transaction.Tree, m owner.Mark) error {
	if r.Key == "" {
		r.Key = string(t[Daemon.Path(r.Name, keyFile)].Content) // its version stays
	}
	if r.Certificate != "" {
		if _, err := tls.X509KeyPair([]byte(r.Certificate), []byte(r.Key)); err != nil {
			return service.At([]any{"tls", "certificate"}, fmt.Errorf("the certificate and the key do not fit: %w", err))
		}
	}
	files, err := r.renderFiles()
	if err != nil {
		return err
	}
	dropFiles(t, r.Name)
	files[configFile] = append(fmt.Appendf(nil, "%s%s\n", head, m), files[configFile]...)
	for name, content := range files {
		mode, group := fs.FileMode(0o644), ""
		if name == keyFile || name == usersFile {
			mode, group = 0o640, account
		}
		Daemon.Put(t, r.Name, name, content, mode, group)
	}
	return nil
}

// renderFiles returns the files by name, the main one without its first line, which is the mark.
func (r Registry) renderFiles() (map[string][]byte, error) {
	all := map[string][]byte{
		unitFile: fmt.Appendf(nil, "STORAGE=%q\nPORT=%d\nMIRROR_OF=%q\n", r.Storage, r.Port, r.MirrorOf), serveFile: []byte(serveScript),
	}
	d := document{Version: "0.1", Log: logConfig{"info"}}
	d.Storage.Filesystem.Root, d.Storage.Delete.Enabled = r.Storage, r.MirrorOf == ""
	address := ""
	if r.Address.IsValid() {
		address = r.Address.String()
	}
	d.HTTP.Addr = net.JoinHostPort(address, strconv.FormatInt(r.Port, 10))
	if r.Certificate != "" {
		d.HTTP.TLS = &tlsConfig{Daemon.Path(r.Name, certificateFile), Daemon.Path(r.Name, keyFile)}
		all[certificateFile], all[keyFile] = []byte(r.Certificate), []byte(r.Key)
	}
	if len(r.Users) > 0 {
		d.Auth = &authConfig{}
		d.Auth.Htpasswd.Realm, d.Auth.Htpasswd.Path = "registry", Daemon.Path(r.Name, usersFile)
		for _, name := range slices.Sorted(maps.Keys(r.Users)) {
			all[usersFile] = fmt.Appendf(all[usersFile], "%s:%s\n", name, r.Users[name])
		}
	}
	var err error
	if r.MirrorOf != "" {
		alone := d
		alone.Storage.Maintenance = &maintenanceConfig{}
		alone.Storage.Maintenance.ReadOnly.Enabled = true
		if all[aloneFile], err = yaml.Marshal(alone); err != nil {
			return nil, err
		}
		d.Proxy = &proxyConfig{r.MirrorOf}
	}
	content, err := yaml.Marshal(d)
	if r.KeyVersion != 0 {
		content = append(fmt.Appendf(nil, "%s%d\n", keyVersion, r.KeyVersion), content...)
	}
	all[configFile] = content
	return all, err
}

func dropFiles(t transaction.Tree, instance string) {
	Daemon.Drop(t, instance, configFile, aloneFile, unitFile, serveFile, usersFile, certificateFile, keyFile)
}

// findRegistry reads the registry of a name; transaction.ErrAbsent where there is none. One in which a person wrote what nobody asked for has
// nothing, and is written anew.
func findRegistry(t transaction.Tree, name string) (Registry, error) {
	f, there := t[Daemon.Path(name, configFile)]
	if !there {
		return Registry{Name: name}, fmt.Errorf("no registry %q: %w", name, transaction.ErrAbsent)
	}
	_, content, _ := bytes.Cut(f.Content, []byte("\n"))
	if r, err := parseFiles(t, name, content); err == nil {
		return r, nil
	}
	return Registry{Name: name, Users: map[string]string{}}, nil
}

// parseFiles undoes writeFiles. A key that is gone, or does not fit its certificate, has no version. What that would not have written is an error.
func parseFiles(t transaction.Tree, name string, content []byte) (Registry, error) {
	r := Registry{Name: name, Users: map[string]string{}}
	var d document
	if err := yaml.Unmarshal(content, &d); err != nil {
		return r, err
	}
	host, port, err := net.SplitHostPort(d.HTTP.Addr)
	if err != nil {
		return r, err
	}
	if r.Port, err = strconv.ParseInt(port, 10, 64); err != nil {
		return r, err
	}
	r.Storage = d.Storage.Filesystem.Root
	r.Address, _ = netip.ParseAddr(host)
	if d.Proxy != nil {
		r.MirrorOf = d.Proxy.URL
	}
	for line := range strings.Lines(string(t[Daemon.Path(name, usersFile)].Content)) {
		if user, hash, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			r.Users[user] = hash
		}
	}
	r.Certificate, r.Key = string(t[Daemon.Path(name, certificateFile)].Content), string(t[Daemon.Path(name, keyFile)].Content)
	if version, ok := bytes.CutPrefix(content, []byte(keyVersion)); ok {
		line, _, _ := bytes.Cut(version, []byte("\n"))
		r.KeyVersion, _ = strconv.ParseInt(string(line), 10, 64)
	}
	again, err := r.renderFiles()
	if err == nil && !bytes.Equal(again[configFile], content) {
		err = fmt.Errorf("%s is not as it was written", configFile)
	}
	for _, file := range []string{aloneFile, unitFile, serveFile} {
		if !bytes.Equal(again[file], t[Daemon.Path(r.Name, file)].Content) {
			r.Storage = "" // which is what the unit prepares by them
		}
	}
	if r.Certificate != "" && r.Key == "" || len(r.Validate()) > 0 {
		r.KeyVersion = 0
	}
	return r, err
}

// NewPart returns the registry of a name.
func NewPart(of part.Identity) part.Part[Registry] {
	put := func(t transaction.Tree, want Registry) error { return want.writeFiles(t, of.Mark) }
	return part.Part[Registry]{
		Daemon: Daemon, Owner: fmt.Sprintf("registry %q", of.Name), Place: Daemon.Path(of.Name, configFile), ImportID: of.ImportID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return Daemon.Mark(t, of.Name, configFile) },
		Find: func(t transaction.Tree) (Registry, error) { return findRegistry(t, of.Name) }, Serves: Daemon.Serves(of.Name),
		Add: put, Set: put,
		Drop:    func(t transaction.Tree) error { dropFiles(t, of.Name); return nil },
		Secrets: func(want Registry) []string { return append(slices.Collect(maps.Values(want.Users)), want.Key) },
		Look: func(ctx context.Context, h host.Host, want Registry) error {
			return Daemon.CheckPort(ctx, h, want.Name, []any{"port"}, want.Address, want.Port)
		},
	}
}
