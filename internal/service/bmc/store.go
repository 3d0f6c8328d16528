package bmc

import (
	"bytes"
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
	"io/fs"
	"maps"
	"math/big"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/crypto/bcrypt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/bmc/config"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/selfbinary"
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

// Store is the controllers of a name on one machine.
type Store struct {
	Host     host.Host
	Name     string
	ImportID string
	// URI of libvirt on the machine itself.
	URI string
	// Choose chooses the program that is to be installed on a machine.
	Choose func(ctx context.Context, m selfbinary.Machine) (selfbinary.Program, error)
	// Exists says whether the hypervisor has a node; nil asks nobody.
	Exists func(ctx context.Context, node string) error

	claim   owner.Claim
	serving bool
}

// Open returns the store of the controllers of a name, with what their resource may call its own.
func Open(h host.Host, name, importID string, claim owner.Claim) *Store {
	return &Store{Host: h, Name: name, ImportID: importID, claim: claim}
}

// Claim is what the state keeps of whose they are.
func (s *Store) Claim() owner.Claim { return s.claim }

// Serving says whether the program ran as it is configured when it was looked at last.
func (s *Store) Serving() bool { return s.serving }

func (s *Store) unit() string    { return "virtcluster-bmc-" + s.Name + ".service" }
func (s *Store) user() string    { return "vc-bmc-" + s.Name }
func (s *Store) program() string { return "/usr/local/libexec/virtcluster-bmc-" + s.Name }
func (s *Store) state() string   { return "/var/lib/virtcluster-bmc-" + s.Name }
func (s *Store) file(name string) string {
	return "/etc/virtcluster/bmc/" + s.Name + "/" + name
}

// renderUnit returns the unit.
func (s *Store) renderUnit() []byte {
	return []byte(strings.NewReplacer("@NAME@", s.Name, "@USER@", s.user(), "@PROGRAM@", s.program(), "@DIRECTORY@", strings.TrimSuffix(s.file(""), "/"),
		"@STATE@", strings.TrimPrefix(s.state(), "/var/lib/")).Replace(unitTemplate))
}

// Machine is what is there on a machine.
type Machine struct {
	// System and Processor as uname(1) has them.
	System, Processor string
	// State is systemd's of the unit, and Sum the SHA-256 of the program; "" for none.
	State, Sum string
	// Listening are the places where others listen, such as "tcp 0.0.0.0:22".
	Listening []string
	Addresses []string
	// There says what of the controllers is there: "unit", "user", "program".
	There []string
}

// Platform is what a program is chosen by.
func (m Machine) Platform() selfbinary.Machine {
	return selfbinary.Machine{System: m.System, Processor: m.Processor, What: "the hypervisor's machine", Otherwise: "write binary = { source, checksum } with one that was built for it"}
}

// Look looks at the machine.
func (s *Store) Look(ctx context.Context) (Machine, error) {
	var m Machine
	cmd := host.Script("bmc.sh look", script, "look", s.Name, s.unit(), s.user(), s.program())
	cmd.Repeatable = true
	out, err := s.Host.Run(ctx, cmd)
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(out)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "system":
			m.System, m.Processor, _ = strings.Cut(rest, " ")
		case "state":
			m.State = rest
		case "sum":
			m.Sum = rest
		case "listen":
			if protocol, place, ok := strings.Cut(rest, " "); ok {
				if at, port, err := net.SplitHostPort(place); err == nil {
					at, _, _ = strings.Cut(at, "%")
					m.Listening = append(m.Listening, protocol+" "+net.JoinHostPort(at, port))
				}
			}
		case "address":
			m.Addresses = append(m.Addresses, rest)
		case "unit", "user", "program":
			m.There = append(m.There, word)
		}
	}
	return m, nil
}

