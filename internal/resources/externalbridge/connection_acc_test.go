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

// talk keeps one TCP connection to the address $1, and counts what comes back, until it is told to end by a file, $2.
const talk = `exec 3<>/dev/tcp/$1/7777 || exit 1
n=0
while [ ! -e "$2" ]; do
  n=$((n + 1)); echo "line $n" >&3
  read -r -t 20 -u 3 line || { echo "nothing came back after line $n"; exit 1; }
  [ "$line" = "line $n" ] || { echo "$line came back for line $n"; exit 1; }
  sleep 0.05
done
echo "$n lines"`

// talkOverTheMove begins to talk with a machine from the LAN through the address that its eth1 has, and returns the check that ends it: the
// connection must have lived until then.
func talkOverTheMove(t *testing.T, machine string) resource.TestCheckFunc {
	t.Helper()
	address, end := acctest.OnLAN(machine, 101), "/run/sandbox/tmp/enough-"+machine
	acctest.On(t, "hypervisor", "rm", "-f", end)
	acctest.On(t, machine, "systemd-run", "--quiet", "--collect", "--unit=accecho", "socat", "TCP-LISTEN:7777,fork,reuseaddr", "EXEC:cat")
	enough := func() {
		if out, err := acctest.Try(context.Background(), "hypervisor", "touch", end); err != nil {
			t.Error(out)
		}
	}
	t.Cleanup(func() {
		enough()
		// The check ended it where it ran.
		_, _ = acctest.Try(context.Background(), machine, "systemctl", "stop", "accecho")
	})
	acctest.Eventually(t, "the echo on "+machine, func() bool {
		_, err := acctest.Try(t.Context(), "lan-client", "bash", "-c", ": </dev/tcp/"+address+"/7777")
		return err == nil
	})
	said := make(chan string, 1)
	go func() {
		out, err := acctest.Try(t.Context(), "lan-client", "bash", "-c", talk, "bash", address, end)
		said <- fmt.Sprint(out, err)
	}()
	return func(*terraform.State) error {
		enough()
		if out := <-said; !strings.Contains(out, "lines<nil>") {
			return fmt.Errorf("the connection that went through the moved address: %s", out)
		}
		acctest.On(t, machine, "systemctl", "stop", "accecho")
		return nil
	}
}
