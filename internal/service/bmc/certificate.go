package bmc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"net"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/bmc/config"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/selfbinary"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// choosePair returns the certificate and the key to serve with: those that are wanted, or those that are there, or new ones.
func (s *Store) choosePair(ctx context.Context, want Controllers, own bool) (certificate, key string, err error) {
	certificate, err = s.readFile(ctx, config.CertFile)
	if err == nil {
		key, err = s.readFile(ctx, config.KeyFile)
	}
	switch {
	case err != nil:
		return "", "", err
	case want.Certificate != "" && want.Key != "":
		return want.Certificate, want.Key, nil
	case want.Certificate != "" && want.Certificate == certificate && key != "":
		return certificate, key, nil
	case want.Certificate != "":
		return "", "", service.At([]any{"tls"}, errors.New("the key of the certificate is missing: write key_wo"))
	case own && certificate != "" && key != "" && isForNodes(certificate, want):
		return certificate, key, nil
	}
	return makePair(want)
}

// isForNodes says whether a certificate is for all addresses of the nodes.
func isForNodes(certificate string, want Controllers) bool {
	block, _ := pem.Decode([]byte(certificate))
	if block == nil {
		return false
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return false
	}
	for name, n := range want.Nodes {
		if c.VerifyHostname(want.Complete(name, n).Address) != nil {
			return false
		}
	}
	return true
}

// validFor is as long as a certificate lasts that nobody signed: who trusts it does so by its fingerprint.
const validFor = 20 * 365 * 24 * time.Hour

// makePair makes a key, and a certificate that is signed by it.
func makePair(want Controllers) (certificate, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes([]byte(rand.Text())), Subject: pkix.Name{CommonName: "virtcluster BMC " + want.Name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(validFor), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true, IsCA: true,
	}
	for _, name := range slices.Sorted(maps.Keys(want.Nodes)) {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(want.Complete(name, want.Nodes[name]).Address))
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return "", "", err
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", err
	}
	encode := func(kind string, content []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", raw), nil
}

// Fingerprint is the SHA-256 of a certificate in PEM, in hexadecimal; "" for none.
func Fingerprint(certificate string) string {
	block, _ := pem.Decode([]byte(certificate))
	if block == nil {
		return ""
	}
	return selfbinary.Sum(block.Bytes)
}
