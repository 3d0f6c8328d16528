package netinterface_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// An interface that had its address from a person's file asks for one by DHCP, in the way of whatever manages it, and has that of the file
// again afterwards.
func TestAccInterfaceAsksForItsAddress(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	acctest.ServeDHCP(t)
	for _, backend := range []string{"systemd-networkd", "networkmanager", "ifupdown", "netplan"} {
		t.Run(backend, func(t *testing.T) {
			acctest.LeaveToManager(t, "svc-1", backend)
			before := acctest.NetworkOf(t, "svc-1")
			state := acctest.NewState(t)
			state.DestroyAtEnd()
			state.Apply(config(node, `addressing = "dhcp"`) + fmt.Sprintf("import {\n  to = %s\n  id = \"ssh://root@%s#eth1\"\n}\n", name, node))
			has := func() string {
				return acctest.On(t, "svc-1", "sh", "-c", "ip -o -4 address show dev eth1 scope global | awk '{ print $4 }'")
			}
			acctest.Eventually(t, "eth1 has a lease alone", func() bool {
				now := has()
				return strings.HasPrefix(now, "10.19.41.15") && !strings.Contains(now, "\n")
			})
			if out := state.Run("state", "show", name); !strings.Contains(out, fmt.Sprintf("active_backend   = %q", backend)) {
				t.Errorf("kept by another than %s:\n%s", backend, out)
			}
			state.Settled()
			state.Run("destroy", "-auto-approve")
			acctest.Eventually(t, "eth1 is as it was before", func() bool { return acctest.NetworkOf(t, "svc-1") == before })
		})
	}
}
