package hypervisor

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

const routed = `<network><name>accrouted0</name><bridge name='accroutedbr0'/><ip address='10.116.0.254' prefix='24'/>
<route address='10.120.0.0' prefix='16' gateway='10.116.0.1'/></network>`

// lostRoutesBySSH looks at a network's routes on the machine that the client's URI leads to, where an SSH command takes
// the hypervisor's place: it has no such bridge at first, as where a socket is forwarded from elsewhere.
func lostRoutesBySSH(t *testing.T, c *Client, ssh ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "routed.xml")
	shell(t, "sh", "-c", `printf %s "$1" >"$0" && virsh net-define "$0" && virsh net-start accrouted0`, file, routed)
	t.Cleanup(func() {
		_ = exec.Command("sh", "-c", "virsh net-destroy accrouted0; virsh net-undefine accrouted0").Run()
	})
	on := func(command string) { shell(t, slices.Concat(ssh, []string{command})...) }
	lost := func(want int, when string) {
		t.Helper()
		c.forget()
		n, err := c.Network(t.Context(), "accrouted0")
		if err != nil {
			t.Fatal(err)
		}
		if got := c.LostRoutes(t.Context(), n); len(got) != want {
			t.Errorf("%s: %v are lost", when, got)
		}
	}
	lost(0, "another machine's routes")
	on("ip link add accroutedbr0 type bridge && ip address add 10.116.0.254/24 dev accroutedbr0 && ip link set accroutedbr0 up")
	t.Cleanup(func() { _ = exec.Command(ssh[0], append(slices.Clone(ssh[1:]), "ip link del accroutedbr0")...).Run() })
	lost(1, "the route is not there")
	on("ip route add 10.120.0.0/16 via 10.116.0.1 dev accroutedbr0")
	lost(0, "the route is there")
}
