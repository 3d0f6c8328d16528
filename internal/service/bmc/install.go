package bmc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/crypto/bcrypt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/bmc/config"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/selfbinary"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// script asks and changes the machine.
//
//go:embed bmc.sh
var script string

// unitTemplate is the unit of systemd.
//
//go:embed unit.service
var unitTemplate string

// renderUnit returns the unit.
func (s *Store) renderUnit() []byte {
	return []byte(strings.NewReplacer("@NAME@", s.Name, "@USER@", s.userName(), "@PROGRAM@", s.programPath(), "@DIRECTORY@", strings.TrimSuffix(s.filePath(""), "/"),
		"@STATE@", strings.TrimPrefix(s.stateDirectory(), "/var/lib/")).Replace(unitTemplate))
}

// installAndRun makes the machine have the controllers. The configuration comes first and says whose all of it is; it is marked as applied
// when the program runs with it. The lock is held.
func (s *Store) installAndRun(ctx context.Context, want Controllers) error {
	if err := s.checkNodes(ctx, want); err != nil {
		return err
	}
	m, err := s.LookAtMachine(ctx)
	if err != nil {
		return err
	}
	// Since the plan somebody may have come to listen there: other controllers, which had the lock before.
	for _, p := range m.CheckPlan(want) {
		if !p.Warning {
			return service.At(p.Path, errors.New(p.Detail))
		}
	}
	old, err := s.readConfig(ctx)
	if err != nil && !errors.Is(err, service.ErrAbsent) {
		return err
	}
	c := config.Config{
		Owner: s.claim.Mark().String(), URI: s.URI, UUID: old.UUID, User: want.User, PasswordHash: old.PasswordHash, Version: want.Version,
		OwnCertificate: want.Certificate == "", Address: want.Address, SharedPort: want.SharedPort, Nodes: map[string]config.Node{},
	}
	if c.UUID == "" {
		c.UUID = uuid.NewString()
	}
	for name, n := range want.Nodes {
		c.Nodes[name] = want.Complete(name, n)
	}
	program, err := s.chooseProgram(ctx, m, want, old, &c)
	if err != nil {
		return err
	}
	plain, err := s.choosePassword(ctx, want, old, &c)
	if err != nil {
		return err
	}
	certificate, key, err := s.choosePair(ctx, want, old.OwnCertificate)
	if err != nil {
		return err
	}
	if err := s.writeConfig(ctx, c); err != nil {
		return err
	}
	s.claim = s.claim.Written()
	for name, text := range map[string]string{config.CertFile: certificate, config.KeyFile: key, config.PasswordFile: plain} {
		if err := s.Host.Write(ctx, host.File{Path: s.filePath(name), Content: []byte(text), Mode: 0o600}); err != nil {
			return err
		}
	}
	if program != nil {
		if err := s.replaceProgram(ctx, m, program); err != nil {
			return err
		}
	}
	if err := s.runScript(ctx, "account", s.userName(), "virtcluster BMC "+s.Name, socketOf(s.URI)); err != nil {
		return err
	}
	if err := s.Host.Write(ctx, host.File{Path: s.unitPath(), Content: s.renderUnit()}); err != nil {
		return err
	}
	if err := s.startUnit(ctx); err != nil {
		return err
	}
	if err := s.Host.Remove(ctx, s.keptPath()); err != nil {
		return err
	}
	c.Applied = true
	return s.writeConfig(ctx, c)
}

// replaceProgram writes a program, and keeps the one that is there until it is known that the new one runs.
func (s *Store) replaceProgram(ctx context.Context, m Machine, program []byte) error {
	if m.Sum != "" {
		if _, err := s.Host.Run(ctx, host.Cmd{Argv: []string{"cp", "-p", "--", s.programPath(), s.keptPath()}}); err != nil {
			return err
		}
		s.keeps = true
	}
	return s.Host.Write(ctx, host.File{Path: s.programPath(), Content: program, Mode: 0o755})
}

// checkNodes refuses nodes that the hypervisor has not.
func (s *Store) checkNodes(ctx context.Context, want Controllers) error {
	if s.Exists == nil {
		return nil
	}
	for _, node := range slices.Sorted(maps.Keys(want.Nodes)) {
		if err := s.Exists(ctx, node); err != nil {
			return service.At([]any{"nodes", service.Key(node)}, err)
		}
	}
	return nil
}

