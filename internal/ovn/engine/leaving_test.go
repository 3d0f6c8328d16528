package engine

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// machinesByID are the ids of machines, by endpoints that lead to them; no other one answers.
type machinesByID struct {
	t   *testing.T
	ids map[string]string
}

func (m machinesByID) Host(_ context.Context, endpoint string) (host.Host, error) {
	id, answers := m.ids[endpoint]
	if !answers {
		return nil, errors.New("no route to host")
	}
	return machineSays(m.t, "machine "+id+"\n"), nil
}

func (m machinesByID) Northbound(context.Context, string) (*ovn.Northbound, error) {
	return nil, errors.New("there is none")
}

func TestChassisThatLeave(t *testing.T) {
	t.Parallel()
	const one, other, jump, gone = "ssh://root@10.0.0.11", "ssh://root@10.0.0.12", "ssh://root@10.0.0.11?proxy_jump=bastion", "ssh://root@10.0.0.19"
	const copied = "ssh://root@10.0.0.13"
	ids := map[string]string{one: "one", other: "other", jump: "one", copied: "one"}
	at := func(endpoint, id string) Chassis { return Chassis{Endpoint: endpoint, ID: id} }
	for name, test := range map[string]struct {
		was, want map[string]Chassis
		leave     []string
	}{
		"nothing changes":                            {map[string]Chassis{"a": at(one, "1")}, map[string]Chassis{"a": at(one, "1")}, nil},
		"one goes":                                   {map[string]Chassis{"a": at(one, "1"), "b": at(other, "2")}, map[string]Chassis{"b": at(other, "2")}, []string{"a"}},
		"another name":                               {map[string]Chassis{"a": at(one, "1")}, map[string]Chassis{"b": at(one, "")}, nil},
		"another way to it":                          {map[string]Chassis{"a": at(one, "1")}, map[string]Chassis{"a": at(jump, "")}, nil},
		"another name and another way":               {map[string]Chassis{"a": at(one, "1")}, map[string]Chassis{"b": at(jump, "")}, nil},
		"two change their names":                     {map[string]Chassis{"a": at(one, "1"), "b": at(other, "2")}, map[string]Chassis{"a": at(other, ""), "b": at(one, "")}, nil},
		"a copy of another machine":                  {map[string]Chassis{"a": at(one, "1"), "b": at(copied, "2")}, map[string]Chassis{"b": at(copied, "2")}, []string{"a"}},
		"another machine has the name":               {map[string]Chassis{"a": at(one, "1")}, map[string]Chassis{"a": at(other, "")}, []string{"a"}},
		"one that does not answer":                   {map[string]Chassis{"a": at(gone, "1"), "b": at(other, "2")}, map[string]Chassis{"b": at(other, "2")}, []string{"a"}},
		"a way that is gone, by what OVN calls both": {map[string]Chassis{"a": at(gone, "1")}, map[string]Chassis{"a": at(one, "1")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &Store{machines: machinesByID{t, ids}}
			got, err := s.findLeaving(t.Context(), Engine{Chassis: test.was}, Engine{Chassis: test.want})
			if left := slices.Sorted(maps.Keys(got)); err != nil || !slices.Equal(left, test.leave) {
				t.Errorf("%q leave, %v", left, err)
			}
			for name, seen := range got {
				if seen.chassis.ID != test.was[name].ID {
					t.Errorf("%q is %q", name, seen.chassis.ID)
				}
			}
		})
	}
	s := &Store{machines: machinesByID{t, ids}}
	if _, err := s.findLeaving(t.Context(), Engine{Chassis: map[string]Chassis{"a": at(one, "1")}}, Engine{Chassis: map[string]Chassis{"a": at(gone, "")}}); err == nil || !strings.Contains(err.Error(), "no route to host") {
		t.Errorf("beside one that stays and cannot be looked at: %v", err)
	}
}

