package provision

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

func TestPrepareInstallsOnlyWhatIsMissing(t *testing.T) {
	b := newBox("haproxy")
	if _, err := Prepare(t.Context(), b, tenant{mark: mine}, []string{"bind", "haproxy"}, []string{"bind", "haproxy"}, true); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(b.ran, "apt-get install bind9 bind9-utils") || b.installs() != 1 {
		t.Errorf("ran %q", b.ran)
	}
	inv, err := Look(t.Context(), b)
	if err != nil || !inv.Has("bind") || !inv.Has("haproxy") || inv.Has("keepalived") || inv.Versions["bind"] != "1.2.3" || inv.OS != "Debian 12" {
		t.Errorf("%+v, %v", inv, err)
	}
	if _, err := Prepare(t.Context(), b, tenant{mark: mine}, []string{"bind", "haproxy"}, []string{"bind", "haproxy"}, true); err != nil || b.installs() != 1 {
		t.Errorf("a second time: %v, %q", err, b.ran)
	}
}

func TestPrepareStartsOnlyWhatWorksWithoutConfiguration(t *testing.T) {
	b := newBox(Names()...)
	if _, err := Prepare(t.Context(), b, tenant{mark: mine}, Names(), Names(), true); err != nil {
		t.Fatal(err)
	}
	starts := []string{"bind", "haproxy", "openvswitch", "ovn-central", "ovn-host"}
	for name, s := range Services {
		if u := b.units[s.Unit]; u.isEnabled() == s.Aside || u.isActive() != slices.Contains(starts, name) {
			t.Errorf("%s: %+v", name, u)
		}
	}
}

func TestWhatIsReadyIsLeftAlone(t *testing.T) {
	b := newBox("bind", "haproxy")
	for _, unit := range []string{"named.service", "haproxy.service"} {
		b.set(unit, func(u *UnitState) { u.Enabled, u.Active = "enabled", "active" })
	}
	if _, err := Prepare(t.Context(), b, tenant{mark: mine}, []string{"bind", "haproxy"}, []string{"bind", "haproxy"}, true); err != nil || len(b.ran) != 1 {
		t.Errorf("ran %q, %v; want a look only", b.ran, err)
	}
	b.set("named.service", func(u *UnitState) { u.Enabled, u.Active = "disabled", "inactive" })
	if _, err := Prepare(t.Context(), b, tenant{mark: mine}, []string{"bind", "haproxy"}, []string{"bind", "haproxy"}, true); err != nil || !slices.Equal(b.ran[2:], []string{"systemctl enable --quiet named.service", "start bind"}) {
		t.Errorf("ran %q, %v", b.ran, err)
	}
}

func TestMissingDaemonsAreNamedWhereNothingMayBeInstalled(t *testing.T) {
	b := newBox()
	_, err := Prepare(t.Context(), b, tenant{mark: mine}, []string{"bind", "keepalived"}, []string{"bind", "keepalived"}, false)
	if missing, ok := errors.AsType[*MissingError](err); !ok || !strings.Contains(err.Error(), "apt-get install bind9 bind9-utils keepalived") || len(missing.Services) != 2 {
		t.Errorf("%v", err)
	}
	b.os = "ID=alpine"
	if _, err := Prepare(t.Context(), b, tenant{mark: mine}, []string{"bind"}, []string{"bind"}, true); err == nil || !strings.Contains(err.Error(), "by hand") {
		t.Errorf("unknown distribution: %v", err)
	}
	b.os = "ID=fedora"
	for _, name := range []string{"ovn-host", "chrony"} {
		t.Run("a distribution whose packages are not known, of "+name, func(t *testing.T) {
			if _, err := Prepare(t.Context(), b, tenant{mark: mine}, []string{name}, []string{name}, true); err == nil || !strings.Contains(err.Error(), "by hand") || strings.Contains(err.Error(), "dnf") {
				t.Errorf("%v", err)
			}
		})
	}
	if b.Content(recordPath) != "" || b.installs() != 0 {
		t.Errorf("changed: %q", b.ran)
	}
}

