package engine

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

const respelled = "ssh://root@10.0.0.13?proxy_jump=bastion"

func TestAServerIsFoundHoweverItsEndpointIsWritten(t *testing.T) {
	t.Parallel()
	c := membersOf(storedDatabase{}, storedDatabase{}, storedDatabase{})
	for name, test := range map[string]struct {
		place Place
		found bool
	}{
		"another way to it":                   {Place{respelled, netip.MustParseAddr("10.0.0.13")}, true},
		"its endpoint, without an address":    {Place{Endpoint: "ssh://root@10.0.0.13"}, true},
		"its endpoint, and another address":   {Place{"ssh://root@10.0.0.13", netip.MustParseAddr("10.1.0.13")}, true},
		"another endpoint without an address": {Place{Endpoint: respelled}, false},
		"another machine":                     {Place{"ssh://root@10.0.0.14", netip.MustParseAddr("10.0.0.14")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if m, err := c.findPlace(test.place); (err == nil) != test.found || test.found && m.Endpoint != "ssh://root@10.0.0.13" {
				t.Errorf("found %q, %v", m.Endpoint, err)
			}
		})
	}
}

func TestWhatIsNotedOfServers(t *testing.T) {
	t.Parallel()
	note := func(address, endpoint string) map[string]string {
		notes := map[string]string{"virtcluster-chassis-kvm1": "endpoint=ssh://root@10.0.0.11"}
		for _, p := range three().listPlaces() {
			notes[ovn.MemberKey+p.Address.String()] = p.Endpoint
		}
		notes[ovn.MemberKey+address] = endpoint
		return notes
	}
	const jump = "ssh://root@10.0.0.13"
	for name, test := range map[string]struct {
		notes, changes map[string]string
	}{
		"all of them":                 {note("10.0.0.13", jump), map[string]string{}},
		"one in another spelling":     {note("10.0.0.13", jump+":22"), map[string]string{}},
		"one with another way to it":  {note("10.0.0.13", respelled), map[string]string{ovn.MemberKey + "10.0.0.13": jump}},
		"one at another address too":  {note("10.1.0.11", "ssh://root@10.0.0.11"), map[string]string{ovn.MemberKey + "10.1.0.11": ""}},
		"one that goes":               {note("10.0.0.14", "ssh://root@10.0.0.14"), map[string]string{}},
		"none, as of a lone database": {nil, map[string]string{ovn.MemberKey + "10.0.0.11": "ssh://root@10.0.0.11", ovn.MemberKey + "10.0.0.12": "ssh://root@10.0.0.12", ovn.MemberKey + "10.0.0.13": jump}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := three().planMemberNotes(test.notes); !maps.Equal(got, test.changes) {
				t.Errorf("it changes %v", got)
			}
		})
	}
}

func TestTheClusterSaysWhereItsFirstServerIs(t *testing.T) {
	t.Parallel()
	const first = "ssh://root@10.0.0.11"
	c := membersOf(storedDatabase{Peers: []string{"ssl:10.0.0.11", "ssl:10.0.0.12"}})
	c.notes = map[string]string{ovn.MemberKey + "10.0.0.1": first, ovn.MemberKey + "10.0.0.11": first, ovn.MemberKey + "10.0.0.9": first, ovn.MemberKey + "10.0.0.12": "ssh://root@10.0.0.12"}
	if got := c.findAddress(first); got.String() != "10.0.0.11" {
		t.Errorf("of several that are noted: %s", got)
	}
	c.notes = map[string]string{ovn.MemberKey + "10.1.0.11": first}
	if got := c.findAddress(first); got.String() != "10.1.0.11" {
		t.Errorf("of the only one: %s", got)
	}
	if c.notes = nil; c.findAddress(first).IsValid() {
		t.Error("a lone database is noted")
	}
}

func TestDatabasesThatDoNotRunAreNotTakenWithWhatTheyHold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		is  storedDatabase
		may bool
	}{
		"none, or one with nothing in it": {storedDatabase{}, true},
		"one with something in it":        {storedDatabase{IsUsed: true}, false},
		"one of a cluster":                {storedDatabase{IsMember: true, Cluster: "1234"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &Store{claim: owner.BeginRun().New(), known: lab()}
			if err := s.mayTakeCentral(t.Context(), membersOf(test.is)); (err == nil) != test.may || err != nil && !strings.Contains(err.Error(), "systemctl start ovn-central") {
				t.Errorf("%v", err)
			}
		})
	}
}

