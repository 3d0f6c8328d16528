package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Machines are the ways to machines and their databases.
type Machines interface {
	Host(ctx context.Context, endpoint string) (host.Host, error)
	Northbound(ctx context.Context, endpoint string) (*ovn.Northbound, error)
}

// Store is a crud.Store of OVN on all of its machines. The databases know which these are: NB_Global notes whose they are, and each chassis.
type Store struct {
	machines Machines
	engine   *transaction.Engine
	importID string
	claim    owner.Claim
	// known is what the state or the plan has.
	known    Engine
	serving  bool
	warnings []service.Problem
}

// Open returns the store of the OVN whose databases are on machines that known names.
func Open(machines Machines, engine *transaction.Engine, importID string, claim owner.Claim, known Engine) *Store {
	return &Store{machines: machines, engine: engine, importID: importID, claim: claim, known: known}
}

// Claim implements crud.Owned.
func (s *Store) Claim() owner.Claim { return s.claim }

// Serving implements crud.Server.
func (s *Store) Serving() bool { return s.serving }

// Warnings implements crud.Warner.
func (s *Store) Warnings() []service.Problem { return s.warnings }

func (s *Store) addWarning(summary, format string, args ...any) {
	s.warnings = append(s.warnings, service.Warningf(nil, summary, format, args...))
}

// Keys of what NB_Global notes beside the owner's mark.
const (
	chassisKey  = ovn.MarkKey + "-chassis-" // with the chassis' name behind it
	addressNote = ovn.MarkKey + "-address"
	underlayKey = ovn.MarkKey + "-underlay-mtu"
	datapathNot = ovn.MarkKey + "-datapath"
	keepsKey    = ovn.MarkKey + "-keeps-packages"
	validNote   = ovn.MarkKey + "-certificates-valid-for"
	renewNote   = ovn.MarkKey + "-certificates-renew-before"
)

func (s *Store) foreignError(what string, place host.Host, mark owner.Mark) error {
	return s.claim.NewForeignError(what, place.String(), s.importID, mark)
}

// Get implements crud.Store.
func (s *Store) Get(ctx context.Context) (Engine, error) {
	c, err := s.lookAtCentral(ctx)
	if err != nil {
		return Engine{}, err
	}
	used, err := provision.IsUser(ctx, c.host, s.claim, centralServices[0])
	if err != nil {
		return Engine{}, err
	}
	absent := fmt.Errorf("OVN on %s: %w", c.host, service.ErrAbsent)
	switch {
	case !c.isRunning() && (!c.machine.Stored || !used):
		return Engine{}, absent
	case !c.isRunning() && !s.known.Address.IsValid(): // an import
		return Engine{}, &service.UnseenError{Why: fmt.Sprintf("The databases of OVN on %s do not run: start them by `systemctl start ovn-central`.", c.host)}
	case !c.isRunning():
		// What they hold is there when they run again, which the next apply sees to.
		s.serving = false
		return s.known, nil
	case c.mark == (owner.Mark{}):
		return Engine{}, absent
	case !s.claim.Owns(c.mark):
		return Engine{}, s.foreignError("OVN", c.host, c.mark)
	}
	got, err := s.readEngine(ctx, c)
	if err == nil {
		s.claim = s.claim.Found(c.mark)
	}
	return got, err
}