func TestGiveBackRestoresEveryUnitAndTheRecordGoesLast(t *testing.T) {
	b := newBox("haproxy", "keepalived")
	b.set("haproxy.service", func(u *UnitState) { u.Enabled, u.Active = "enabled", "active" })
	services := []string{"bind", "haproxy", "keepalived"}
	if _, err := Prepare(t.Context(), b, tenant{mark: mine}, services, services, true); err != nil {
		t.Fatal(err)
	}
	// An interrupted create that is tried again must not take its own work for what was before.
	if _, err := Prepare(t.Context(), b, tenant{mark: mine}, services, services, true); err != nil {
		t.Fatal(err)
	}
	var engine transaction.Engine
	if _, err := GiveBack(t.Context(), b, &engine, tenant{mark: mine}, []string{"keepalived"}); err != nil {
		t.Fatal(err)
	}
	if text := b.Content(recordPath); !strings.Contains(text, "bind") || strings.Contains(text, "keepalived") {
		t.Errorf("record after one of three: %s", text)
	}
	if _, err := GiveBack(t.Context(), b, &engine, tenant{mark: mine}, []string{"bind", "haproxy"}); err != nil {
		t.Fatal(err)
	}
	for unit, want := range map[string]string{"named.service": "disabled inactive", "haproxy.service": "enabled active", "keepalived.service": "disabled inactive"} {
		t.Run(unit, func(t *testing.T) {
			if u := b.units[unit]; u.Enabled+" "+u.Active != want {
				t.Errorf("%s: %+v", unit, u)
			}
		})
	}
	if files := b.Files(); len(files) != 0 {
		t.Errorf("left: %v", files)
	}
}

func TestWhatAnotherServiceNodeUsesStays(t *testing.T) {
	b := newBox("bind", "haproxy")
	theirs := owner.Mark{ID: "theirs", Workspace: "elsewhere"}
	for user, services := range map[owner.Mark][]string{mine: {"bind", "haproxy"}, theirs: {"bind"}} {
		t.Run(fmt.Sprint(user), func(t *testing.T) {
			if _, err := Prepare(t.Context(), b, tenant{mark: user}, services, services, true); err != nil {
				t.Fatal(err)
			}
		})
	}
	var engine transaction.Engine
	warnings, err := GiveBack(t.Context(), b, &engine, tenant{mark: mine}, []string{"bind", "haproxy"})
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "bind on") || !strings.Contains(warnings[0], "owner theirs") {
		t.Fatalf("warnings %q, %v", warnings, err)
	}
	if bind, haproxy := b.units["named.service"], b.units["haproxy.service"]; !bind.isActive() || !bind.isEnabled() || haproxy.isActive() || haproxy.isEnabled() {
		t.Errorf("bind %+v, haproxy %+v", bind, haproxy)
	}
	if warnings, err := GiveBack(t.Context(), b, &engine, tenant{mark: theirs}, []string{"bind"}); err != nil || len(warnings) > 0 || b.units["named.service"].isActive() {
		t.Errorf("the last one leaves: %q, %v, %+v", warnings, err, b.units["named.service"])
	}
	if files := b.Files(); len(files) != 0 {
		t.Errorf("left: %v", files)
	}
}

// A service that could not be made ready is in no state, and the machine has noted who wanted it; so it has what a run made ready that was killed,
// and what nobody wants when the service node is prepared again.
func TestWhoLeavesLeavesWhatItsStateDoesNotKnowToo(t *testing.T) {
	anew := tenant{owner.Mark{ID: "new", Workspace: mine.Workspace}, true} // of a tainted resource not even the id is known
	killed := tenant{mark: owner.Mark{ID: "killed", Workspace: owner.Workspace(), Creating: strings.Replace(thisRun.Word(), ".", ".9", 1)}}
	for name, c := range map[string]struct {
		first tenant
		again []string
	}{
		"at once":                    {first: tenant{mark: mine}},
		"prepared with fewer":        {first: tenant{mark: mine}, again: []string{"haproxy"}},
		"of a killed run":            {first: killed},
		"of a killed run with fewer": {first: killed, again: []string{"haproxy"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox("haproxy", "keepalived")
			services := []string{"haproxy", "keepalived"}
			if _, err := Prepare(t.Context(), b, c.first, services, services, true); err != nil {
				t.Fatal(err)
			}
			if _, err := Prepare(t.Context(), b, tenant{mark: mine}, c.again, c.again, true); err != nil {
				t.Fatal(err)
			}
			var engine transaction.Engine
			if warnings, err := Leave(t.Context(), b, &engine, anew, []string{"haproxy"}); err != nil || len(warnings) > 0 {
				t.Fatalf("warnings %q, %v", warnings, err)
			}
			if files := b.Files(); len(files) != 0 || b.units["keepalived.service"].isEnabled() {
				t.Errorf("left: %v, keepalived %+v", files, b.units["keepalived.service"])
			}
		})
	}
}

