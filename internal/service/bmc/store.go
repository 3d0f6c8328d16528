package bmc

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/bmc/config"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/selfbinary"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

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
	// keeps says that the program which was there before the one that was written is at keptPath.
	keeps bool
}

// ListNames lists the controllers that a machine has, by name.
func ListNames(ctx context.Context, h host.Host) (names []string, err error) {
	files, err := host.ReadGlobs(ctx, h, []string{(&Store{Name: "*"}).filePath(config.File)})
	if err != nil {
		return nil, fmt.Errorf("read which controllers %s has: %w", h, err)
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		names = append(names, path.Base(path.Dir(file)))
	}
	return names, nil
}

// Open returns the store of the controllers of a name, with what their resource may call its own.
func Open(h host.Host, name, importID string, claim owner.Claim) *Store {
	return &Store{Host: h, Name: name, ImportID: importID, claim: claim}
}

// Claim is what the state keeps of whose they are.
func (s *Store) Claim() owner.Claim { return s.claim }

// Serving says whether the program ran as it is configured when it was looked at last.
func (s *Store) Serving() bool { return s.serving }

func (s *Store) unitName() string       { return "virtcluster-bmc-" + s.Name + ".service" }
func (s *Store) unitPath() string       { return "/etc/systemd/system/" + s.unitName() }
func (s *Store) userName() string       { return "vc-bmc-" + s.Name }
func (s *Store) programPath() string    { return "/usr/local/libexec/virtcluster-bmc-" + s.Name }
func (s *Store) keptPath() string       { return s.programPath() + ".before" }
func (s *Store) stateDirectory() string { return "/var/lib/virtcluster-bmc-" + s.Name }
func (s *Store) filePath(name string) string {
	return "/etc/virtcluster/bmc/" + s.Name + "/" + name
}

// readConfig reads the configuration; service.ErrAbsent where there is none.
func (s *Store) readConfig(ctx context.Context) (config.Config, error) {
	var c config.Config
	text, err := s.Host.Read(ctx, s.filePath(config.File))
	if errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("controllers %q on %s: %w", s.Name, s.Host, service.ErrAbsent)
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return c, fmt.Errorf("read %s on %s: %w", s.filePath(config.File), s.Host, err)
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
	m, err := s.LookAtMachine(ctx)
	if err != nil {
		return Controllers{}, err
	}
	unit, err := s.readUnit(ctx)
	if err != nil {
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
	text, err := s.Host.Read(ctx, s.filePath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// readUnit reads the unit; nil where it is missing.
func (s *Store) readUnit(ctx context.Context) ([]byte, error) {
	unit, err := s.Host.Read(ctx, s.unitPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return unit, err
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
	m, err := s.LookAtMachine(ctx)
	if err != nil || len(m.There) == 0 {
		return err
	}
	what := map[string]string{
		"unit": "unit " + s.unitName(), "user": "user " + s.userName(), "group": "group " + s.userName(), "program": "file " + s.programPath(), "memory": "directory " + s.stateDirectory(),
	}[m.There[0]]
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
	err = s.installAndRun(ctx, want)
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
	before, err := s.readSnapshot(ctx)
	if err != nil {
		return want, err
	}
	if err := s.installAndRun(ctx, want); err != nil {
		if !was.Applied {
			return want, err
		}
		return want, errors.Join(err, s.restoreSnapshot(context.WithoutCancel(ctx), before))
	}
	return service.ReadBack(ctx, s.Get, nil)
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
	return s.runScript(ctx, "remove", s.unitName(), s.userName(), s.programPath(), s.stateDirectory(), strings.TrimSuffix(s.filePath(""), "/"))
}

func (s *Store) foreignError(m owner.Mark) error {
	return s.claim.NewForeignError(fmt.Sprintf("controllers %q", s.Name), s.filePath(config.File)+" on "+s.Host.String(), s.ImportID, m)
}