// readEngine reads OVN on all of its machines.
func (s *Store) readEngine(ctx context.Context, c central) (Engine, error) {
	got := Engine{Central: s.listNotedCentral(c.notes), Chassis: map[string]Chassis{}, Datapath: c.notes[datapathNot], Install: c.notes[keepsKey] == "", Versions: c.machine.Versions}
	got.Address, _ = netip.ParseAddr(c.notes[addressNote])
	if address := c.findAddress(got.Central[0]); address.IsValid() {
		got.Address = address // it may have been imported by another machine than it was made by
	}
	got.UnderlayMTU, _ = strconv.ParseInt(c.notes[underlayKey], 10, 64)
	got.MTU, _ = strconv.ParseInt(c.notes[ovn.MTUKey], 10, 64)
	got.Certificates = Certificates{c.notes[validNote], c.notes[renewNote]}
	listening, err := c.north.Listening(ctx)
	if err != nil {
		return got, err
	}
	got.TLS = strings.HasPrefix(listening.Target, "pssl:")
	followers, err := c.north.Followers(ctx)
	if err != nil {
		return got, err
	}
	got.Northbound, got.Southbound = got.ListSockets(), got.Remote()
	s.serving = c.machine.hasRunning(centralUnits...) && listening == got.newListener() && c.hasAllMembers(got)
	provers := s.listCentralProvers(c, got)
	seen, failures := each(parseNotedChassis(c.notes), func(name string, was Chassis) (chassisSeen, error) { return s.lookAtChassis(ctx, was) })
	for name, was := range parseNotedChassis(c.notes) {
		if err := failures[name]; err != nil {
			s.addWarning("Cannot look at a chassis", "Chassis %q: %v. What OVN's databases know of it stays in the state.", name, err)
			f := followers[was.ID]
			if len(f.Addresses) > 0 {
				was.TunnelIP, _ = netip.ParseAddr(f.Addresses[0])
			}
			was.BridgeMappings = parseMappings(f.Mappings)
			got.Chassis[name] = was
			continue
		}
		is := seen[name]
		if !is.isOwned(s.claim) {
			continue // somebody took it away, and an apply says whose it is now
		}
		maps.Copy(got.Versions, is.machine.Versions)
		if datapath := is.readDatapath(); datapath != got.Datapath && datapath != s.known.Datapath {
			got.Datapath = datapath
		}
		s.serving = s.serving && is.isFollowing(got) && followers[is.chassis.ID].ID != ""
		got.Chassis[name] = is.chassis
		provers = append(provers, is.newProver())
	}
	if got.TLS {
		s.findDue(c, got, provers)
	}
	maps.DeleteFunc(seen, func(name string, _ chassisSeen) bool { return failures[name] != nil || !seen[name].isOwned(s.claim) })
	return got, s.findShut(ctx, got.listOpenings(c, seen))
}

// parseNotedChassis returns the chassis that NB_Global notes: where they are, and what they are called there.
func parseNotedChassis(notes map[string]string) map[string]Chassis {
	all := map[string]Chassis{}
	for key, value := range notes {
		name, is := strings.CutPrefix(key, chassisKey)
		if !is {
			continue
		}
		var c Chassis
		value, c.Hypervisor, _ = strings.Cut(value, " hypervisor=") // the last one, which may have blanks in it
		for word := range strings.FieldsSeq(value) {
			key, text, _ := strings.Cut(word, "=")
			switch key {
			case "endpoint":
				c.Endpoint = text
			case "id":
				c.ID = text
			}
		}
		all[name] = c
	}
	return all
}

func (c Chassis) formatNote() string {
	words := []string{"endpoint=" + c.Endpoint, "id=" + c.ID}
	if c.Hypervisor != "" {
		words = append(words, "hypervisor="+c.Hypervisor)
	}
	return strings.Join(words, " ")
}

// chassisSeen is a chassis as a look at its machine shows it.
type chassisSeen struct {
	chassis  Chassis
	host     host.Host
	machine  Machine
	settings map[string]string
	bridges  []string
	// integration is the bridge that guests are plugged into, nil where there is none yet.
	integration *ovn.Integration
	// keyPair are the files that the machine proves itself by, and foreignKeys says that they are a person's.
	keyPair     ovn.KeyPair
	foreignKeys bool
	// zeroSNAT says that the user-space datapath offers what it is not to do.
	zeroSNAT bool
}

func (c chassisSeen) parseMark() owner.Mark { return owner.Parse(c.settings[ovn.MarkKey]) }

func (c chassisSeen) isOwned(claim owner.Claim) bool {
	return c.settings[ovn.MarkKey] != "" && claim.Owns(c.parseMark())
}

func (c chassisSeen) readDatapath() string {
	if c.settings[datapathKey] == "netdev" {
		return Userspace
	}
	return System
}

// isFollowing says whether the machine does all that an engine wants, beside what attributes say.
func (c chassisSeen) isFollowing(e Engine) bool {
	for key, want := range e.listSettings(c.chassis) {
		if key != datapathKey && c.settings[key] != want {
			return false
		}
	}
	if e.TLS && c.keyPair != chassisRole.keyPair() {
		return false
	}
	if e.Datapath == Userspace && c.zeroSNAT {
		return false
	}
	return c.machine.hasRunning(slices.Concat(switchUnits, chassisUnits)...) && c.machine.Connection == "connected"
}

