package engine

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
)

// role is what a machine proves to be, and the name of the files that it does by; a machine may have both.
type role string

const (
	centralRole role = "central"
	chassisRole role = "chassis"
)

// keysDirectory has the files by which a machine proves itself, and the note that its databases were made; authorityFile is the name of the
// authority's files there, and centralName the name in the databases' certificate.
const (
	keysDirectory = "/var/lib/virtcluster/ovn/"
	madeNote      = keysDirectory + "made"
	authorityFile = "authority"
	centralName   = "OVN databases"
)

func certificatePath(name string) string { return keysDirectory + name + ".pem" }
func keyPath(name string) string         { return keysDirectory + name + "-key.pem" }

// keyPair names the files of a role.
func (r role) keyPair() ovn.KeyPair {
	return ovn.KeyPair{Key: keyPath(string(r)), Certificate: certificatePath(string(r)), Authority: keysDirectory + string(r) + "-authority.pem"}
}

// prover is a machine that proves to be something: its name in the certificate, and its address there.
type prover struct {
	role    role
	host    host.Host
	machine Machine
	name    string
	address netip.Addr
}

func (c chassisSeen) newProver() prover {
	return prover{chassisRole, c.host, c.machine, c.chassis.ID, c.chassis.TunnelIP}
}

func (p prover) findCertificate() []byte { return p.machine.Certificates[string(p.role)] }

// putAuthority returns the authority of an OVN, which is on all machines that are to have databases and is made where there is none.
func (s *Store) putAuthority(ctx context.Context, c central, want Engine) (authority, error) {
	a, key, err := findAuthority(ctx, c)
	if err != nil {
		return a, err
	}
	if key == nil {
		if a, key, err = newAuthority(time.Now()); err != nil {
			return a, err
		}
	}
	for _, m := range c.members {
		if m.err != nil || !want.hasCentral(m.Endpoint) || bytes.Equal(m.machine.Certificates[authorityFile], a.pem) {
			continue
		}
		// The certificate says that there is an authority, so it comes last.
		for _, f := range []host.File{{Path: keyPath(authorityFile), Content: key, Mode: 0o600}, {Path: certificatePath(authorityFile), Content: a.pem, Mode: 0o644}} {
			if err := m.host.Write(ctx, f); err != nil {
				return a, err
			}
		}
	}
	return a, nil
}

// findAuthority returns the authority that a machine with databases has, the first of them where several have one, and its key as its file has it:
// nil where none has.
func findAuthority(ctx context.Context, c central) (a authority, key []byte, err error) {
	for _, m := range c.members {
		file := m.machine.Certificates[authorityFile]
		if m.err != nil || file == nil {
			continue
		}
		if key, err = m.host.Read(ctx, keyPath(authorityFile)); err != nil {
			return a, nil, fmt.Errorf("read the key of OVN's authority on %s: %w", m.host, err)
		}
		if a, err = parseAuthority(file, key); err != nil {
			return a, nil, fmt.Errorf("read OVN's authority on %s: %w", m.host, err)
		}
		return a, key, nil
	}
	return a, nil, nil
}

// listCentralProvers returns the machines of an engine that prove to have its databases, as far as they answer.
func (s *Store) listCentralProvers(c central, e Engine) (all []prover) {
	for _, p := range e.listPlaces() {
		m, err := c.findPlace(p)
		switch {
		case err != nil:
		case m.err != nil && e.isCluster():
			s.addWarning("Cannot look at a machine with databases", "%s: %v. The others go on.", m.Endpoint, m.err)
		case m.err == nil:
			all = append(all, prover{centralRole, m.host, m.machine, centralName, p.Address})
		}
	}
	return all
}

// putProof gives a machine a certificate where it needs another one. Its programs see the files change and use them from the next connection
// on: the key last, as they look at the certificate only when the key has changed.
func putProof(ctx context.Context, want Engine, signer authority, p prover) error {
	if !want.TLS || signer.whyRenew(p.findCertificate(), p.name, want.Certificates, time.Now()) == "" {
		return nil
	}
	certificate, key, err := signer.signCertificate(p.name, p.address, want.Certificates, time.Now())
	if err != nil {
		return err
	}
	pair := p.role.keyPair()
	for _, f := range []host.File{
		{Path: pair.Authority, Content: signer.pem, Mode: 0o644}, {Path: pair.Certificate, Content: certificate, Mode: 0o644}, {Path: pair.Key, Content: key, Mode: 0o600},
	} {
		if err := p.host.Write(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// findDue finds certificates that an apply renews.
func (s *Store) findDue(c central, got Engine, provers []prover) {
	signer, err := parseAuthority(c.machine.Certificates[authorityFile], nil)
	if err != nil {
		signer = authority{} // all are of another one
	}
	for _, p := range provers {
		if why := signer.whyRenew(p.findCertificate(), p.name, got.Certificates, time.Now()); why != "" {
			s.serving = false
			s.addWarning("A certificate is to be renewed", "%s of OVN on %s: %s. The next apply renews it.", certificatePath(string(p.role)), p.host, why)
		}
	}
}
