package hypervisor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
)

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
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
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
