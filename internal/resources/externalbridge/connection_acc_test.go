package externalbridge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// talk keeps one TCP connection to svc-1's address on the LAN, and counts what comes back, until it is told to end.
const talk = `exec 3<>/dev/tcp/10.19.41.101/7777 || exit 1
n=0
while [ ! -e /run/sandbox/tmp/enough ]; do
  n=$((n + 1)); echo "line $n" >&3
  read -r -t 20 -u 3 line || { echo "nothing came back after line $n"; exit 1; }
  [ "$line" = "line $n" ] || { echo "$line came back for line $n"; exit 1; }
  sleep 0.05
done
echo "$n lines"`

func TestAccConnectionSurvivesTheMoveToTheBridge(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.ServiceNodes(t, 1)[0]
	acctest.On(t, "hypervisor", "sh", "-c", "ssh-keyscan -t ed25519 "+node+" >>/root/.ssh/known_hosts; rm -f /run/sandbox/tmp/enough")
	for _, backend := range []string{"systemd-networkd", "networkmanager", "ifupdown"} {
		t.Run(backend, func(t *testing.T) {
			acctest.On(t, "svc-1", "sh", "-c", "cp /etc/systemd/network/10-eth1.network /root; "+managed[backend])
			acctest.On(t, "svc-1", "systemd-run", "--quiet", "--collect", "--unit=echo-"+backend, "socat", "TCP-LISTEN:7777,fork,reuseaddr", "EXEC:cat")
			acctest.Eventually(t, "the echo on svc-1", func() bool {
				_, err := acctest.Try(t.Context(), "lan-client", "bash", "-c", ": </dev/tcp/10.19.41.101/7777")
				return err == nil
			})
			t.Cleanup(func() {
				if out, err := acctest.Try(context.Background(), "svc-1", "sh", "-c", "systemctl stop echo-"+backend+"; "+unmanaged); err != nil {
					t.Error(out)
				}
			})
			said := make(chan string, 1)
			go func() {
				out, err := acctest.Try(t.Context(), "lan-client", "bash", "-c", talk)
				said <- fmt.Sprint(out, err)
			}()
			on := strings.ReplaceAll(config(fmt.Sprintf("host = \"ssh://root@%s\"", node)), "eno1", "eth1")
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Providers,
				CheckDestroy: func(*terraform.State) error {
					acctest.On(t, "hypervisor", "touch", "/run/sandbox/tmp/enough")
					defer acctest.On(t, "hypervisor", "rm", "/run/sandbox/tmp/enough")
					if out := <-said; !strings.Contains(out, "lines<nil>") {
						return fmt.Errorf("the connection that went through the moved address: %s", out)
					}
					return nil
				},
				Steps: []resource.TestStep{{Config: on}},
			})
		})
	}
}