// CheckPlan finds what keeps a machine from serving what is wanted: ports that others have, addresses that it has not.
func (m Machine) CheckPlan(want Controllers) []service.Problem {
	var problems []service.Problem
	for _, name := range slices.Sorted(maps.Keys(want.Nodes)) {
		n := want.Complete(name, want.Nodes[name])
		at := []any{"nodes", service.Key(name)}
		if n.Address != "0.0.0.0" && n.Address != "::" && len(m.Addresses) > 0 && !slices.Contains(m.Addresses, n.Address) {
			problems = append(problems, service.Warningf(at, "Address that is not there", "the hypervisor's machine has no address %s by now: nobody can listen there until it has", n.Address))
		}
		for _, l := range listenersOf(n) {
			if i := slices.IndexFunc(m.Listening, func(other string) bool { return overlaps(other, l.String()) }); i >= 0 {
				problems = append(problems, service.Problemf(append(slices.Clone(at), l.attribute), "Port in use", "something else listens at %s on the hypervisor's machine already: write another %s, or another address", m.Listening[i], l.attribute))
			}
		}
	}
	return problems
}

// readConfig reads the configuration; service.ErrAbsent where there is none.
func (s *Store) readConfig(ctx context.Context) (config.Config, error) {
	var c config.Config
	text, err := s.Host.Read(ctx, s.file(config.File))
	if errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("controllers %q on %s: %w", s.Name, s.Host, service.ErrAbsent)
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return c, fmt.Errorf("read %s on %s: %w", s.file(config.File), s.Host, err)
	}
	return c, nil
}

// Get reads the controllers back.
func (s *Store) Get(ctx context.Context) (Controllers, error) {
	c, err := s.readConfig(ctx)
	if err != nil {
		return Controllers{}, err
	}
	if m := owner.Parse(c.Owner); !s.claim.Owns(m) {
		return Controllers{}, s.foreignError(m)
	}
	m, err := s.Look(ctx)
	if err != nil {
		return Controllers{}, err
	}
	unit, err := s.Host.Read(ctx, "/etc/systemd/system/"+s.unit())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Controllers{}, err
	}
	s.serving = c.Applied && c.URI == s.URI && m.State == "active" && m.Sum == c.InstalledSum && bytes.Equal(unit, s.renderUnit()) && slices.Contains(m.There, "user")
	got := Controllers{
		Name: s.Name, User: c.User, Version: c.Version, Address: c.Address, SharedPort: c.SharedPort, Nodes: c.Nodes,
		Program: c.Program, Sum: c.ProgramSum, PasswordHash: c.PasswordHash,
	}
	plain, err := s.readFile(ctx, config.PasswordFile)
	if err != nil {
		return got, err
	}
	if c.Seal != sealOf(c.PasswordHash, plain) {
		got.Version, got.PasswordHash = 0, ""
	}
	certificate, err := s.readFile(ctx, config.CertFile)
	if err != nil {
		return got, err
	}
	got.Fingerprint = Fingerprint(certificate)
	if !c.OwnCertificate {
		got.Certificate = certificate
	}
	s.claim = s.claim.Found(owner.Parse(c.Owner))
	return got, nil
}