// lookAtChassis looks at the machine of a chassis. One without Open vSwitch has no settings.
func (s *Store) lookAtChassis(ctx context.Context, c Chassis) (seen chassisSeen, err error) {
	seen.chassis = c
	if seen.host, err = s.machines.Host(ctx, c.Endpoint); err != nil {
		return seen, err
	}
	if seen.machine, err = Look(ctx, seen.host, c.TunnelIP); err != nil || !seen.machine.hasRunning("ovsdb-server") {
		return seen, err
	}
	_, err = onSwitch(seen.host, func(d *ovn.Database) (none struct{}, err error) {
		if seen.settings, err = ovn.Settings(ctx, d); err == nil {
			seen.bridges, err = ovn.Bridges(ctx, d)
		}
		if err == nil {
			seen.integration, err = ovn.ReadIntegration(ctx, d)
		}
		if err == nil {
			seen.keyPair, seen.foreignKeys, err = ovn.SwitchKeyPair(ctx, d)
		}
		if err == nil {
			seen.zeroSNAT, err = ovn.OffersZeroSNAT(ctx, d)
		}
		return none, err
	})
	seen.chassis.ID = seen.settings[idKey]
	seen.chassis.TunnelIP, _ = netip.ParseAddr(seen.settings[addressKey])
	seen.chassis.BridgeMappings = parseMappings(seen.settings[mappingsKey])
	return seen, err
}

// MayCreate implements crud.Previewer.
func (s *Store) MayCreate(ctx context.Context) error {
	c, err := s.lookAtCentral(ctx)
	if err != nil {
		return err
	}
	if err := s.mayTakeCentral(ctx, c); err != nil {
		return err
	}
	_, failures := each(s.known.Chassis, func(_ string, want Chassis) (none struct{}, err error) {
		seen, err := s.lookAtChassis(ctx, want)
		if err == nil {
			err = s.mayTakeChassis(s.claim, seen)
		}
		return none, err
	})
	return firstForeign(failures)
}

// mayTakeChassis refuses a machine that follows somebody else's databases, or whose guests somebody else has on the bridge that ovn-controller would change: it
// drops what no rule of its own lets pass there. claim is one that owns what its resource has, be it written already or not.
func (s *Store) mayTakeChassis(claim owner.Claim, seen chassisSeen) error {
	if s.known.TLS && seen.foreignKeys {
		return &ovn.SSLError{Database: "Open vSwitch on " + seen.host.String(), KeyPair: seen.keyPair}
	}
	isMarked := seen.settings[ovn.MarkKey] != ""
	switch {
	case isMarked && claim.MayTake(seen.parseMark()):
		return nil
	case !isMarked && seen.settings[remoteKey] == "":
		if seen.integration == nil || len(seen.integration.Used) == 0 {
			return nil
		}
		what := fmt.Sprintf("a bridge %q of Open vSwitch with %d ports, such as %q,", ovn.IntegrationBridge, len(seen.integration.Used), seen.integration.Used[0])
		return claim.NewForeignError(what, seen.host.String(), "", owner.Mark{})
	}
	return claim.NewForeignError(fmt.Sprintf("a chassis of OVN that follows %s", seen.settings[remoteKey]), seen.host.String(), "", seen.parseMark())
}

func firstForeign(failures map[string]error) error {
	for _, name := range slices.Sorted(maps.Keys(failures)) {
		if foreign, is := errors.AsType[*owner.ForeignError](failures[name]); is {
			return service.At([]any{"chassis", service.Key(name), "endpoint"}, foreign)
		}
		if keys, is := errors.AsType[*ovn.SSLError](failures[name]); is {
			return service.At([]any{"tls"}, keys)
		}
	}
	return nil
}

// joinLimit is how long a chassis may take until the databases have it.
const joinLimit = 60 * time.Second

// awaitFollowers waits until the databases have every chassis, each with its tunnel address.
func (s *Store) awaitFollowers(ctx context.Context, c central, want map[string]Chassis) error {
	ctx, cancel := context.WithTimeout(ctx, joinLimit)
	defer cancel()
	for {
		followers, err := c.north.Followers(ctx)
		if err != nil {
			return err
		}
		var missing []string
		for name, chassis := range want {
			if !slices.Contains(followers[chassis.ID].Addresses, chassis.TunnelIP.String()) {
				missing = append(missing, name)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			slices.Sort(missing)
			return fmt.Errorf("no word at %s from chassis %s: look there at `ovn-appctl -t ovn-controller connection-status` and /var/log/ovn/ovn-controller.log, and whether a firewall lets TCP port %d of %s pass",
				c.host, strings.Join(missing, ", "), southboundPort, s.known.Address)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
