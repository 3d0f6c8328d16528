package netinterface

import (
	"context"
	"fmt"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// Somebody had NetworkManager write the connection anew, and the mark of a release before this one is lost with that: what an import takes over is
// what the record says, and so is what a destroy gives back.
func TestWhatWasBeforeIsKnownWhereTheMarkIsLost(t *testing.T) {
	t.Parallel()
	r := hostnet.Record[Interface]{
		Mark: owner.Mark{ID: "me", Workspace: "here"}, Want: lan(),
		Before: []hostnet.DeviceSnapshot{{Name: "eth1", Manager: hostnet.Manager{Backend: hostnet.NetworkManager, Connection: "theirs"}}},
	}
	for name, c := range map[string]struct {
		connection string
		mark       owner.Mark
		known      bool
	}{
		"with its mark":  {"[user]\nvirtcluster.mark=virtcluster owner=me workspace=here\n", r.Mark, true},
		"without a mark": {"[connection]\nid=virtcluster-eth1\n", owner.Mark{}, true},
		"with another's": {"[user]\nvirtcluster.mark=virtcluster owner=other workspace=here\n", owner.Mark{ID: "other", Workspace: "here"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hosttest.New()
			h.On(func(_ context.Context, _ *hosttest.Host, cmd host.Cmd) ([]byte, error) {
				switch cmd.Name {
				case "look at the network":
					return []byte("[{\"ifname\":\"eth1\",\"mtu\":1400}]\n[]\n[]\n"), nil
				case "read files":
					return fmt.Appendf(nil, "== %s\n%s\n== %s\n%s\n", hostnet.RecordPath("interface", "eth1", hostnet.Auto), r.Render(), hostnet.Backends[hostnet.NetworkManager].Path("eth1"), c.connection), nil
				}
				return nil, nil
			}, "sh")
			f, err := kind{"eth1"}.Look(t.Context(), h)
			if err != nil || f.known != c.known || f.Holder().Mark != c.mark || !f.Holder().There {
				t.Fatalf("%v: known %t, held by %+v", err, f.known, f.Holder())
			}
			if f.known && f.deviceBefore().Manager.Connection != "theirs" {
				t.Errorf("before was %+v", f.deviceBefore())
			}
		})
	}
}