// readFile reads a file of the configuration; "" where it is missing.
func (s *Store) readFile(ctx context.Context, name string) (string, error) {
	text, err := s.Host.Read(ctx, s.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// MayCreate says what is in the place of new controllers.
func (s *Store) MayCreate(ctx context.Context) error {
	c, err := s.readConfig(ctx)
	if err == nil {
		if m := owner.Parse(c.Owner); !s.claim.MayTake(m) {
			return s.foreignError(m)
		}
		return nil
	}
	if !errors.Is(err, service.ErrAbsent) {
		return err
	}
	m, err := s.Look(ctx)
	if err != nil || len(m.There) == 0 {
		return err
	}
	what := map[string]string{"unit": "unit " + s.unit(), "user": "user " + s.user(), "program": "file " + s.program()}[m.There[0]]
	return s.claim.NewForeignError(what, s.Host.String(), "", owner.Mark{})
}

// Create installs the program and has systemd run it.
func (s *Store) Create(ctx context.Context, want Controllers) (Controllers, error) {
	unlock, err := s.Host.Lock(ctx, "bmc")
	if err != nil {
		return want, err
	}
	defer unlock()
	if err := s.MayCreate(ctx); err != nil {
		return want, err
	}
	err = s.put(ctx, want)
	if err != nil && s.claim.IsWritten() {
		return want, &service.Unfinished{Err: err}
	}
	return service.ReadBack(ctx, s.Get, err)
}

// Update changes what is there, and puts back what was where the program does not run with it.
func (s *Store) Update(ctx context.Context, _, want Controllers) (Controllers, error) {
	unlock, err := s.Host.Lock(ctx, "bmc")
	if err != nil {
		return want, err
	}
	defer unlock()
	was, err := s.readConfig(ctx)
	if err != nil {
		return want, err
	}
	if m := owner.Parse(was.Owner); !s.claim.Owns(m) {
		return want, s.foreignError(m)
	}
	before, err := s.snapshot(ctx)
	if err != nil {
		return want, err
	}
	if err := s.put(ctx, want); err != nil {
		if !was.Applied {
			return want, err
		}
		return want, errors.Join(err, s.putBack(context.WithoutCancel(ctx), before))
	}
	return service.ReadBack(ctx, s.Get, nil)
}

// snapshot reads the files of the configuration.
func (s *Store) snapshot(ctx context.Context) (files []host.File, err error) {
	for _, name := range []string{config.CertFile, config.KeyFile, config.PasswordFile, config.File} {
		text, err := s.readFile(ctx, name)
		if err != nil {
			return nil, err
		}
		files = append(files, host.File{Path: s.file(name), Content: []byte(text), Mode: 0o600})
	}
	return files, nil
}

// putBack writes the files of a snapshot and starts the program with them.
func (s *Store) putBack(ctx context.Context, before []host.File) error {
	for _, f := range before {
		if err := s.Host.Write(ctx, f); err != nil {
			return fmt.Errorf("put back what was: %w", err)
		}
	}
	if err := s.start(ctx); err != nil {
		return fmt.Errorf("put back what was: %w", err)
	}
	return nil
}

// put makes the machine have the controllers. The configuration comes first and says whose all of it is; it is marked as applied when the
// program runs with it. The lock is held.
func (s *Store) put(ctx context.Context, want Controllers) error {
	for _, node := range slices.Sorted(maps.Keys(want.Nodes)) {
		if s.Exists == nil {
			break
		}
		if err := s.Exists(ctx, node); err != nil {
			return service.At([]any{"nodes", service.Key(node)}, err)
		}
	}
	m, err := s.Look(ctx)
	if err != nil {
		return err
	}
	chosen, err := s.Choose(ctx, m.Platform())
	if err != nil {
		return err
	}
	if want.Sum != "" && want.Sum != chosen.Sum {
		return fmt.Errorf("%s has the SHA-256 %s, and %s was planned: it has changed meanwhile, plan again", chosen.Origin, chosen.Sum, want.Sum)
	}
	old, err := s.readConfig(ctx)
	if err != nil && !errors.Is(err, service.ErrAbsent) {
		return err
	}
	var program []byte
	if m.Sum == "" || m.Sum != old.InstalledSum || chosen.Sum != old.ProgramSum {
		if program, err = chosen.Fetch(ctx); err != nil {
			return err
		}
	}
	c := config.Config{
		Owner: s.claim.Mark().String(), URI: s.URI, UUID: old.UUID, User: want.User, PasswordHash: old.PasswordHash, Version: want.Version,
		Program: chosen.Origin, ProgramSum: chosen.Sum, InstalledSum: old.InstalledSum,
		Address: want.Address, SharedPort: want.SharedPort, Nodes: map[string]config.Node{},
	}
	if c.UUID == "" {
		c.UUID = uuid.NewString()
	}
	if program != nil {
		c.InstalledSum = selfbinary.Sum(program)
	}
	for name, n := range want.Nodes {
		c.Nodes[name] = want.Complete(name, n)
	}
	plain, err := s.readFile(ctx, config.PasswordFile)
	if err != nil {
		return err
	}
	kept := want.Version == old.Version && old.PasswordHash != "" && old.Seal == sealOf(old.PasswordHash, plain)
	if kept && want.Version == 0 || kept && plain == "" && want.hasIPMI() {
		kept = Controllers{PasswordHash: old.PasswordHash}.HasPassword(want.Password) && (plain != "" || !want.hasIPMI())
	}
	if want.Password != "" && !kept {
		hash, err := bcrypt.GenerateFromPassword([]byte(want.Password), bcrypt.DefaultCost)
		if err != nil {
			return err
		}
		c.PasswordHash, plain = string(hash), want.Password
	}
	if !want.hasIPMI() {
		plain = ""
	} else if plain == "" {
		return service.At([]any{"password_wo_version"}, errors.New("IPMI needs the password itself, which is not on the machine by now: change password_wo_version, so that it is written again"))
	}
	c.Seal = sealOf(c.PasswordHash, plain)
	certificate, key, err := s.pair(ctx, want, old.OwnCertificate)
	if err != nil {
		return err
	}
	c.OwnCertificate = want.Certificate == ""
	if err := s.writeConfig(ctx, c); err != nil {
		return err
	}
	s.claim = s.claim.Written()
	for name, text := range map[string]string{config.CertFile: certificate, config.KeyFile: key, config.PasswordFile: plain} {
		if err := s.Host.Write(ctx, host.File{Path: s.file(name), Content: []byte(text), Mode: 0o600}); err != nil {
			return err
		}
	}
	if program != nil {
		if err := s.Host.Write(ctx, host.File{Path: s.program(), Content: program, Mode: 0o755}); err != nil {
			return err
		}
	}
	if err := s.run(ctx, "account", s.user(), "virtcluster BMC "+s.Name, socketOf(s.URI)); err != nil {
		return err
	}
	if err := s.Host.Write(ctx, host.File{Path: "/etc/systemd/system/" + s.unit(), Content: s.renderUnit()}); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	c.Applied = true
	return s.writeConfig(ctx, c)
}

// start has systemd run the program.
func (s *Store) start(ctx context.Context) error { return s.run(ctx, "start", s.unit()) }

func (s *Store) run(ctx context.Context, verb string, args ...string) error {
	_, err := s.Host.Run(ctx, host.Script("bmc.sh "+verb, script, append([]string{verb}, args...)...))
	return err
}

func (s *Store) writeConfig(ctx context.Context, c config.Config) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return s.Host.Write(ctx, host.File{Path: s.file(config.File), Content: append(text, '\n'), Mode: 0o600})
}

// pair is the certificate and the key to serve with: those that are wanted, or those that are there, or new ones.
func (s *Store) pair(ctx context.Context, want Controllers, own bool) (certificate, key string, err error) {
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
	case own && certificate != "" && key != "" && names(certificate, want):
		return certificate, key, nil
	}
	return makePair(want)
}