// A dead chassis' row in the southbound database keeps its tunnel address: another machine that gets it would never be a chassis.
func TestDeadChassisAreForgottenBeforeOthersFollow(t *testing.T) {
	t.Parallel()
	const one, other = "ssh://root@10.0.0.11", "ssh://root@10.0.0.12"
	claim := owner.BeginRun().New()
	mine := map[string]string{ovn.MarkKey: claim.Mark().String()}
	at := func(endpoint, id string) Chassis { return Chassis{Endpoint: endpoint, ID: id} }
	for name, test := range map[string]struct {
		noted, want map[string]Chassis
		leaving     map[string]chassisSeen
		dead        []string
	}{
		"nothing changes":                     {map[string]Chassis{"a": at(one, "1")}, map[string]Chassis{"a": at(one, "1")}, nil, nil},
		"two change their names":              {map[string]Chassis{"a": at(one, "1"), "b": at(other, "2")}, map[string]Chassis{"a": at(other, "2"), "b": at(one, "1")}, nil, nil},
		"one leaves and does not answer":      {map[string]Chassis{"a": at(one, "1")}, map[string]Chassis{"b": at(other, "2")}, map[string]chassisSeen{"a": {}}, []string{"1"}},
		"one leaves and answers":              {map[string]Chassis{"a": at(one, "1")}, map[string]Chassis{"b": at(other, "2")}, map[string]chassisSeen{"a": {settings: mine}}, nil},
		"one that answers leaves its name":    {map[string]Chassis{"a": at(one, "1")}, map[string]Chassis{"a": at(other, "2")}, map[string]chassisSeen{"a": {settings: mine}}, nil},
		"one that is dead leaves its name":    {map[string]Chassis{"a": at(one, "1")}, map[string]Chassis{"a": at(other, "2")}, map[string]chassisSeen{"a": {}}, []string{"1"}},
		"one was installed anew":              {map[string]Chassis{"a": at(one, "1")}, map[string]Chassis{"a": at(one, "2")}, nil, []string{"1"}},
		"one was installed anew and renamed":  {map[string]Chassis{"a": at(one, "1")}, map[string]Chassis{"b": at(one, "2")}, nil, []string{"1"}},
		"one that somebody else took by now":  {map[string]Chassis{"a": at(one, "1")}, map[string]Chassis{"b": at(other, "2")}, nil, nil},
		"one that has no id in the databases": {map[string]Chassis{"a": at(one, "")}, map[string]Chassis{"a": at(one, "2")}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := central{notes: map[string]string{}}
			for name, chassis := range test.noted {
				c.notes[chassisKey+name] = chassis.formatNote()
			}
			if got := c.listDead(claim, Engine{Chassis: test.want}, test.leaving); !slices.Equal(got, test.dead) {
				t.Errorf("%q are dead, want %q", got, test.dead)
			}
		})
	}
}

func TestWhatAMachineHadBeforeIsNoted(t *testing.T) {
	t.Parallel()
	seen := chassisSeen{host: hosttest.New(), settings: map[string]string{mappingsKey: `other:br-ex`, idKey: "97cd", "persons": "key"}, integration: &ovn.Integration{FailMode: "standalone", Datapath: "netdev"}}
	seen.settings[beforeKey] = seen.formatBefore()
	before, err := seen.parseBefore()
	if err != nil || !maps.Equal(before.Settings, map[string]string{mappingsKey: "other:br-ex"}) || before.Integration == nil || !reflect.DeepEqual(*before.Integration, *seen.integration) {
		t.Errorf("%+v, %v", before, err)
	}
	if got := (chassisSeen{settings: map[string]string{idKey: "97cd"}}).formatBefore(); got != "" {
		t.Errorf("of a machine without settings is noted %q", got)
	}
	seen.settings[beforeKey] = "{"
	if _, err := seen.parseBefore(); err == nil || !strings.Contains(err.Error(), beforeKey) {
		t.Errorf("half a note: %v", err)
	}
	if before, err := (chassisSeen{}).parseBefore(); err != nil || len(before.Settings) > 0 || before.Integration != nil {
		t.Errorf("no note: %+v, %v", before, err)
	}
}

