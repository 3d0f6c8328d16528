package network

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

const routed = `<network><name>accrouted0</name><bridge name='accroutedbr0'/><ip address='10.116.0.254' prefix='24'/>
<route address='10.120.0.0' prefix='16' gateway='10.116.0.1'/></network>`

// TestAccLostRoutesOverSSH goes to a service node whose socket /tmp/routes.sock leads back to the sandbox's libvirtd.
func TestAccLostRoutesOverSSH(t *testing.T) {
	sandbox(t)
	node, _, _ := strings.Cut(os.Getenv("SANDBOX_SERVICE_NODES"), " ")
	if node == "" {
		t.Skip("needs --service-nodes 1")
	}
	known := filepath.Join(t.TempDir(), "known_hosts")
	shell(t, "sh", "-c", "ssh-keyscan -t ed25519 "+node+" >"+known+" 2>/dev/null")
	back := exec.Command("ssh", "-N", "-o", "UserKnownHostsFile="+known, "-o", "StreamLocalBindUnlink=yes", "-R", "/tmp/routes.sock:/run/libvirt/libvirt-sock", "root@"+node)
	if err := back.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = back.Process.Kill(); _ = back.Wait() })
	shell(t, "sh", "-c", "for try in $(seq 300); do ssh -o UserKnownHostsFile="+known+" root@"+node+" test -S /tmp/routes.sock && exit; sleep 0.1; done; exit 1")
	c, err := hypervisor.New("qemu+ssh://root@"+node+"/system?socket=/tmp/routes.sock", sshhost.Options{PrivateKeyFile: os.Getenv("SANDBOX_SSH_KEY"), KnownHostsFile: known})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	lostRoutesBySSH(t, c, "ssh", "-o", "UserKnownHostsFile="+known, "root@"+node)
}

// lostRoutesBySSH looks at a network's routes on the machine that the client's URI leads to, where an SSH command takes
// the hypervisor's place: it has no such bridge at first, as where a socket is forwarded from elsewhere.
func lostRoutesBySSH(t *testing.T, c *hypervisor.Client, ssh ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "routed.xml")
	shell(t, "sh", "-c", `printf %s "$1" >"$0" && virsh net-define "$0" && virsh net-start accrouted0`, file, routed)
	t.Cleanup(func() {
		_ = exec.Command("sh", "-c", "virsh net-destroy accrouted0; virsh net-undefine accrouted0").Run()
	})
	on := func(command string) { shell(t, slices.Concat(ssh, []string{command})...) }
	lost := func(want int, when string) {
		t.Helper()
		c.ForgetPlan()
		n, err := c.Network(t.Context(), "accrouted0")
		if err != nil {
			t.Fatal(err)
		}
		if got := FindLostRoutes(t.Context(), c, n); len(got) != want {
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
