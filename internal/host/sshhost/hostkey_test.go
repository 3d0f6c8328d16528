package sshhost

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

func TestHostKeys(t *testing.T) {
	file, public := keyFile(t)
	first, second := signer(t, ssh.KeyAlgoED25519), signer(t, ssh.KeyAlgoECDSA256)
	s := serve(t, public, first, second)
	other := serve(t, public)
	other.address, s.address = s.address, other.address // known_hosts that knows s by the other's key
	wrongKnown := knownHosts(t, other)
	other.address, s.address = s.address, other.address
	known, empty := knownHosts(t, s), filepath.Join(t.TempDir(), "none")
	print := func(k ssh.Signer) string { return ssh.FingerprintSHA256(k.PublicKey()) }
	pin := func(print string) host.Pin {
		p, err := host.ParsePin(print)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	short := func(print string) string { return string(pin(print).Short()) }
	longer := func(print string) string { return string(pin(print)[:20]) }
	lastChanged := func(pin string) string {
		last := "A"
		if strings.HasSuffix(pin, last) {
			last = "B"
		}
		return pin[:len(pin)-1] + last
	}

	for name, c := range map[string]struct {
		known, key string
		firstUse   bool
		refused    []string // what the refusal names; nil is accepted
	}{
		"known":                        {known: known},
		"unknown":                      {known: empty, refused: []string{print(first), "not known", "?host_key=" + string(pin(print(first))), "id of a virtcluster_service_node"}},
		"unknown, first use":           {known: empty, firstUse: true},
		"changed":                      {known: wrongKnown, refused: []string{print(first), print(other.host), "ssh-keygen -f " + wrongKnown + " -R"}},
		"changed, first use":           {known: wrongKnown, firstUse: true, refused: []string{print(other.host)}},
		"fingerprint of the preferred": {known: empty, key: print(first)},
		"fingerprint of another type":  {known: empty, key: print(second)},
		"public key":                   {known: empty, key: string(ssh.MarshalAuthorizedKey(second.PublicKey()))},
		"line of ssh-keyscan":          {known: empty, key: "10.0.0.1 " + string(ssh.MarshalAuthorizedKey(first.PublicKey()))},
		"short pin of the preferred":   {known: empty, key: short(print(first))},
		"short pin of another type":    {known: wrongKnown, key: short(print(second))},
		"wrong short pin":              {known: known, key: short(print(other.host)), refused: []string{print(first), print(other.host)[:len("SHA256:")+16] + "…", "state rm"}},
		"one wrong character":          {known: known, key: lastChanged(short(print(first))), refused: []string{"is not the expected one"}},
		"right but for the end":        {known: known, key: lastChanged(longer(print(first))), refused: []string{"is not the expected one"}},
		"wrong fingerprint":            {known: known, key: print(other.host), refused: []string{print(other.host), "state rm"}},
		"wrong fingerprint, first use": {known: known, key: print(other.host), firstUse: true, refused: []string{print(other.host)}},
	} {
		t.Run(name, func(t *testing.T) {
			target := s.target()
			target.HostKey, target.FirstUse = c.key, c.firstUse
			h := New(target, Options{PrivateKeyFile: file, KnownHostsFile: c.known})
			defer h.Close()
			_, err := h.Run(t.Context(), sh("true"))
			if c.refused == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if _, ok := errors.AsType[*HostKeyError](err); !ok {
				t.Fatalf("got %v", err)
			}
			for _, part := range c.refused {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("no %q in %q", part, err)
				}
			}
		})
	}
}

func TestPinnedKeyIsTheOnlyOneAcceptedAfterwards(t *testing.T) {
	file, public := keyFile(t)
	s := serve(t, public)
	target := s.target()
	target.FirstUse = true
	h := New(target, Options{PrivateKeyFile: file, KnownHostsFile: "/nonexistent", ConnectTimeout: time.Second})
	defer h.Close()
	pinned, err := h.Pin(t.Context())
	if err != nil || pinned.String() != ssh.FingerprintSHA256(s.host.PublicKey()) {
		t.Fatalf("%q, %v", pinned, err)
	}
	s.stop()
	impostor := serve(t, public)
	impostor.listener.Close()
	impostor.listen(s.address)
	_, err = h.Run(t.Context(), sh("true"))
	if _, ok := errors.AsType[*HostKeyError](err); !ok || !strings.Contains(err.Error(), pinned.String()) || !strings.Contains(err.Error(), ssh.FingerprintSHA256(impostor.host.PublicKey())) {
		t.Errorf("got %v", err)
	}
}