func TestWhoseMachineMayBeAChassis(t *testing.T) {
	t.Parallel()
	claim := owner.BeginRun().New()
	mine, theirs := claim.Mark().String(), owner.Mark{ID: "1234", Workspace: "elsewhere"}.String()
	for name, test := range map[string]struct {
		settings map[string]string
		bridge   *ovn.Integration
		refused  string
	}{
		"one that is new":                      {nil, nil, ""},
		"one with an empty bridge":             {nil, &ovn.Integration{FailMode: "secure"}, ""},
		"one with somebody's guests on it":     {nil, &ovn.Integration{Used: []string{"vnet0", "vnet1"}}, `a bridge "br-int" of Open vSwitch with 2 ports, such as "vnet0", is in`},
		"one of its own with guests on it":     {map[string]string{ovn.MarkKey: mine, remoteKey: "tcp:10.0.0.11:6642"}, &ovn.Integration{Used: []string{"vnet0"}}, ""},
		"another state's":                      {map[string]string{ovn.MarkKey: theirs}, nil, "a chassis of OVN"},
		"one that follows somebody's database": {map[string]string{remoteKey: "tcp:10.0.0.99:6642"}, nil, "a chassis of OVN that follows tcp:10.0.0.99:6642"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := (&Store{}).mayTakeChassis(claim, chassisSeen{host: hosttest.New(), settings: test.settings, integration: test.bridge})
			if (err != nil) != (test.refused != "") || err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%v, want %q", err, test.refused)
			}
		})
	}
}

// What only a marked machine is asked for goes before its mark does: a run that is killed in between leaves it to the next one.
func TestAChassisForgetsWhoseItIsLast(t *testing.T) {
	t.Parallel()
	h := hosttest.New()
	var done []string
	h.On(func(_ context.Context, _ *hosttest.Host, cmd host.Cmd) ([]byte, error) {
		done = append(done, cmd.Name)
		return nil, nil
	}, "sh", "-c")
	h.On(hosttest.Answer("", 0, ""), "systemctl")
	err := dismissChassis(t.Context(), chassisSeen{host: h})
	if want := []string{"machine.sh leave", "machine.sh forget-keys", "firewall.sh put", "remove files of units"}; err == nil || !strings.Contains(err.Error(), "cannot be asked") || !slices.Equal(done, want) {
		t.Errorf("done before its database is asked are %q, want %q: %v", done, want, err)
	}
}

// A chassis whose Open vSwitch is stopped says nothing of what it was before: it is started, and asked.
func TestASwitchThatDoesNotRunIsStartedToBePutBackWhereItIsThere(t *testing.T) {
	t.Parallel()
	s := &Store{claim: owner.BeginRun().New(), known: lab()}
	const installed = "openvswitch 3.3.4\n"
	for name, test := range map[string]struct {
		user, look      string
		starts, removes bool
	}{
		"its own":                        {s.claim.Mark().ID, installed, true, false},
		"its own, which a person purged": {s.claim.Mark().ID, "", false, true},
		"somebody else's":                {"1234", installed, false, false},
		"somebody else's, purged":        {"1234", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hosttest.New(host.File{Path: "/var/lib/virtcluster/service-node.json", Content: []byte(`{"before":{},"users":{"` + test.user + `":{"services":["openvswitch","ovn-host"]}}}`)})
			active, removes := "", false
			h.On(func(_ context.Context, _ *hosttest.Host, cmd host.Cmd) ([]byte, error) {
				switch cmd.Name {
				case "machine.sh start":
					active = "active ovsdb-server\n"
				case "machine.sh forget-keys":
					removes = true
				}
				return []byte(test.look + active), nil
			}, "sh", "-c")
			h.On(hosttest.Answer("", 0, ""), "systemctl")
			s := &Store{claim: s.claim, machines: oneMachine{h}}
			err := s.releaseChassis(t.Context(), s.claim, Chassis{Endpoint: "ssh://root@10.0.0.12"})
			if isAsked := err != nil && strings.Contains(err.Error(), "cannot be asked"); (active != "") != test.starts || isAsked != test.starts || removes != test.removes || test.removes && !strings.Contains(err.Error(), "look at the services") { // to give them back
				t.Errorf("started: %t, removed: %t, %v", active != "", removes, err)
			}
		})
	}
}

func TestChassisThatOVNCannotTellApart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		one, other string
		refused    bool
	}{"two machines": {"1", "2", false}, "one was copied": {"1", "1", true}, "none has an id": {"", "", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Engine{Chassis: map[string]Chassis{"a": {ID: test.one}, "b": {ID: test.other}}}.checkIDs()
			if (err != nil) != test.refused || err != nil && !strings.Contains(err.Error(), `chassis "a" and "b" have one system-id`) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestGuestsOfAChassisAreNamed(t *testing.T) {
	t.Parallel()
	err := &GuestsError{"kvm1", []string{`g1 of network "nodes"`, "g2"}}
	if got := err.Error(); !strings.Contains(got, `chassis "kvm1" has guests on these ports: g1 of network "nodes", g2.`) {
		t.Error(got)
	}
}