// TestALostClaimIsThatOfTheOnlyServiceNodeOfItsWorkspace enters a service node whose claim Terraform lost, as it does where a provider is
// killed in an update, beside one and two others of its workspace.
func TestALostClaimIsThatOfTheOnlyServiceNodeOfItsWorkspace(t *testing.T) {
	anew := tenant{owner.Mark{ID: "new", Workspace: mine.Workspace}, true}
	theirs := owner.Mark{ID: "theirs", Workspace: "elsewhere"}
	for name, c := range map[string]struct{ before, after []owner.Mark }{
		"its own":              {[]owner.Mark{mine}, nil},
		"another workspace's":  {[]owner.Mark{mine, theirs}, []owner.Mark{theirs}},
		"two of its workspace": {[]owner.Mark{mine, {ID: "second", Workspace: mine.Workspace}}, []owner.Mark{mine, {ID: "second", Workspace: mine.Workspace}}},
	} {
		t.Run(name, func(t *testing.T) {
			b, services := newBox("haproxy"), []string{"haproxy"}
			for _, m := range c.before {
				if _, err := Prepare(t.Context(), b, tenant{mark: m}, services, services, true); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Prepare(t.Context(), b, anew, services, services, true); err != nil {
				t.Fatal(err)
			}
			record, err := parseRecord([]byte(b.Content(recordPath)))
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"new"}
			for _, m := range c.after {
				want = append(want, m.ID)
			}
			slices.Sort(want)
			if got := slices.Sorted(maps.Keys(record.Users)); !slices.Equal(got, want) {
				t.Errorf("%v are noted, not %v", got, want)
			}
		})
	}
}

// met is a fleet of one machine.
type met struct{ machine host.Host }

func (m met) Host(context.Context, string) (host.Host, error) { return m.machine, nil }

func (m met) Meet(_ context.Context, endpoint, _ string) (host.Endpoint, host.Host, error) {
	e, err := host.ParseEndpoint(endpoint)
	return e, m.machine, err
}

