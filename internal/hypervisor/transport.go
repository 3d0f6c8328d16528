package hypervisor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

// target is a parsed URI: how to get to the daemon, and what to ask it for.
type target struct {
	transport  string // "unix", "tcp", "tls" or "ssh"
	user       string
	host, port string // port is "" for the transport's own
	// sockets are the daemon's socket paths in the order in which they are tried (unix, ssh).
	sockets []string
	// remoteURI is what the daemon itself opens: "qemu:///system".
	remoteURI string
	// pkiPath holds clientcert.pem, clientkey.pem and cacert.pem; "" means libvirt's own places (tls).
	pkiPath  string
	noVerify bool
	// keyFile is the private key that the URI names (ssh).
	keyFile string
}

// parameters that each transport takes in a URI's query.
var parameters = map[string][]string{
	"unix": {"socket", "mode", "name"},
	"tcp":  {"mode", "name"},
	"tls":  {"pkipath", "no_verify", "mode", "name"},
	"ssh":  {"socket", "keyfile", "mode", "name", "proxy"},
}

// parseURI reads a libvirt URI (https://libvirt.org/uri.html).
func parseURI(text string) (target, error) {
	u, err := url.Parse(text)
	if err != nil {
		return target{}, fmt.Errorf("invalid libvirt URI %q: %w", text, err)
	}
	driver, transport, _ := strings.Cut(u.Scheme, "+")
	switch {
	case driver != "qemu" && driver != "test":
		return target{}, fmt.Errorf("invalid libvirt URI %q: it starts with qemu or test, as in qemu:///system or qemu+ssh://root@kvm1/system", text)
	case transport == "" && u.Host != "":
		transport = "tls" // as libvirt does
	case transport == "":
		transport = "unix"
	case transport == "libssh" || transport == "libssh2":
		transport = "ssh"
	}
	known, ok := parameters[transport]
	if !ok {
		return target{}, fmt.Errorf("invalid libvirt URI %q: unknown transport %q; there are unix, ssh, tls and tcp", text, transport)
	}
	if transport != "unix" && u.Hostname() == "" {
		return target{}, fmt.Errorf("invalid libvirt URI %q: qemu+%s needs a host, as in qemu+%s://kvm1/system", text, transport, transport)
	}
	if u.Path == "" || u.Path == "/" {
		return target{}, fmt.Errorf("invalid libvirt URI %q: its path is missing, as in qemu:///system", text)
	}
	query := u.Query()
	for name := range query {
		if !slices.Contains(known, name) {
			return target{}, fmt.Errorf("invalid libvirt URI %q: the parameter %q does not belong to the transport %q, which takes %s", text, name, transport, strings.Join(known, ", "))
		}
	}
	if mode := query.Get("mode"); mode != "" && mode != "auto" && mode != "legacy" && mode != "direct" {
		return target{}, fmt.Errorf("invalid libvirt URI %q: mode is auto, legacy or direct", text)
	}
	if v := query.Get("no_verify"); v != "" && v != "0" && v != "1" {
		return target{}, fmt.Errorf("invalid libvirt URI %q: no_verify is 0 or 1", text)
	}
	t := target{
		transport: transport, user: u.User.Username(), host: u.Hostname(), port: u.Port(),
		remoteURI: driver + "://" + u.Path, pkiPath: query.Get("pkipath"),
		noVerify: query.Get("no_verify") == "1", keyFile: query.Get("keyfile"),
	}
	if name := query.Get("name"); name != "" {
		t.remoteURI = name
	}
	t.sockets = listSockets(driver, u.Path, query.Get("socket"), query.Get("mode"), transport)
	return t, nil
}

// listSockets lists where the daemon may listen. libvirt-sock belongs to libvirtd, or to virtproxyd, which
// hands every call to the right modular daemon. Where neither runs, virtqemud itself connects to the
// network, storage and filter daemons for its clients, so that one connection does there too.
func listSockets(driver, path, explicit, mode, transport string) []string {
	if explicit != "" {
		return []string{explicit}
	}
	dir := "/var/run/libvirt"
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); path == "/session" && transport == "unix" && runtime != "" {
		dir = filepath.Join(runtime, "libvirt")
	}
	whole, modular := dir+"/libvirt-sock", dir+"/virtqemud-sock"
	switch {
	case mode == "legacy" || driver == "test":
		return []string{whole}
	case mode == "direct":
		return []string{modular}
	}
	return []string{whole, modular}
}

// dialTarget connects, and names the address that it tried last.
func (t target) dialTarget(ctx context.Context, remote *sshhost.Host) (net.Conn, string, error) {
	switch t.transport {
	case "tcp":
		address := net.JoinHostPort(t.host, portOrUsual(t.port, "16509"))
		conn, err := sshhost.NewDialer().DialContext(ctx, "tcp", address)
		return conn, address, err
	case "tls":
		return t.dialTLS(ctx)
	case "ssh":
		return t.dialSSH(ctx, remote)
	}
	return t.dialSockets(ctx, func(ctx context.Context, path string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	})
}

