package sshhost

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Target is a machine as an endpoint names it.
type Target struct {
	// User and Port are "" and 0 where the endpoint names none: Options, ~/.ssh/config and OpenSSH's own
	// defaults fill them in, in this order.
	User, Host string
	Port       int
	// ProxyJump is [user@]host[:port], comma separated for several hops; it goes before Options' own.
	ProxyJump string
	// HostKey is what the machine's host key must be: a fingerprint ("SHA256:…") or another host.Pin, or a public key in
	// the form of authorized_keys. Without it the key must be in known_hosts.
	HostKey string
	// FirstUse accepts the key of a machine that known_hosts does not know, so that the caller can pin it.
	// A key that differs from what known_hosts says is refused all the same.
	FirstUse bool
	// KnownHostsOnly marks a machine for which nobody can write a host key down: a hypervisor, one that is jumped through.
	KnownHostsOnly bool
}

// FromEndpoint is the target of an endpoint with scheme ssh.
func FromEndpoint(e host.Endpoint) Target {
	return Target{User: e.User, Host: e.Host, Port: e.Port, ProxyJump: e.ProxyJump, HostKey: string(e.HostKey)}
}

// String is the target as messages name it, with what is given of it.
func (t Target) String() string {
	return host.Endpoint{Scheme: host.SSH, User: t.User, Host: t.Host, Port: t.Port, ProxyJump: t.ProxyJump}.Machine()
}

// settings are a target with everything filled in.
type settings struct {
	user string
	// name is what known_hosts calls the machine; dialHost is what is resolved and dialled.
	name, dialHost string
	port           int
	jump           []host.Hop
	// identities are key files from ~/.ssh/config, or OpenSSH's defaults; agent says whether it is asked.
	identities []string
	agent      string // the socket, "" for none
	knownHosts []string
	timeout    time.Duration
}

func (s settings) dialAddress() string { return net.JoinHostPort(s.name, strconv.Itoa(s.port)) }

// resolveSettings fills in what the target leaves open.
func (t Target) resolveSettings(opts Options) (settings, error) {
	if t.Host == "" {
		return settings{}, errors.New("no host to connect to")
	}
	config, err := readConfig(opts.configFiles())
	if err != nil {
		return settings{}, err
	}
	here := section{config, t.Host}
	s := settings{
		user:     cmp.Or(t.User, opts.User, here.firstValue("User"), loginName()),
		dialHost: t.Host,
		timeout:  cmp.Or(opts.ConnectTimeout, 10*time.Second),
	}
	if name := here.firstValue("HostName"); name != "" {
		s.dialHost = strings.NewReplacer("%h", t.Host, "%%", "%").Replace(name)
	}
	s.name = strings.ToLower(cmp.Or(here.firstValue("HostKeyAlias"), s.dialHost))
	port, err := strconv.Atoi(cmp.Or(here.firstValue("Port"), "22"))
	if err != nil {
		return s, fmt.Errorf("port of %s in the SSH configuration: %w", t.Host, err)
	}
	s.port = cmp.Or(t.Port, port)

	jump := cmp.Or(t.ProxyJump, opts.ProxyJump, here.firstValue("ProxyJump"))
	if s.jump, err = host.ParseJump(jump); err != nil {
		return s, err
	}
	if jump == "" && here.firstValue("ProxyCommand") != "" && here.firstValue("ProxyCommand") != "none" {
		return s, fmt.Errorf("the SSH configuration reaches %s by a ProxyCommand, which is not supported; use ProxyJump or proxy_jump", t.Host)
	}
	s.identities = here.expandPaths("IdentityFile", s)
	if len(s.identities) == 0 {
		for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
			s.identities = append(s.identities, filepath.Join(homeDirectory(), ".ssh", name))
		}
	}
	s.agent = agentSocket(opts, here, s)
	s.knownHosts = knownHostsFiles(opts, here, s)
	return s, nil
}

func agentSocket(opts Options, here section, s settings) string {
	explicit := opts.PrivateKey != "" || opts.PrivateKeyFile != ""
	switch {
	case opts.Agent != nil && !*opts.Agent:
		return ""
	case opts.Agent == nil && (explicit || strings.EqualFold(here.firstValue("IdentitiesOnly"), "yes")):
		// Every key that is offered counts against the server's MaxAuthTries: a key that was named is enough.
		return ""
	}
	if sockets := here.expandPaths("IdentityAgent", s); len(sockets) > 0 && sockets[0] != "SSH_AUTH_SOCK" {
		if strings.EqualFold(sockets[0], "none") {
			return ""
		}
		return sockets[0]
	}
	return os.Getenv("SSH_AUTH_SOCK")
}

func knownHostsFiles(opts Options, here section, s settings) []string {
	if opts.KnownHostsFile != "" {
		return []string{expandHome(opts.KnownHostsFile)}
	}
	files := here.expandPaths("UserKnownHostsFile", s)
	if len(files) == 0 {
		files = []string{filepath.Join(homeDirectory(), ".ssh/known_hosts"), filepath.Join(homeDirectory(), ".ssh/known_hosts2")}
	}
	return append(files, "/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
}

func loginName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return cmp.Or(os.Getenv("USER"), "root")
}

func homeDirectory() string {
	if dir, err := os.UserHomeDir(); err == nil {
		return dir
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return "/"
}

func expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(homeDirectory(), rest)
	}
	return path
}