// TestALostClaimGoesOnUnderTheIDThatTheMachineHas changes a service node whose claim was lost without a change of its services, read before
// or not, and has it leave then, by what the state kept, or by a state of before that was restored from a copy: nothing is left on the machine.
func TestALostClaimGoesOnUnderTheIDThatTheMachineHas(t *testing.T) {
	const endpoint = "ssh://root@10.0.0.1?host_key=SHA256:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
	want := Machine{Services: []string{"haproxy"}, Install: true}
	for _, read := range []bool{true, false} {
		for _, restored := range []bool{true, false} {
			t.Run(fmt.Sprintf("read %v restored %v", read, restored), func(t *testing.T) {
				b := newBox("haproxy")
				claim := owner.BeginRun().New()
				if _, err := Prepare(t.Context(), b, claim, want.Services, want.Services, true); err != nil {
					t.Fatal(err)
				}
				if err := Finish(t.Context(), b, claim.Mark()); err != nil {
					t.Fatal(err)
				}
				store := NewStore(met{b}, &transaction.Engine{}, nil, owner.BeginRun().OfWorkspace(), Place{ID: endpoint}, want.Services)
				if read {
					if _, err := store.Get(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := store.Update(t.Context(), want, want); err != nil {
					t.Fatal(err)
				}
				kept := store.Claim().Record()
				if restored {
					kept = claim.Record()
				}
				again, err := owner.BeginRun().Restore(kept)
				if err != nil {
					t.Fatal(err)
				}
				if err := NewStore(met{b}, &transaction.Engine{}, nil, again, Place{ID: endpoint}, want.Services).Delete(t.Context()); err != nil {
					t.Fatal(err)
				}
				if left := b.Content(recordPath); left != "" {
					t.Errorf("the machine has noted %s", left)
				}
			})
		}
	}
}

// TestAServiceNodeThatNoStateKnowsLeavesByAnImport makes a service node twice: the program was killed after the first time, before it wrote the
// state. Who leaves is told of the first one, which an import then finds.
func TestAServiceNodeThatNoStateKnowsLeavesByAnImport(t *testing.T) {
	b, services, place := newBox("haproxy"), []string{"haproxy"}, Place{ID: "ssh://root@10.0.0.1?host_key=SHA256:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"}
	var kept []byte
	for range 2 {
		claim := owner.BeginRun().New()
		if _, err := Prepare(t.Context(), b, claim, services, services, true); err != nil {
			t.Fatal(err)
		}
		if err := Finish(t.Context(), b, claim.Mark()); err != nil {
			t.Fatal(err)
		}
		kept = claim.Finished().Record()
	}
	second, err := owner.BeginRun().Restore(kept)
	if err != nil {
		t.Fatal(err)
	}
	leave := func(claim owner.Claim) string {
		t.Helper()
		store := NewStore(met{b}, &transaction.Engine{}, nil, claim, place, services)
		if _, err := store.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := store.Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(store.Warnings())
	}
	if said := leave(second); !strings.Contains(said, "of this very state") || !strings.Contains(said, "import the machine") {
		t.Errorf("who leaves is told %s", said)
	}
	if b.Content(recordPath) == "" {
		t.Error("the first one is forgotten without a word of whose it is")
	}
	if said := leave(owner.BeginRun().OfWorkspace()); strings.Contains(said, "stays") {
		t.Errorf("the import leaves, and is told %s", said)
	}
	if left := b.Content(recordPath); left != "" {
		t.Errorf("the machine has noted %s", left)
	}
}

// An import asks the machine whether packages may be installed.
func TestWhetherPackagesAreKeptIsRecorded(t *testing.T) {
	b := newBox("bind", "haproxy")
	recorded := func() bool {
		inv, err := Look(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		return inv.Record.Installs()
	}
	prepare := func(user owner.Mark, services []string, install bool) {
		if _, err := Prepare(t.Context(), b, tenant{mark: user}, []string{"bind", "haproxy"}, services, install); err != nil {
			t.Fatal(err)
		}
	}
	if !recorded() {
		t.Error("nobody has said that packages stay")
	}
	prepare(mine, []string{"bind", "haproxy"}, false)
	if recorded() {
		t.Error("that packages are kept is not recorded")
	}
	var engine transaction.Engine
	if _, err := GiveBack(t.Context(), b, &engine, tenant{mark: mine}, []string{"haproxy"}); err != nil || recorded() {
		t.Errorf("it is forgotten when a service is given back: %v", err)
	}
	prepare(owner.Mark{ID: "theirs", Workspace: "elsewhere"}, []string{"bind"}, true)
	if !recorded() {
		t.Error("another service node may install packages")
	}
	prepare(mine, nil, true)
	if !recorded() {
		t.Error("a change of nothing else is not recorded")
	}
}

func TestInventoryThatIsCutShortIsAnError(t *testing.T) {
	whole := newBox("bind").inventory()
	for cut := range len(whole) {
		if cut == len(whole)-1 {
			break // all but the last line's end
		}
		if _, err := parseInventory(whole[:cut]); err == nil {
			t.Fatalf("cut after %d of %d bytes: no error", cut, len(whole))
		}
	}
}

func TestWaitingEndsAsTheErrorSays(t *testing.T) {
	errWait, errBrief, errNever := errors.New("boots"), errors.New("no login"), errors.New("wrong key")
	temporary := func(err error) (again, brief bool) { return !errors.Is(err, errNever), errors.Is(err, errBrief) }
	answer := func(errs ...error) func(context.Context) (int, error) {
		return func(context.Context) (int, error) {
			if len(errs) == 0 {
				return 42, nil
			}
			err := errs[0]
			errs = errs[1:]
			return 0, err
		}
	}
	if got, err := Answering(t.Context(), "m", temporary, answer(errWait, errBrief)); err != nil || got != 42 {
		t.Errorf("boots: %d, %v", got, err)
	}
	start := time.Now()
	if _, err := Answering(t.Context(), "m", temporary, answer(errNever)); !errors.Is(err, errNever) || time.Since(start) > time.Second {
		t.Errorf("wrong key: %v after %s", err, time.Since(start))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Answering(ctx, "m", temporary, answer(errWait, errWait)); !errors.Is(err, errWait) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("time is up: %v", err)
	}
}

func TestUnitThatIsMaskedIsRefusedWithTheWayOut(t *testing.T) {
	b := newBox("bind", "haproxy")
	b.set("named.service", func(u *UnitState) { u.Load = "masked" })
	_, err := Prepare(t.Context(), b, tenant{mark: mine}, []string{"bind", "haproxy"}, []string{"bind", "haproxy"}, true)
	if err == nil || !strings.Contains(err.Error(), "systemctl unmask named.service") {
		t.Errorf("%v", err)
	}
	if b.Content(recordPath) != "" || b.units["haproxy.service"].Enabled != "disabled" {
		t.Error("something was changed before")
	}
	inv, err := Look(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	said := inv.Missing(b, []string{"bind", "haproxy", "keepalived"})
	if len(said) != 2 || !strings.Contains(said[0], "unmask") || !strings.Contains(said[1], "apt-get install keepalived") {
		t.Errorf("said %q", said)
	}
}

// Debian masks the unit of a package that is removed, and takes that away when it is installed again.
func TestServiceWhosePackageWasRemovedIsInstalledAgain(t *testing.T) {
	b := newBox()
	b.set("named.service", func(u *UnitState) { u.Load = "masked" })
	if _, err := Prepare(t.Context(), b, tenant{mark: mine}, []string{"bind"}, []string{"bind"}, true); err != nil || b.installs() != 1 {
		t.Errorf("%v, %d installations", err, b.installs())
	}
}
