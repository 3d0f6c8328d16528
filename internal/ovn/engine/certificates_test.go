package engine

import (
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestCertificatesAreRenewedWhenTheyHaveTo(t *testing.T) {
	t.Parallel()
	now := time.Now()
	a, key, err := newAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := newAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	policy := Certificates{ValidFor: "10h", RenewBefore: "2h"}
	certificate, keyFile, err := a.signCertificate("kvm1", netip.MustParseAddr("172.16.0.11"), policy, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tls.X509KeyPair(certificate, keyFile); err != nil {
		t.Errorf("the key is not the certificate's: %v", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.pem)
	if c, err := parseCertificate(certificate); err != nil {
		t.Error(err)
	} else if _, err := c.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("it is not of the authority: %v", err)
	}
	for name, c := range map[string]struct {
		of     authority
		file   []byte
		name   string
		policy Certificates
		at     time.Duration
		want   string
	}{
		"a new one":           {a, certificate, "kvm1", policy, 0, ""},
		"one that is due":     {a, certificate, "kvm1", policy, 8*time.Hour + time.Minute, "it ends at"},
		"one that has ended":  {a, certificate, "kvm1", policy, 11 * time.Hour, "it ended at"},
		"none":                {a, nil, "kvm1", policy, 0, "there is none"},
		"another machine's":   {a, certificate, "kvm2", policy, 0, `it is that of "kvm1"`},
		"another authority's": {other, certificate, "kvm1", policy, 0, "of another authority"},
		"of no authority":     {authority{}, certificate, "kvm1", policy, 0, "of another authority"},
		"a shorter time":      {a, certificate, "kvm1", Certificates{ValidFor: "5h", RenewBefore: "1h"}, 0, "lasts longer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.of.whyRenew(c.file, c.name, c.policy, now.Add(c.at)); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	back, err := parseAuthority(a.pem, key)
	if err != nil || !back.key.Equal(a.key) {
		t.Errorf("read back: %v", err)
	}
	if _, err := parseAuthority(other.pem, key); err == nil {
		t.Error("a key of another authority is taken")
	}
}
