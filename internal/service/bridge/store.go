package bridge

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// DefaultRollback is long enough for a slow switch to learn, short enough to wait for.
const DefaultRollback = time.Minute

// runDir holds the records of bridges; like the bridges themselves they do not outlive a reboot.
const runDir = "/run/virtcluster"

func recordPath(name string) string { return runDir + "/bridge-" + name + ".json" }

// Store is one bridge on one machine.
type Store struct {
	hostnet.Site
	Name string
	// ImportID is what `terraform import` takes for it.
	ImportID string
	claim    owner.Claim
}

// Open returns the store of a bridge, with what its resource may call its own.
func Open(site hostnet.Site, name, importID string, claim owner.Claim) *Store {
	return &Store{Site: site, Name: name, ImportID: importID, claim: claim}
}

// Claim is what the state keeps of whose the bridge is.
func (s *Store) Claim() owner.Claim { return s.claim }

// keptDir holds the records of bridges that a backend keeps.
const keptDir = "/var/lib/virtcluster/hostnet"

func keptPath(name string) string { return keptDir + "/bridge-" + name + ".json" }

// found is a bridge as the machine has it.
type found struct {
	hostnet.Machine
	// Record is what this provider wrote of it, where known: it counts while the bridge, or what keeps it, carries its mark.
	Record
	known bool
	// mark is whose the bridge is, there whether anything of its name is: the device, or what makes it at the next start.
	mark  owner.Mark
	there bool
}

// recordsScript prints each of the files of its arguments that is there, behind a line "== PATH".
const recordsScript = `for path; do if [ -f "$path" ]; then echo "== $path"; cat "$path"; echo; fi; done`

// look reads the machine, and what is recorded of the bridge.
func (s *Store) look(ctx context.Context) (found, error) {
	var f found
	var err error
	if f.Machine, err = hostnet.Look(ctx, s.Host); err != nil {
		return f, err
	}
	paths := []string{recordPath(s.Name), keptPath(s.Name)}
	for _, name := range slices.Sorted(maps.Keys(hostnet.Backends)) {
		paths = append(paths, hostnet.Backends[name].Path(s.Name))
	}
	cmd := host.Script("read what is recorded of the bridge", recordsScript, paths...)
	cmd.Repeatable = true
	out, err := s.Host.Run(ctx, cmd)
	if err != nil {
		return f, fmt.Errorf("read what is recorded of bridge %q on %s: %w", s.Name, s.Host, err)
	}
	texts := map[string]string{}
	for part := range strings.SplitSeq("\n"+string(out), "\n== ") {
		path, text, _ := strings.Cut(part, "\n")
		texts[path] = text
	}
	link, there := f.Link(s.Name)
	f.there, f.mark = there, owner.Parse(link.Alias)
	for _, b := range hostnet.Backends {
		if text, kept := texts[b.Path(s.Name)]; kept {
			f.there, f.mark = true, owner.Parse(text)
		}
	}
	for _, path := range paths[:2] {
		if texts[path] == "" || f.mark == (owner.Mark{}) {
			continue
		}
		r, err := ParseRecord(s.Name, []byte(texts[path]))
		if err != nil {
			return f, fmt.Errorf("read %s on %s: %w", path, s.Host, err)
		}
		if r.Mark == f.mark {
			f.Record, f.known = r, true
		}
	}
	return f, nil
}

// foreign is an *owner.ForeignError where what has the bridge's name is not allowed to be touched.
func (s *Store) foreign(f found, allowed func(owner.Mark) bool) error {
	if !f.there {
		return nil
	}
	e := &owner.ForeignError{What: fmt.Sprintf("bridge %q", s.Name), Place: "the network of " + s.Host.String(), ImportID: s.ImportID, Owner: f.mark}
	if link, there := f.Link(s.Name); there && link.LinkInfo.Kind != "bridge" {
		e.What, e.ImportID = fmt.Sprintf("device %q, which is no bridge,", s.Name), ""
		return e
	}
	if allowed(e.Owner) {
		return nil
	}
	return e
}

// Get reads the bridge back; transaction.ErrAbsent where there is none.
func (s *Store) Get(ctx context.Context) (Bridge, error) {
	f, err := s.look(ctx)
	if err != nil {
		return Bridge{}, err
	}
	b, there := read(f.Machine, s.Name, f.Record, f.known)
	if !there {
		return b, fmt.Errorf("bridge %q on %s: %w", s.Name, s.Host, transaction.ErrAbsent)
	}
	if err := s.foreign(f, s.claim.Owns); err != nil {
		return b, err
	}
	s.claim = s.claim.Found(f.mark)
	return b, nil
}

// Plan finds what would keep the bridge from being made, or changed, as the machine is now, and returns what would keep it.
func (s *Store) Plan(ctx context.Context, b Bridge, create bool) (backend string, err error) {
	f, err := s.look(ctx)
	if err != nil {
		return "", err
	}
	allowed := s.claim.Owns
	if create {
		allowed = s.claim.MayTake
	}
	if err := s.foreign(f, allowed); err != nil {
		return "", service.At([]any{"name"}, err)
	}
	r, err := s.begin(ctx, b, f)
	return r.Want.ActiveBackend, err
}

