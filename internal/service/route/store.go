package route

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// rollback is how long the machine waits to be reached again, before it goes back by itself.
const rollback = 30 * time.Second

// Store is one route of one machine.
type Store struct {
	hostnet.Site
	key Route
	// importID is what `terraform import` takes for it.
	importID string
	claim    owner.Claim
}

// Open returns the store of the route with the destination and the metric of key.
func Open(site hostnet.Site, key Route, importID string, claim owner.Claim) *Store {
	return &Store{Site: site, key: key, importID: importID, claim: claim}
}

// Claim is what the state keeps of whose the route is.
func (s *Store) Claim() owner.Claim { return s.claim }

// found is the route as the machine has it.
type found struct {
	machine hostnet.Machine
	live    *hostnet.Route
	// path and text are those of the file that keeps it; "" where none does.
	path, text string
}

func (f found) mark() owner.Mark { return owner.Parse(f.text) }

const filesScript = `for path in %s; do if [ -f "$path" ]; then echo "$path"; cat "$path"; exit; fi; done`

func (s *Store) look(ctx context.Context) (found, error) {
	m, err := hostnet.Look(ctx, s.Host)
	if err != nil {
		return found{}, err
	}
	cmd := host.Script("read what keeps the route", fmt.Sprintf(filesScript, strings.Join(s.key.patterns(), " ")))
	cmd.Repeatable = true
	out, err := s.Host.Run(ctx, cmd)
	if err != nil {
		return found{}, fmt.Errorf("read what keeps the route to %s on %s: %w", s.key.To, s.Host, err)
	}
	path, text, _ := strings.Cut(string(out), "\n")
	return found{machine: m, live: s.key.find(m), path: path, text: text}, nil
}

func (s *Store) foreign(f found, allowed func(owner.Mark) bool) error {
	if f.live == nil && f.path == "" || allowed(f.mark()) && (f.live == nil || f.live.Protocol != "kernel") {
		return nil
	}
	e := &owner.ForeignError{What: fmt.Sprintf("the route to %s", s.key.To), Place: "the network of " + s.Host.String(), ImportID: s.importID, Owner: f.mark()}
	if f.live != nil && f.live.Protocol == "kernel" {
		e.What, e.ImportID = fmt.Sprintf("%s, which is the network of %s itself,", s.key.To, f.live.Dev), ""
	}
	return e
}

// Get reads the route back; transaction.ErrAbsent where there is none.
func (s *Store) Get(ctx context.Context) (Route, error) {
	f, err := s.look(ctx)
	if err != nil {
		return Route{}, err
	}
	if f.live == nil && f.path == "" {
		return Route{}, fmt.Errorf("route to %s on %s: %w", s.key.To, s.Host, transaction.ErrAbsent)
	}
	if err := s.foreign(f, s.claim.Owns); err != nil {
		return Route{}, err
	}
	s.claim = s.claim.Found(f.mark())
	r := Route{To: s.key.To, Metric: s.key.Metric, Backend: hostnet.Auto, ActiveBackend: backendOf(f.path)}
	// One that is kept for the next start, and was taken away, leads nowhere.
	if f.live != nil {
		r.Device = f.live.Dev
		r.Via, _ = netip.ParseAddr(f.live.Gateway)
	}
	for word := range strings.FieldsSeq(f.text) {
		if backend, ok := strings.CutPrefix(word, "backend="); ok {
			r.Backend = backend
		}
	}
	return r, nil
}

// Plan completes the route as the machine is now; the error says what would keep it from being made.
func (s *Store) Plan(ctx context.Context, want Route, create bool) (Route, error) {
	f, err := s.look(ctx)
	if err != nil {
		return want, err
	}
	allowed := s.claim.Owns
	if create {
		allowed = s.claim.MayTake
	}
	if err := s.foreign(f, allowed); err != nil {
		return want, service.At([]any{"cidr"}, err)
	}
	want, _, err = s.complete(ctx, want, f)
	return want, err
}

func (s *Store) complete(ctx context.Context, want Route, f found) (Route, hostnet.Managers, error) {
	managers := hostnet.Managers{}
	want, err := want.chooseDevice(f.machine)
	if err == nil && want.Backend != hostnet.Runtime {
		managers, err = hostnet.LookAtManagers(ctx, s.Host)
	}
	if err == nil {
		want, err = want.chooseBackend(managers)
	}
	return want, managers, err
}

// Create adds the route.
func (s *Store) Create(ctx context.Context, want Route) (Route, error) {
	return s.put(ctx, want, s.claim.MayTake)
}

// Update changes the route in place.
func (s *Store) Update(ctx context.Context, _, want Route) (Route, error) {
	return s.put(ctx, want, s.claim.Owns)
}

func (s *Store) put(ctx context.Context, want Route, allowed func(owner.Mark) bool) (Route, error) {
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
	want, managers, err := s.complete(ctx, want, f)
	if err != nil {
		return want, fmt.Errorf("on %s: %w", s.Host, err)
	}
	file := want.file(managers, s.claim.Mark())
	c := hostnet.Change{Files: []hostnet.File{file}, Timeout: rollback}
	if f.path != "" && f.path != file.Path {
		c.Files = append(c.Files, hostnet.File{Path: f.path, Absent: true})
	}
	c.Do = hostnet.RunBatch(hostnet.Batch{fmt.Sprintf("route replace %s dev %s proto static", want.setting().Text, want.Device)}, false)
	c.Undo = hostnet.RunBatch(hostnet.Batch{fmt.Sprintf("route del %s dev %s", want.setting().Text, want.Device)}, true)
	if f.live != nil {
		c.Undo = hostnet.RunBatch(hostnet.Batch{restore(f)}, true)
	}
	if err := s.Run(ctx, c); err != nil {
		return want, err
	}
	s.claim = s.claim.Written()
	return s.Get(ctx)
}

// restore is the command that makes the route what it is now.
func restore(f found) string {
	return fmt.Sprintf("route replace %s dev %s proto %s", f.live.Setting().Text, f.live.Dev, f.live.Protocol)
}

// Delete removes the route, and what keeps it.
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
	c := hostnet.Change{Timeout: rollback}
	if f.path != "" {
		c.Files = append(c.Files, hostnet.File{Path: f.path, Absent: true})
		c.Do = `rmdir "` + f.path[:strings.LastIndex(f.path, "/")] + `" 2>/dev/null || :` + "\n"
		if !strings.HasSuffix(f.path, ".conf") {
			c.Do = ""
		}
	}
	if f.live != nil {
		c.Do += hostnet.RunBatch(hostnet.Batch{fmt.Sprintf("route del %s dev %s", f.live.Setting().Text, f.live.Dev)}, false)
		c.Undo = hostnet.RunBatch(hostnet.Batch{restore(f)}, true)
		if s.key.To.Bits() == 0 {
			c.GivenUp = hostnet.GatewaysOf([]hostnet.Setting{f.live.Setting()})
		}
	}
	return s.Run(ctx, c)
}
