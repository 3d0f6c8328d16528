package engine

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"time"
)

// Certificates says how long those of machines last, and how long before their end they are renewed, as durations.
type Certificates struct {
	ValidFor    string `attr:"valid_for"`
	RenewBefore string `attr:"renew_before"`
}

func (c Certificates) validFor() time.Duration    { return parseDuration(c.ValidFor) }
func (c Certificates) renewBefore() time.Duration { return parseDuration(c.RenewBefore) }

// parseDuration returns that of a text, 0 for one that is none: validators refuse those.
func parseDuration(text string) time.Duration {
	d, _ := time.ParseDuration(text)
	return d
}

// authorityLasts is as long as OVN's own authority does. Nobody else has it sign anything.
const authorityLasts = 50 * 365 * 24 * time.Hour

// skew is how far the clocks of machines may be apart.
const skew = time.Hour

// authority signs the certificates of one OVN.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey // nil where it is only to be compared with
	// pem is the certificate as its file has it.
	pem []byte
}

// newAuthority makes an authority; its key is returned as its file has it.
func newAuthority(now time.Time) (a authority, keyFile []byte, err error) {
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return a, nil, err
	}
	template := newTemplate("OVN of virtcluster", now, authorityLasts)
	template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		return a, nil, err
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		return a, nil, err
	}
	a.pem = encodePEM("CERTIFICATE", der)
	keyFile, err = encodeKey(a.key)
	return a, keyFile, err
}

// parseAuthority reads an authority from its files; without that of its key it only compares.
func parseAuthority(certificateFile, keyFile []byte) (a authority, err error) {
	a.pem = certificateFile
	if a.certificate, err = parseCertificate(certificateFile); err != nil || len(keyFile) == 0 {
		return a, err
	}
	block, _ := pem.Decode(keyFile)
	if block == nil {
		return a, errors.New("the authority's key is no PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return a, err
	}
	var fits bool
	if a.key, fits = key.(*ecdsa.PrivateKey); !fits || !a.key.PublicKey.Equal(a.certificate.PublicKey) {
		return a, errors.New("the authority's key is not that of its certificate")
	}
	return a, nil
}

// signCertificate makes a key and a certificate for a machine. OVN's roles go by the name: a chassis' is its id.
func (a authority) signCertificate(name string, address netip.Addr, policy Certificates, now time.Time) (certificateFile, keyFile []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := newTemplate(name, now, policy.validFor())
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	if address.IsValid() {
		template.IPAddresses = []net.IP{address.AsSlice()}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return nil, nil, err
	}
	keyFile, err = encodeKey(key)
	return encodePEM("CERTIFICATE", der), keyFile, err
}

func newTemplate(name string, now time.Time, lasts time.Duration) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes([]byte(rand.Text())[:16]), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-skew), NotAfter: now.Add(lasts), BasicConstraintsValid: true,
	}
}

// whyRenew says why a machine's certificate has to be renewed, "" where it has not.
func (a authority) whyRenew(certificateFile []byte, name string, policy Certificates, now time.Time) string {
	c, err := parseCertificate(certificateFile)
	switch {
	case err != nil:
		return "there is none"
	case a.certificate == nil || c.CheckSignatureFrom(a.certificate) != nil:
		return "it is of another authority"
	case c.Subject.CommonName != name:
		return fmt.Sprintf("it is that of %q", c.Subject.CommonName)
	case now.After(c.NotAfter):
		return "it ended at " + c.NotAfter.Format(time.RFC3339)
	case now.After(c.NotAfter.Add(-policy.renewBefore())):
		return "it ends at " + c.NotAfter.Format(time.RFC3339)
	case c.NotAfter.Sub(c.NotBefore) > policy.validFor()+skew:
		return "it lasts longer than valid_for"
	}
	return ""
}

func parseCertificate(file []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(file)
	if block == nil {
		return nil, errors.New("no PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return encodePEM("PRIVATE KEY", der), err
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