// names says whether a certificate is for all addresses of the nodes.
func names(certificate string, want Controllers) bool {
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

// FinishMark takes from the mark that the controllers are being made.
func (s *Store) FinishMark(ctx context.Context) error {
	c, err := s.readConfig(ctx)
	if err != nil {
		return err
	}
	if m := owner.Parse(c.Owner); s.claim.Owns(m) && m.Creating != "" {
		c.Owner = m.Finished().String()
		if err := s.writeConfig(ctx, c); err != nil {
			return err
		}
	}
	s.claim = s.claim.Finished()
	return nil
}

// Delete takes media out of the machines' drives, and leaves nothing.
func (s *Store) Delete(ctx context.Context) error {
	unlock, err := s.Host.Lock(ctx, "bmc")
	if err != nil {
		return err
	}
	defer unlock()
	c, err := s.readConfig(ctx)
	if errors.Is(err, service.ErrAbsent) {
		return nil
	}
	if err != nil {
		return err
	}
	if m := owner.Parse(c.Owner); !s.claim.Owns(m) {
		return s.foreignError(m)
	}
	if err := s.run(ctx, "remove", s.unit(), s.user(), s.program(), s.state(), strings.TrimSuffix(s.file(""), "/")); err != nil {
		return err
	}
	return nil
}

func (s *Store) foreignError(m owner.Mark) error {
	return s.claim.NewForeignError(fmt.Sprintf("controllers %q", s.Name), s.file(config.File)+" on "+s.Host.String(), s.ImportID, m)
}
