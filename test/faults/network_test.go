package faults

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// changeBegan waits on a machine until a change of its network is under way.
const changeBegan = `n=0; until ls /var/lib/virtcluster/network/*/pid >/dev/null 2>&1; do n=$((n + 1)); [ $n -lt 3000 ] || exit 1; sleep 0.02; done`

// A provider that is killed while a machine's network changes leaves a machine that goes back by itself, whatever keeps its network;
// and the next apply makes what was to be made.
func TestAccProviderKilledWhileTheNetworkChanges(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	const rollback = 6 * time.Second
	for _, backend := range []string{"systemd-networkd", "networkmanager", "ifupdown", "netplan", "runtime"} {
		t.Run(backend, func(t *testing.T) {
			wanted := "auto"
			if backend == "runtime" {
				wanted = backend
				acctest.LeaveToManager(t, "svc-1", "systemd-networkd")
			} else {
				acctest.LeaveToManager(t, "svc-1", backend)
			}
			bridge := func(rollback time.Duration) string {
				return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_external_bridge" "test" {
  name             = "accbr1"
  host             = "ssh://root@%s"
  interfaces       = [{ interface = "eth1" }]
  backend          = %q
  rollback_timeout = %d
}
`, node, wanted, int(rollback.Seconds()))
			}
			before := acctest.NetworkOf(t, "svc-1")
			state := acctest.NewState(t)
			state.Write(bridge(rollback))
			apply := state.Start("apply", "-auto-approve")
			acctest.On(t, "svc-1", "sh", "-c", changeBegan)
			began := time.Now()
			if err := syscall.Kill(acctest.ProviderOf(t, apply.Process.Pid), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if err := apply.Wait(); err == nil {
				t.Fatalf("the apply came to its end before its provider was killed:\n%s", apply.Out.String())
			}
			acctest.Eventually(t, "the machine goes back by itself to\n"+before, func() bool { return acctest.NetworkOf(t, "svc-1") == before })
			if took := time.Since(began); took > rollback+5*time.Second {
				t.Errorf("the machine went back after %s", took)
			} else {
				t.Logf("the machine went back after %s", took.Round(100*time.Millisecond))
			}
			// A busy machine may take longer than it was given.
			state.DestroyAtEnd()
			state.Apply(bridge(time.Minute))
			state.Settled()
		})
	}
}