// One that waits for a change which goes on sees the units as they are after it: in its middle they do not run.
func TestMachinesAreLookedAtAfterAChangeThatGoesOn(t *testing.T) {
	t.Parallel()
	h := hosttest.New()
	active := ""
	h.On(func(_ context.Context, _ *hosttest.Host, cmd host.Cmd) ([]byte, error) {
		if cmd.Name == "cluster.sh look" {
			active = "active ovn-ovsdb-server-nb\n"
			return []byte("OVN_Northbound standalone\n"), nil
		}
		return []byte("stored\n" + active), nil
	}, "sh", "-c")
	s := &Store{machines: oneMachine{h}}
	if m := s.lookAtMember(t.Context(), Place{Endpoint: "ssh://root@10.0.0.11"}); m.err != nil || !m.machine.hasRunning(centralUnits[0]) || len(m.databases) != 1 {
		t.Errorf("%+v, %v", m.machine, m.err)
	}
}

// oneMachine is the machine of every endpoint.
type oneMachine struct{ host host.Host }

func (m oneMachine) Host(context.Context, string) (host.Host, error) { return m.host, nil }

func (m oneMachine) Northbound(context.Context, string) (*ovn.Northbound, error) {
	return nil, errors.New("there is none")
}

// refusing is a machine on which nobody takes connections yet.
type refusing struct{ dials atomic.Int32 }

func (r *refusing) String() string { return "root@10.0.0.11" }

func (r *refusing) Read(context.Context, string) ([]byte, error) { return nil, fs.ErrNotExist }

func (r *refusing) DialUnix(context.Context, string) (net.Conn, error) {
	r.dials.Add(1)
	return nil, syscall.ECONNREFUSED
}

func TestDatabasesWhoseUnitsHaveJustBegunAreWaitedFor(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	m := &refusing{}
	if _, err := (central{north: ovn.NewNorthbound(m, nil)}).readNotes(ctx); err == nil || m.dials.Load() < 3 {
		t.Errorf("%v after %d dials", err, m.dials.Load())
	}
}

func TestStoppedDatabasesOfAClusterAreSeen(t *testing.T) {
	t.Parallel()
	c := membersOf(storedDatabase{IsMember: true}, storedDatabase{IsMember: true}, storedDatabase{})
	for i := range c.members {
		c.members[i].machine.Active = centralUnits
	}
	if c.hasStopped() {
		t.Error("one that runs is stopped")
	}
	if c.members[2].machine.Active = nil; c.hasStopped() {
		t.Error("one that is in no cluster is stopped")
	}
	if c.members[1].machine.Active = centralUnits[1:]; !c.hasStopped() {
		t.Error("one that is stopped is not seen")
	}
}

func TestAServerIsNotTakenForAnotherMachine(t *testing.T) {
	t.Parallel()
	s := &Store{claim: owner.BeginRun().New(), known: three()}
	c := membersOf(storedDatabase{}, storedDatabase{}, storedDatabase{})
	for i, id := range []string{"one", "two", "two"} {
		c.members[i].machine.ID = id
	}
	if err := s.mayJoin(c); err == nil || !strings.Contains(err.Error(), "ssh://root@10.0.0.12 and ssh://root@10.0.0.13 are one machine") {
		t.Errorf("one machine joins twice: %v", err)
	}
	c.notes = map[string]string{ovn.MemberKey + "10.0.0.12": "ssh://root@10.0.0.12", ovn.MemberKey + "10.0.0.13": "ssh://root@10.0.0.13"}
	if err := s.mayJoin(c); err != nil {
		t.Errorf("members by now: %v", err)
	}
	two := three()
	two.Central = two.Central[:2]
	if err := s.dropMembers(t.Context(), c, s.claim, two); err == nil || !strings.Contains(err.Error(), "/etc/machine-id") {
		t.Errorf("it leaves: %v", err)
	}
	if log := c.members[2].host.(*hosttest.Host).Log(); len(log) > 0 {
		t.Errorf("done there: %q", log)
	}
}
