package hypervisor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority is a CA that a test makes up.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key = a.make("ca", true)
	return a
}

// make makes a certificate; the first one, the CA's own, signs itself.
func (a *authority) make(name string, ca bool) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: ca, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	parent, signer := template, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// client writes a client's files the way libvirt names them.
func (a *authority) client(trusted *authority) (directory string) {
	a.t.Helper()
	directory = a.t.TempDir()
	cert, key := a.make("client", false)
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"cacert.pem": {Type: "CERTIFICATE", Bytes: trusted.cert.Raw}, "clientcert.pem": {Type: "CERTIFICATE", Bytes: cert.Raw}, "clientkey.pem": {Type: "EC PRIVATE KEY", Bytes: raw},
	} {
		if err := os.WriteFile(filepath.Join(directory, name), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return directory
}

// serveTLS is the daemon behind TLS; verdict is the byte by which it accepts or refuses a client.
func (d *daemon) serveTLS(t *testing.T, a *authority, verdict byte) (address string) {
	t.Helper()
	cert, key := a.make("server", false)
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12,
	})
	if err != nil {
		t.Fatal(err)
	}
	serveListener(t, listener, func(conn net.Conn) {
		if _, err := conn.Write([]byte{verdict}); err == nil && verdict == 1 {
			d.talk(conn)
		}
		_ = conn.Close()
	})
	return listener.Addr().String()
}

func answering() *daemon {
	return &daemon{answer: func(uint32) (uint32, []byte, bool) { return 0, []byte{0, 0, 0, 0, 0, 0, 0x23, 0x28}, true }}
}

func TestTLSChecksBothSides(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	for name, c := range map[string]struct {
		server  *authority
		verdict byte
		pki     string
		more    string
		want    string // "" where it connects
	}{
		"both trusted":            {ours, 1, ours.client(ours), "", ""},
		"server not trusted":      {theirs, 1, theirs.client(ours), "", "certificate signed by unknown authority"},
		"not verified by request": {theirs, 1, theirs.client(ours), "&no_verify=1", ""},
		"client not trusted":      {ours, 1, theirs.client(ours), "", "refused the client's certificate or address"},
		"client not allowed":      {ours, 0, ours.client(ours), "", "refused the client's certificate or address"},
		"no files":                {ours, 1, t.TempDir(), "", "clientcert.pem: no such file"},
	} {
		address := answering().serveTLS(t, c.server, c.verdict)
		client := newClient(t, "qemu+tls://"+address+"/system?pkipath="+c.pki+c.more)
		_, err := callOnce(t.Context(), client, "read version", version)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), address)):
			t.Errorf("%s: %v does not say %q and the address", name, err, c.want)
		}
	}
}

func TestTCPConnects(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go answering().talk(conn)
		}
	}()
	client := newClient(t, "qemu+tcp://"+listener.Addr().String()+"/system")
	if _, err := callOnce(t.Context(), client, "read version", version); err != nil {
		t.Error(err)
	}
}

func TestTheModularDaemonsSocketIsTriedWhereThereIsNoOther(t *testing.T) {
	uri := answering().serve(t)
	_, path, _ := strings.Cut(uri, "socket=")
	c := newClient(t, "qemu:///system")
	c.target.sockets = []string{"/nowhere/libvirt-sock", path}
	if _, err := callOnce(t.Context(), c, "read version", version); err != nil {
		t.Error(err)
	}
}
