package faults

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// guestBoots is how long an emulated Debian may take until it answers: half a minute alone, many times that on a busy machine.
const guestBoots = 15 * time.Minute

// disksOf is a pool with a disk in it, of which nothing is copied.
func disksOf(t *testing.T, name, disk string) (dir string) {
	t.Helper()
	dir = "/var/lib/libvirt/" + name
	acctest.Run(t, "mkdir", "-p", dir)
	acctest.Run(t, "ln", "-s", disk, dir+"/base.qcow2")
	acctest.Virsh(t, "pool-create-as", name, "dir", "--target", dir)
	t.Cleanup(func() { acctest.Virsh(t, "pool-destroy", name) })
	return dir
}

// publicKey is the sandbox's.
func publicKey(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(os.Getenv("SANDBOX_SSH_KEY") + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// inGuest runs a script in a guest by SSH.
func inGuest(ctx context.Context, address, script string) (string, error) {
	out, err := exec.CommandContext(ctx, "ssh", "-i", os.Getenv("SANDBOX_SSH_KEY"), "-o", "BatchMode=yes", "-o", "ConnectTimeout=30",
		"-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "root@"+address, script).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// answers waits until a guest takes a command by SSH, and returns what it says.
func answers(t *testing.T, address, script string) string {
	t.Helper()
	began := time.Now()
	for {
		said, err := inGuest(t.Context(), address, script)
		switch {
		case err == nil:
			t.Logf("%s answers after %s", address, time.Since(began).Round(time.Second))
			return said
		case time.Since(began) > guestBoots:
			t.Errorf("%s does not answer: %v: %s", address, err, said)
			return said
		}
		time.Sleep(time.Second)
	}
}

// serviceGuest configures a Debian guest that root reaches by SSH; dir holds its disk, as disksOf made it. The network and the node are
// named alike, and the prefix of the address is 24.
func serviceGuest(t *testing.T, name, dir, address string) string {
	t.Helper()
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_network" "n" {
  name = %[1]q
  mode = "isolated"
  cidr = cidrsubnet("%[3]s/24", 0, 0)
}
resource "virtcluster_node" "guest" {
  name               = %[1]q
  type               = "qemu"
  memory_mib         = 1024
  shutdown_timeout   = "0s"
  root_disk          = { image = "%[2]s/base.qcow2" }
  network_interfaces = [{ network = virtcluster_network.n.name, name = "eth0", addresses = ["%[3]s/24"] }]
  cloud_init = {
    user_data = "#cloud-config\nusers: [{name: root, ssh_authorized_keys: ['%[4]s']}]\n"
  }
}
`, name, dir, address, publicKey(t))
}

// TestAccHAProxyTakesTwentyThousandConnections has a machine of usual limits, which the sandbox's containers cannot have where the
// machine that they run on has less.
func TestAccHAProxyTakesTwentyThousandConnections(t *testing.T) {
	acctest.InSandbox(t)
	dir := disksOf(t, "maxconn", os.Getenv("SANDBOX_IMAGE"))
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	machine := serviceGuest(t, "maxconn", dir, "10.76.0.5")
	s.Apply(machine)
	answers(t, "10.76.0.5", "systemctl is-system-running --wait || true")
	serves := func() string {
		out, err := inGuest(t.Context(), "10.76.0.5", `systemctl show -p LimitNOFILE haproxy; pid=$(systemctl show -p MainPID --value haproxy)
grep 'open files' /proc/$pid/limits; echo "show info" | socat - UNIX-CONNECT:/run/haproxy/admin.sock | grep -E '^(Maxconn|Hard_maxconn|Ulimit-n|Maxsock):'`)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return out
	}
	full := machine + `
resource "virtcluster_service_node" "s" {
  endpoint   = "ssh://root@10.76.0.5"
  services   = ["haproxy"]
  depends_on = [virtcluster_node.guest]
}
resource "virtcluster_haproxy" "base" {
  service_node = virtcluster_service_node.s.id
  maxconn      = 20000
}
`
	s.Apply(full)
	s.Settled()
	said := serves()
	t.Log(said)
	for _, want := range []string{"\nMaxconn: 20000\n", "\nHard_maxconn: 20000\n", "LimitNOFILE=524288\n"} {
		if !strings.Contains(said+"\n", want) {
			t.Errorf("HAProxy has no %q: %s", want, said)
		}
	}
}
