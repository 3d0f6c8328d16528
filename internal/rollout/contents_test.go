package rollout

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// A service node that is to be made anew and cannot say what it has stays as it is, unless it is down.
func TestAServiceNodeThatCannotBeReadStays(t *testing.T) {
	t.Parallel()
	unreachable := errors.New("no route to host")
	n := &machine.TurnServiceNode{Endpoint: "ssh://root@10.0.0.100"}
	for name, c := range map[string]struct {
		node  *machine.TurnServiceNode
		wasUp bool
		fails bool
		lacks bool
	}{
		"it serves":              {n, true, true, true},
		"it is down":             {n, false, false, true},
		"it is no service node":  {nil, true, false, false},
		"its host key is no key": {&machine.TurnServiceNode{Endpoint: n.Endpoint, HostKey: "key"}, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := &machine.Rollout{Group: "g", ServiceNode: c.node}
			s := &Store{known: &machine.Spec{Name: "n", Settings: machine.Settings{Rollout: settings}}, in: Surroundings{Host: func(context.Context, string) (host.Host, error) { return nil, unreachable }}}
			asked := &turn{name: "n", settings: settings, wasUp: c.wasUp}
			if err := s.takeContents(t.Context(), asked); (err != nil) != c.fails {
				t.Errorf("it ended with %v", err)
			}
			if s.lacksContents(asked) != c.lacks {
				t.Errorf("it lacks what it is to serve: %t", !c.lacks)
			}
			if err := s.putContents(t.Context(), asked); err != nil {
				t.Errorf("nothing was put, with %v", err)
			}
		})
	}
}

// A service node is known by its host key, which its endpoint carries from then on.
func TestAServiceNodeIsKnownByItsHostKey(t *testing.T) {
	t.Parallel()
	const key = "SHA256:8B0mMGbEXzH2SWTrHRvKcy0hRu4YoGzu0VpdAbgsWsU"
	asked := ""
	_, err := serviceNodeHost(t.Context(), func(_ context.Context, endpoint string) (host.Host, error) {
		asked = endpoint
		return nil, nil
	}, &machine.TurnServiceNode{Endpoint: "ssh://root@10.0.0.100", HostKey: key})
	if err != nil || !strings.HasPrefix(asked, "ssh://root@10.0.0.100?host_key=8B0mMGbEXzH2SWTrHRvKcy0hRu4YoGzu0VpdAbgsWsU") {
		t.Errorf("%s was asked, %v", asked, err)
	}
}