// begin is the record of the bridge as it shall be, from what the machine has.
func (s *Store) begin(ctx context.Context, b Bridge, f found) (Record, error) {
	r, err := b.begin(f.Machine, f.Record)
	if err != nil {
		return r, err
	}
	managers := hostnet.Managers{Installed: map[string]bool{hostnet.Runtime: true}}
	if b.Backend != hostnet.Runtime {
		if managers, err = hostnet.LookAtManagers(ctx, s.Host); err != nil {
			return r, err
		}
	}
	if r.Want.ActiveBackend, err = b.chooseBackend(managers, f.Record); err != nil {
		return r, err
	}
	for i, p := range r.Before {
		if p.Manager.Backend == "" {
			r.Before[i].Manager = managers.Of(p.Name)
		}
	}
	return r, b.needsManager(r.Want.ActiveBackend)
}

// Create makes the bridge. One that a killed run of this workspace left is taken over.
func (s *Store) Create(ctx context.Context, want Bridge) (Bridge, error) {
	return s.put(ctx, want, s.claim.MayTake)
}

// Update changes the bridge in place.
func (s *Store) Update(ctx context.Context, _, want Bridge) (Bridge, error) {
	return s.put(ctx, want, s.claim.Owns)
}

func (s *Store) put(ctx context.Context, want Bridge, allowed func(owner.Mark) bool) (Bridge, error) {
	unlock, err := s.Host.Lock(ctx, hostnet.Lock)
	if err != nil {
		return want, err
	}
	defer unlock()
	f, err := s.look(ctx)
	if err != nil {
		return want, err
	}
	if err := s.foreign(f, allowed); err != nil {
		return want, err
	}
	_, running := f.Link(s.Name)
	if running && !f.known {
		f.Record = imported(f.Machine, s.Name)
	}
	was := f.Record
	record, err := s.begin(ctx, want, f)
	if err != nil {
		return want, fmt.Errorf("on %s: %w", s.Host, err)
	}
	record.Mark = s.claim.Mark()
	had := was.settings()
	if !running {
		had = record.before()
	}
	c, err := s.putChange(ctx, f, was, record, running)
	if err != nil {
		return want, err
	}
	c.GivenUp = hostnet.GatewaysOf(hostnet.Without(had, record.settings()))
	if err := s.Run(ctx, c); err != nil {
		return want, err
	}
	s.claim = s.claim.Written()
	return s.Get(ctx)
}

// putChange is the change from what the machine has to the bridge as recorded.
func (s *Store) putChange(ctx context.Context, f found, was, record Record, running bool) (c hostnet.Change, err error) {
	path := recordPath(s.Name)
	switch {
	case record.Want.ActiveBackend != hostnet.Runtime:
		path = keptPath(s.Name)
		from := &was
		if !running && !f.known {
			from = nil
		}
		if c, err = keep(ctx, s.Host, from, &record); err != nil {
			return c, err
		}
	case running:
		do, undo := record.Update(f.Machine, was)
		c.Do, c.Undo = hostnet.RunBatch(do, false), hostnet.RunBatch(undo, true)
	default:
		do, undo := record.Make(f.Machine)
		c.Do, c.Undo = hostnet.RunBatch(do, false), hostnet.RunBatch(undo, true)
	}
	c.Files = append(c.Files, hostnet.File{Path: path, Content: string(record.Render()), Mode: 0o600})
	c.Timeout = record.Want.RollbackTimeout
	return c, nil
}

// imported is the record of a bridge that somebody else made and an import took over: what it has is its interfaces'.
func imported(m hostnet.Machine, name string) Record {
	b, _ := read(m, name, Record{}, false)
	r := Record{Want: b}
	for i, port := range b.Interfaces {
		p := Port{Name: port, MTU: mustLink(m, port).MTU, MAC: mustLink(m, port).Address}
		if i == 0 {
			p.Settings, p.Addressing = m.Settings(name), m.Addressing(name)
		}
		r.Before = append(r.Before, p)
	}
	return r
}

// Delete gives the interfaces back what the bridge took from them.
func (s *Store) Delete(ctx context.Context) error {
	unlock, err := s.Host.Lock(ctx, hostnet.Lock)
	if err != nil {
		return err
	}
	defer unlock()
	f, err := s.look(ctx)
	if err != nil {
		return err
	}
	if err := s.foreign(f, s.claim.Owns); err != nil {
		return err
	}
	_, running := f.Link(s.Name)
	if !running && !f.known {
		return s.Host.Remove(ctx, recordPath(s.Name))
	}
	if guests := f.Guests(s.Name); len(guests) > 0 {
		return fmt.Errorf("bridge %q on %s carries the virtual machines behind %q: remove them first", s.Name, s.Host, guests)
	}
	r := f.Record
	if !f.known {
		r = imported(f.Machine, s.Name)
	}
	var c hostnet.Change
	if r.Want.ActiveBackend != hostnet.Runtime {
		if c, err = keep(ctx, s.Host, &r, nil); err != nil {
			return err
		}
	} else {
		do, undo := r.Unmake(f.Machine)
		c.Do, c.Undo = hostnet.RunBatch(do, false), hostnet.RunBatch(undo, true)
	}
	for _, path := range []string{recordPath(s.Name), keptPath(s.Name)} {
		c.Files = append(c.Files, hostnet.File{Path: path, Absent: true})
	}
	c.GivenUp, c.Timeout = hostnet.GatewaysOf(hostnet.Without(r.settings(), r.before())), r.Want.RollbackTimeout
	return s.Run(ctx, c)
}
