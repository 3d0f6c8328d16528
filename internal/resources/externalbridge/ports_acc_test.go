package externalbridge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// A port that a bridge gives up is out of it when the apply ends: systemd-networkd puts it back where it hears of that before it reads its files.
func TestAccPortsOfNetworkdsBridgeAreSwapped(t *testing.T) {
	acctest.InSandbox(t)
	machine := acctest.TakeMachine(t)
	acctest.On(t, machine, "sh", "-ec", "for n in 1 2; do ip link add accspare$n type veth peer name accpeer$n; ip link set accpeer$n up; done")
	t.Cleanup(func() {
		if out, err := acctest.Try(context.Background(), machine, "sh", "-c", "ip link del accspare1; ip link del accspare2"); err != nil {
			t.Error(out)
		}
	})
	before := acctest.NetworkOf(t, machine)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	for _, n := range []int{1, 2, 1, 2} {
		s.Write(fmt.Sprintf("%s\nresource \"virtcluster_external_bridge\" \"test\" {\n  host = %q\n  name = \"accbr1\"\n  backend = \"systemd-networkd\"\n  addresses = [\"10.66.7.%d/24\"]\n  interfaces = [{ interface = \"accspare%[4]d\" }]\n}\n",
			acctest.Provider(), acctest.Endpoint(machine), n, n))
		s.Run("apply", "-auto-approve")
		if ports := strings.TrimSpace(acctest.On(t, machine, "sh", "-c", "ip -o link show master accbr1 | sed 's/^[0-9]*: \\([^:@]*\\).*/\\1/'")); ports != fmt.Sprintf("accspare%d", n) {
			t.Fatalf("the bridge has %q, want accspare%d", ports, n)
		}
	}
	s.Settled()
	// What a person gave the bridge is its interface's when it goes.
	acctest.On(t, machine, "sh", "-ec", "ip address add 10.66.8.77/24 dev accbr1; ip route add 10.68.8.0/24 via 10.66.8.1 dev accbr1")
	s.Run("destroy", "-auto-approve")
	left := acctest.On(t, machine, "sh", "-c", "ip -o address show dev accspare2; ip route show dev accspare2")
	for _, given := range []string{" 10.66.8.77/24 ", "10.68.8.0/24 via 10.66.8.1"} {
		if !strings.Contains(left, given) {
			t.Errorf("accspare2 has no %s:\n%s", given, left)
		}
	}
	acctest.On(t, machine, "sh", "-c", "ip address flush dev accspare2; ip link set dev accspare2 down")
	acctest.Eventually(t, "the machine is as before", func() bool { return acctest.NetworkOf(t, machine) == before })
}