func TestAWholeFingerprintNarrowsWhatAShortOneAccepts(t *testing.T) {
	file, public := keyFile(t)
	s := serve(t, public)
	whole, err := host.ParsePin(ssh.FingerprintSHA256(s.host.PublicKey()))
	if err != nil {
		t.Fatal(err)
	}
	target := s.target()
	target.HostKey = string(whole.Short())
	h := New(target, Options{PrivateKeyFile: file, KnownHostsFile: "/nonexistent", ConnectTimeout: time.Second})
	defer h.Close()
	if _, err := h.Run(t.Context(), sh("true")); err != nil {
		t.Fatal(err)
	}
	// A key that only begins like the machine's: nobody can make one, but a reference can say so.
	like := whole.Short() + host.Pin(strings.Repeat("A", 27))
	wrong, isWrong := errors.AsType[*HostKeyError](h.Narrow(like))
	if !isWrong || wrong.Got != whole.String() || wrong.Want[0] != like.String() {
		t.Errorf("got %v", wrong)
	}
	for _, pin := range []host.Pin{whole, whole.Short()} {
		t.Run(string(pin), func(t *testing.T) {
			// the second one says less, and is no contradiction
			if err := h.Narrow(pin); err != nil {
				t.Errorf("%s: %v", pin, err)
			}
		})
	}
	if err := h.Narrow(like); err == nil || !strings.Contains(err.Error(), "two host keys") {
		t.Errorf("got %v", err)
	}
	if _, err := h.Run(t.Context(), sh("true")); err != nil {
		t.Error(err)
	}
	unconnected := New(target, Options{PrivateKeyFile: file, KnownHostsFile: "/nonexistent", ConnectTimeout: time.Second})
	defer unconnected.Close()
	err = unconnected.Narrow(like)
	if err == nil {
		_, err = unconnected.Run(t.Context(), sh("true"))
	}
	if _, ok := errors.AsType[*HostKeyError](err); !ok {
		t.Errorf("got %v", err)
	}
}

// certified returns a host key's signer that shows a certificate for it.
func certified(t *testing.T, host, authority ssh.Signer, name string) ssh.Signer {
	t.Helper()
	cert := &ssh.Certificate{Key: host.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{name}, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, authority); err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewCertSigner(cert, host)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func marked(t *testing.T, marker string, key ssh.PublicKey) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(name, []byte(marker+" * "+string(ssh.MarshalAuthorizedKey(key))), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestHostOfACertificateAuthorityIsPinnedByItsKey(t *testing.T) {
	file, public := keyFile(t)
	authority, key := signer(t, ssh.KeyAlgoED25519), signer(t, ssh.KeyAlgoED25519)
	// As sshd does, it has the key with and without its certificate.
	s := serve(t, public, key, certified(t, key, authority, "127.0.0.1"))
	target := s.target()
	target.FirstUse = true
	opts := Options{PrivateKeyFile: file, KnownHostsFile: marked(t, "@cert-authority", authority.PublicKey()), ConnectTimeout: time.Second}
	h := New(target, opts)
	defer h.Close()
	pinned, err := h.Pin(t.Context())
	if err != nil || pinned.String() != ssh.FingerprintSHA256(key.PublicKey()) {
		t.Fatalf("pinned %q, %v; want %s", pinned, err, ssh.FingerprintSHA256(key.PublicKey()))
	}
	target.FirstUse, target.HostKey = false, string(pinned)
	later := New(target, opts)
	defer later.Close()
	if _, err := later.Run(t.Context(), sh("true")); err != nil {
		t.Errorf("by what was pinned: %v", err)
	}
}

func TestPinnedKeyThatIsRevokedIsRefused(t *testing.T) {
	file, public := keyFile(t)
	s := serve(t, public)
	target := s.target()
	target.HostKey = ssh.FingerprintSHA256(s.host.PublicKey())
	h := New(target, Options{PrivateKeyFile: file, KnownHostsFile: marked(t, "@revoked", s.host.PublicKey()), ConnectTimeout: time.Second})
	defer h.Close()
	if _, err := h.Run(t.Context(), sh("true")); err == nil || !strings.Contains(err.Error(), "revoked in "+h.opts.KnownHostsFile+":1") {
		t.Errorf("got %v", err)
	}
}