// dialSockets tries the daemon's sockets in turn; nobody listening on one is the reason to try the next.
func (t target) dialSockets(ctx context.Context, dial func(context.Context, string) (net.Conn, error)) (net.Conn, string, error) {
	var failed []error
	for _, path := range t.sockets {
		conn, err := dial(ctx, path)
		if err == nil {
			return conn, path, nil
		}
		failed = append(failed, err)
		if t.transport == "unix" && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
			break
		}
	}
	return nil, strings.Join(t.sockets[:len(failed)], " and "), errors.Join(failed...)
}

func portOrUsual(port, usual string) string {
	if port == "" {
		return usual
	}
	return port
}

// parseRemoteMachine returns the machine of a qemu+ssh URI; nil for the other transports. What the URI says goes before the
// provider's defaults, and those before ~/.ssh/config.
func (t target) parseRemoteMachine(options sshhost.Options) (*sshhost.Host, error) {
	if t.transport != "ssh" {
		return nil, nil
	}
	port := 0
	if t.port != "" {
		var err error
		if port, err = strconv.Atoi(t.port); err != nil {
			return nil, fmt.Errorf("invalid port %q: %w", t.port, err)
		}
	}
	if t.keyFile != "" {
		options.PrivateKey, options.PrivateKeyFile = "", t.keyFile
	}
	return sshhost.New(sshhost.Target{User: t.user, Host: t.host, Port: port, KnownHostsOnly: true}, options), nil
}

// dialSSH reaches the daemon's socket on the remote machine through its SSH connection, without a command
// on the other side.
func (t target) dialSSH(ctx context.Context, remote *sshhost.Host) (net.Conn, string, error) {
	if err := remote.Connect(ctx); err != nil {
		return nil, remote.String(), err
	}
	conn, paths, err := t.dialSockets(ctx, remote.DialUnix)
	return conn, fmt.Sprintf("%s on %s", paths, remote), err
}

var (
	// errClientRefused says that the daemon does not take the client's certificate, or its address.
	errClientRefused = errors.New("the daemon refused the client's certificate or address")
	errNoCertificate = errors.New("there is no certificate")
)

// dialTLS connects with the client's certificate, as libvirt's own clients do.
func (t target) dialTLS(ctx context.Context) (net.Conn, string, error) {
	address := net.JoinHostPort(t.host, portOrUsual(t.port, "16514"))
	config, err := t.tlsConfig()
	if err != nil {
		return nil, address, err
	}
	conn, err := (&tls.Dialer{NetDialer: sshhost.NewDialer(), Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, address, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	// The daemon sends one byte after the handshake: 1 when it accepts the client's certificate and address.
	verdict := make([]byte, 1)
	if _, err := io.ReadFull(conn, verdict); err != nil {
		_ = conn.Close() // the failure to read is what matters
		return nil, address, fmt.Errorf("%w: %s: %w", errClientRefused, t.pkiFile("clientcert.pem"), err)
	}
	if verdict[0] != 1 {
		_ = conn.Close()
		return nil, address, fmt.Errorf("%w: %s", errClientRefused, t.pkiFile("clientcert.pem"))
	}
	return conn, address, nil
}

// tlsConfig reads the certificates from libvirt's standard places (https://libvirt.org/kbase/tlscerts.html).
func (t target) tlsConfig() (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(t.pkiFile("clientcert.pem"), t.pkiFile("clientkey.pem"))
	if err != nil {
		return nil, fmt.Errorf("load the client certificate: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, ServerName: t.host, MinVersion: tls.VersionTLS12}
	if t.noVerify {
		// Asked for by the URI's no_verify=1, which means the same to libvirt's own clients.
		config.InsecureSkipVerify = true //nolint:gosec // the user's explicit choice
		return config, nil
	}
	ca, err := os.ReadFile(t.pkiFile("cacert.pem"))
	if err != nil {
		return nil, fmt.Errorf("load the CA certificate: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("load the CA certificate: %w in %s", errNoCertificate, t.pkiFile("cacert.pem"))
	}
	return config, nil
}

// pkiFile finds one of the client's files: in ?pkipath, else in ~/.pki/libvirt for an ordinary user who has
// one there, else in /etc/pki.
func (t target) pkiFile(name string) string {
	if t.pkiPath != "" {
		return filepath.Join(t.pkiPath, name)
	}
	if home, err := os.UserHomeDir(); err == nil && os.Geteuid() != 0 {
		own := filepath.Join(home, ".pki", "libvirt", name)
		if _, err := os.Stat(own); err == nil {
			return own
		}
	}
	return map[string]string{
		"cacert.pem":     "/etc/pki/CA/cacert.pem",
		"clientcert.pem": "/etc/pki/libvirt/clientcert.pem",
		"clientkey.pem":  "/etc/pki/libvirt/private/clientkey.pem",
	}[name]
}
