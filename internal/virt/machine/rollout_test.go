package machine

import (
	"net/netip"
	"testing"
	"time"
)

func TestARolloutThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	guest := InterfaceSpec{IP: netip.MustParseAddr("10.0.0.11"), Hostname: "m.example"}
	for name, c := range map[string]struct {
		rollout Rollout
		unknown []any
		summary string
	}{
		"no more than a group":                              {Rollout{Group: "g"}, nil, ""},
		"a port":                                            {Rollout{Ready: &TurnReady{TCP: "a:1"}}, nil, ""},
		"a command on a machine":                            {Rollout{Ready: &TurnReady{Command: []string{"true"}, Endpoint: "local:"}}, nil, ""},
		"no condition":                                      {Rollout{Ready: &TurnReady{}}, nil, "One condition is needed"},
		"a condition that is later":                         {Rollout{Ready: &TurnReady{}}, []any{"rollout", "ready", "url"}, ""},
		"two conditions":                                    {Rollout{Ready: &TurnReady{TCP: "a:1", URL: "http://a"}}, nil, "One condition is needed"},
		"a command on no machine":                           {Rollout{Ready: &TurnReady{Command: []string{"true"}}}, nil, "A command needs its machine"},
		"a machine for no command":                          {Rollout{Ready: &TurnReady{TCP: "a:1", Endpoint: "local:"}}, nil, "A command needs its machine"},
		"another machine drains it":                         {Rollout{Drain: &Drain{ServiceNodes: []string{"ssh://root@10.0.0.100?host_key=x", "qemu-ga:///svc"}}}, nil, ""},
		"it drains itself":                                  {Rollout{Drain: &Drain{ServiceNodes: []string{"ssh://root@10.0.0.11"}}}, nil, "Drained in its own turn"},
		"it drains itself, by agent":                        {Rollout{Drain: &Drain{ServiceNodes: []string{"qemu-ga:///m"}}}, nil, "Drained in its own turn"},
		"it drains itself, by name":                         {Rollout{Drain: &Drain{ServiceNodes: []string{"ssh://root@m?host_key=x"}}}, nil, "Drained in its own turn"},
		"it drains itself, by the name that a network has":  {Rollout{Drain: &Drain{ServiceNodes: []string{"ssh://root@m.example"}}}, nil, "Drained in its own turn"},
		"it drains itself, by the name of its service node": {Rollout{ServiceNode: &TurnServiceNode{Endpoint: "ssh://root@balancer"}, Drain: &Drain{ServiceNodes: []string{"ssh://admin@balancer:22"}}}, nil, "Drained in its own turn"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Spec{Name: "m", Interfaces: []InterfaceSpec{guest}, Unknown: Places{}}
			s.Rollout = &c.rollout
			if c.unknown != nil {
				s.Unknown.Add(c.unknown...)
			}
			problems := s.validateRollout()
			if c.summary == "" && len(problems) > 0 || c.summary != "" && (len(problems) != 1 || problems[0].Summary != c.summary) {
				t.Errorf("%v", problems)
			}
		})
	}
}

func TestWhatARolloutLeavesOutHasDefaults(t *testing.T) {
	t.Parallel()
	r := Rollout{Group: "g", Drain: &Drain{ServiceNodes: []string{"a", "b"}}, Before: &TurnCommand{Endpoint: "c", Command: []string{"kubectl", "drain"}}, Ready: &TurnReady{TCP: "d:1"}}
	if r.Limit() != 1 || r.Patience() != 10*time.Minute || r.Drain.Limit() != 30*time.Second || r.Before.Limit() != 5*time.Minute || r.Ready.Limit() != 10*time.Minute || r.Ready.Pause() != 2*time.Second {
		t.Errorf("%+v", r)
	}
	const want = `its servers on a, b are drained for up to 30s; "kubectl drain" is run on c; it is taken down, changed and started; d:1 is waited for, up to 10m0s; its servers take connections again`
	if got := r.DescribeTurn(Restarts, false); got != want {
		t.Errorf("it says %s", got)
	}
	const removed = `its servers on a, b are drained for up to 30s; virtual addresses that it holds go to another machine, where its guest agent answers; "kubectl drain" is run on c; it is removed for good`
	if got := r.DescribeTurn(Removes, true); got != removed {
		t.Errorf("of a removal it says %s", got)
	}
}

func TestTheTurnOfAServiceNodeSaysWhatItTakesAlong(t *testing.T) {
	t.Parallel()
	r := Rollout{Group: "g", ServiceNode: &TurnServiceNode{Endpoint: "ssh://root@10.0.0.100"}}
	for how, change := range map[Downtime]string{
		Replaces: "it is made anew, and gets the services and their configuration that ssh://root@10.0.0.100 has",
		Restarts: "it is taken down, changed and started",
		Moves:    "it moves while it runs, and is changed",
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			want := "its virtual addresses go to another one of the group; " + change + "; its services are waited for, up to 10m0s; it takes the virtual addresses that are to be its own"
			if got := r.DescribeTurn(how, true); got != want {
				t.Errorf("it says %s", got)
			}
		})
	}
}