// chooseProgram chooses the program for a machine and has c name it. What it returns is to be written; nil where that is there already.
func (s *Store) chooseProgram(ctx context.Context, m Machine, want Controllers, old config.Config, c *config.Config) ([]byte, error) {
	chosen, err := s.Choose(ctx, m.Platform())
	if err != nil {
		return nil, err
	}
	if want.Sum != "" && want.Sum != chosen.Sum {
		return nil, fmt.Errorf("%s has the SHA-256 %s, and %s was planned: it has changed meanwhile, plan again", chosen.Origin, chosen.Sum, want.Sum)
	}
	c.Program, c.ProgramSum, c.InstalledSum = chosen.Origin, chosen.Sum, old.InstalledSum
	if m.Sum != "" && m.Sum == old.InstalledSum && chosen.Sum == old.ProgramSum {
		return nil, nil
	}
	program, err := chosen.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	c.InstalledSum = selfbinary.Sum(program)
	return program, nil
}

// choosePassword has c say what the password is, by its hash. It returns the password itself, for IPMI, which needs that; "" where no node is
// served by IPMI. One that is there is kept while it is the one that is wanted, so that its hash stays the same.
func (s *Store) choosePassword(ctx context.Context, want Controllers, old config.Config, c *config.Config) (plain string, err error) {
	if plain, err = s.readFile(ctx, config.PasswordFile); err != nil {
		return "", err
	}
	kept := want.Version == old.Version && old.PasswordHash != "" && old.Seal == sealOf(old.PasswordHash, plain)
	if kept && want.Version == 0 || kept && plain == "" && want.hasIPMI() {
		kept = Controllers{PasswordHash: old.PasswordHash}.HasPassword(want.Password) && (plain != "" || !want.hasIPMI())
	}
	if want.Password != "" && !kept {
		hash, err := bcrypt.GenerateFromPassword([]byte(want.Password), bcrypt.DefaultCost)
		if err != nil {
			return "", err
		}
		c.PasswordHash, plain = string(hash), want.Password
	}
	if !want.hasIPMI() {
		plain = ""
	} else if plain == "" {
		return "", service.At([]any{"password_wo_version"}, errors.New("IPMI needs the password itself, which is not on the machine by now: change password_wo_version, so that it is written again"))
	}
	c.Seal = sealOf(c.PasswordHash, plain)
	return plain, nil
}

// readSnapshot reads the files of the configuration, and the unit.
func (s *Store) readSnapshot(ctx context.Context) (files []host.File, err error) {
	for _, name := range []string{config.CertFile, config.KeyFile, config.PasswordFile, config.File} {
		text, err := s.readFile(ctx, name)
		if err != nil {
			return nil, err
		}
		files = append(files, host.File{Path: s.filePath(name), Content: []byte(text), Mode: 0o600})
	}
	unit, err := s.readUnit(ctx)
	if unit != nil {
		files = append(files, host.File{Path: s.unitPath(), Content: unit})
	}
	return files, err
}

// restoreSnapshot writes the files of a snapshot, puts the program back that was replaced since, and starts it with them.
func (s *Store) restoreSnapshot(ctx context.Context, before []host.File) error {
	for _, f := range before {
		if err := s.Host.Write(ctx, f); err != nil {
			return fmt.Errorf("put back what was: %w", err)
		}
	}
	if s.keeps {
		if _, err := s.Host.Run(ctx, host.Cmd{Argv: []string{"mv", "-f", "--", s.keptPath(), s.programPath()}}); err != nil {
			return fmt.Errorf("put back what was: %w", err)
		}
		s.keeps = false
	}
	if err := s.startUnit(ctx); err != nil {
		return fmt.Errorf("put back what was: %w", err)
	}
	return nil
}

// startUnit has systemd run the program.
func (s *Store) startUnit(ctx context.Context) error { return s.runScript(ctx, "start", s.unitName()) }

func (s *Store) runScript(ctx context.Context, verb string, args ...string) error {
	_, err := s.Host.Run(ctx, host.Script("bmc.sh "+verb, script, append([]string{verb}, args...)...))
	return err
}

func (s *Store) writeConfig(ctx context.Context, c config.Config) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return s.Host.Write(ctx, host.File{Path: s.filePath(config.File), Content: append(text, '\n'), Mode: 0o600})
}

// sealOf is a digest of a password's hash and of what IPMI is told.
func sealOf(hash, plain string) string {
	return selfbinary.Sum([]byte(hash + "\x00" + plain))
}

// socketOf is the socket that a URI names; "-" for the usual ones.
func socketOf(uri string) string {
	_, socket, ok := strings.Cut(uri, "socket=")
	if !ok {
		return "-"
	}
	socket, _, _ = strings.Cut(socket, "&")
	return socket
}

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
		Subject:   pkix.Name{CommonName: "virtcluster BMC " + want.Name},
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
