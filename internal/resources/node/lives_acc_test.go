package node_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccNodeTakesOverAnAddress renames a node by its for_each key: one is destroyed while the other one is made with its address,
// which the network keeps, and has leased, until the first one is gone.
func TestAccNodeTakesOverAnAddress(t *testing.T) {
	acctest.BothCLIs(t)
	_, network, image := stage(t, "nodeheir")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	more := "  wait_for = \"lease\"\n  shutdown_timeout = \"5s\"\n"
	s.Apply(cluster(image, network, more, map[string]string{"a": "10.77.0.1"}))
	s.Apply(cluster(image, network, more, map[string]string{"b": "10.77.0.1"}))
	if leases := virsh(t, "net-dhcp-leases", network); strings.Count(leases, "10.77.0.") != 1 || !strings.Contains(leases, "10.77.0.1/24") {
		t.Errorf("the leases are\n%s", leases)
	}
	if got := s.Run("output", "addresses"); !strings.Contains(got, `"b" = "10.77.0.1"`) {
		t.Errorf("the addresses are\n%s", got)
	}
	s.Settled()
}

// TestAccNodeGetsAnAddressThatAnotherInterfaceLeased gives an address that is leased, and stays so for an hour, to another card of the
// node that runs, and then to another node while the first, which stands still, gets another one.
func TestAccNodeGetsAnAddressThatAnotherInterfaceLeased(t *testing.T) {
	_, network, image := stage(t, "nodeleft")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	more := "  wait_for = each.key == \"a\" ? null : \"lease\"\n  shutdown_timeout = \"5s\"\n  timeouts = { create = \"2m\" }\n"
	const former, card = "52:54:00:aa:6c:01", "52:54:00:aa:6c:02"
	config := func(mac, more string, addresses map[string]string) string {
		return strings.Replace(cluster(image, network, more, addresses), "ip = each.value", fmt.Sprintf("ip = each.value, mac = each.key == \"a\" ? %q : null", mac), 1)
	}
	leased := func(mac string) {
		t.Helper()
		acctest.Eventually(t, mac+" has no lease of 10.77.0.1", func() bool {
			for line := range strings.Lines(virsh(t, "net-dhcp-leases", network)) {
				if strings.Contains(line, mac) {
					return strings.Contains(line, " 10.77.0.1/24")
				}
			}
			return false
		})
	}
	s.Apply(config(former, more, map[string]string{"a": "10.77.0.1"}))
	leased(former)
	s.Apply(config(card, more, map[string]string{"a": "10.77.0.1"}))
	leased(card)
	more += "  running = each.key != \"a\"\n"
	s.Apply(config(card, more, map[string]string{"a": "10.77.0.1"}))
	s.Apply(config(card, more, map[string]string{"a": "10.77.0.2", "b": "10.77.0.1"}))
	if got := s.Run("output", "addresses"); !strings.Contains(got, `"b" = "10.77.0.1"`) {
		t.Errorf("the addresses are\n%s", got)
	}
	s.Settled()
}

// TestAccNodeTakesOverAnAddressOverSSH is the same where the hypervisor is another machine: the files of svc-1 in the network of the
// hypervisor, with the socket of its libvirtd.
func TestAccNodeTakesOverAnAddressOverSSH(t *testing.T) {
	_, network, image := stage(t, "nodessh")
	root := os.Getenv("SANDBOX_STATE") + "/nodes/svc-1/root"
	sshd := exec.Command("unshare", "--mount", "--kill-child", "--fork", "sh", "-ec", `
mount --rbind /dev "$1/dev"; mount --bind /proc "$1/proc"; mount -t tmpfs tmpfs "$1/run"; mkdir -p "$1/run/sshd"
touch "$1/run/libvirt-sock"; mount --bind /run/libvirt/libvirt-sock "$1/run/libvirt-sock"
exec chroot "$1" /usr/sbin/sshd -D -e -o Port=2222 -o ListenAddress=127.0.0.1 -o PidFile=none`, "sh", root)
	var said strings.Builder
	sshd.Stdout, sshd.Stderr = &said, &said
	if err := sshd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sshd.Process.Kill()
		_ = sshd.Wait()
		if t.Failed() {
			t.Logf("sshd: %s", said.String())
		}
	})
	known := t.TempDir() + "/known_hosts"
	acctest.Eventually(t, "sshd does not answer", func() bool {
		return exec.Command("sh", "-c", "ssh-keyscan -p 2222 127.0.0.1 >"+known+" 2>/dev/null && test -s "+known).Run() == nil
	})
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	over := func(addresses map[string]string) string {
		uri := "provider \"virtcluster\" {\n  uri = \"qemu+ssh://root@127.0.0.1:2222/system?socket=/run/libvirt-sock\"\n"
		more := "  wait_for = \"lease\"\n  shutdown_timeout = \"5s\"\n"
		text := strings.Replace(cluster(image, network, more, addresses), "provider \"virtcluster\" {\n", uri, 1)
		return strings.Replace(text, "ssh = {", fmt.Sprintf("ssh = {\n known_hosts_file = %q,", known), 1)
	}
	s.Apply(over(map[string]string{"a": "10.77.0.1"}))
	s.Apply(over(map[string]string{"b": "10.77.0.1"}))
	if leases := virsh(t, "net-dhcp-leases", network); strings.Count(leases, "10.77.0.") != 1 || !strings.Contains(leases, "10.77.0.1/24") {
		t.Errorf("the leases are\n%s", leases)
	}
	s.Settled()
}

// TestAccNodeWhoseAddressChangesUnderItsGuest gives another address to a node that runs: its guest, which does not heed that its link
// went down and came back, learns of it when it asks DHCP again, which the plan says, and addresses has what the guest has.
func TestAccNodeWhoseAddressChangesUnderItsGuest(t *testing.T) {
	_, network, image := stage(t, "nodelater")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	more := "  wait_for = \"lease\"\n  shutdown_timeout = \"5s\"\n"
	s.Apply(cluster(image, network, more, map[string]string{"a": "10.77.0.1"}))
	s.Write(cluster(image, network, more, map[string]string{"a": "10.77.0.2"}))
	plan := strings.Join(strings.Fields(strings.ReplaceAll(s.Run("plan"), "│", " ")), " ")
	if !strings.Contains(plan, "The guest is to change its address while it runs") || !strings.Contains(plan, "goes on with 10.77.0.1 until half of its lease is over") {
		t.Errorf("the plan does not warn:\n%s", plan)
	}
	has := func(ip string) func() bool {
		return func() bool {
			s.Run("apply", "-auto-approve", "-refresh-only")
			return strings.Contains(s.Run("output", "addresses"), fmt.Sprintf(`"a" = %q`, ip))
		}
	}
	answers := func(ip string) bool { return exec.Command("ping", "-c1", "-W1", ip).Run() == nil }
	link := func() string {
		said, err := acctest.InGuest(t.Context(), "acc-a", "/bin/busybox cat /sys/class/net/eth0/carrier /sys/class/net/eth0/carrier_changes")
		if err != nil {
			t.Error(err)
		}
		return strings.Join(strings.Fields(said), " ")
	}
	before := link()
	s.Run("apply", "-auto-approve")
	if !answers("10.77.0.1") || answers("10.77.0.2") {
		t.Errorf("the guest has another address than before")
	}
	if after := link(); after == before || !strings.HasPrefix(after, "1 ") {
		t.Errorf("its link was %s, and is %s", before, after)
	}
	if kept := virsh(t, "dumpxml", "--inactive", "acc-a"); strings.Contains(kept, "<link ") {
		t.Errorf("its link outlives a restart:\n%s", kept)
	}
	if got := s.Run("output", "addresses"); !strings.Contains(got, `"a" = "10.77.0.1"`) {
		t.Errorf("addresses has not what the guest has: %s", got)
	}
	s.Settled()
	virsh(t, "reset", "acc-a")
	acctest.Eventually(t, "the guest does not get its new address", func() bool { return answers("10.77.0.2") })
	acctest.Eventually(t, "addresses does not follow the guest", has("10.77.0.2"))
	s.Settled()
}

// TestAccNodesSwapAddresses has two nodes wait for each other's address, and one take what another one leaves.
func TestAccNodesSwapAddresses(t *testing.T) {
	acctest.BothCLIs(t)
	_, network, image := stage(t, "nodeswap")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	for _, addresses := range []map[string]string{
		{"a": "10.77.0.1", "b": "10.77.0.2"}, {"a": "10.77.0.2", "b": "10.77.0.1"}, {"a": "10.77.0.3", "b": "10.77.0.2"},
	} {
		t.Run(fmt.Sprint(addresses), func(t *testing.T) {
			s.Apply(cluster(image, network, "  running = false\n", addresses))
			for key, ip := range addresses {
				if got := virsh(t, "net-dumpxml", network); !strings.Contains(got, fmt.Sprintf("ip='%s' name='acc-%s'", ip, key)) && !strings.Contains(got, fmt.Sprintf("name='acc-%s' ip='%s'", key, ip)) {
					t.Errorf("%s does not have %s:\n%s", key, ip, got)
				}
			}
			s.Settled()
		})
	}
	s.Write(cluster(image, network, "  running = false\n", map[string]string{"a": "10.77.0.2", "b": "10.77.0.3"}))
	s.Refused([]string{"Nodes swap addresses", "with -parallelism=1 neither can wait for the other"}, "plan", "-parallelism=1")
	s.Write(cluster(image, network, "  running = false\n", map[string]string{"a": "10.77.0.2", "b": "10.77.0.2"}))
	s.Refused([]string{"Taken by another resource"}, "plan")
}

// TestAccNodeWhoseRootIsMissing has a root volume removed by hand whose size nobody wrote.
func TestAccNodeWhoseRootIsMissing(t *testing.T) {
	acctest.BothCLIs(t)
	pool, network, image := stage(t, "noderoot")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	made := cluster(image, network, "  running = false\n", map[string]string{"a": "10.77.0.1"})
	s.Apply(made)
	file := "/var/lib/libvirt/" + pool + "/acc-a-root.qcow2"
	deleteVolume := func() { virsh(t, "vol-delete", "acc-a-root.qcow2", pool) }
	for _, c := range []struct {
		name  string
		lose  func()
		again []string
	}{
		{"plan", deleteVolume, []string{"apply", "-auto-approve"}},
		{"replace", deleteVolume, []string{"apply", "-auto-approve", `-replace=virtcluster_node.n["a"]`}},
		{"behind libvirt's back", func() {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}, []string{"apply", "-auto-approve"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.lose()
			if out := s.Run("plan"); !strings.Contains(out, "must be replaced") {
				t.Errorf("%s: %s", c.name, out)
			}
			s.Run(c.again...)
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: the volume is missing still: %v", c.name, err)
			}
			s.Settled()
		})
	}
	virsh(t, "vol-delete", "acc-a-root.qcow2", pool)
	s.Run("destroy", "-auto-approve")
	if got := virsh(t, "list", "--all", "--name"); strings.Contains(got, "acc-a") {
		t.Errorf("left after a destroy: %s", got)
	}
}

// TestAccNodeIsHandedItsFirstBootConfiguration looks at what Ignition is handed: its interfaces' addresses beside the user's own,
// and nothing of a longer one that was there before.
func TestAccNodeIsHandedItsFirstBootConfiguration(t *testing.T) {
	pool, network, image := stage(t, "nodehanded")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	node := func(ignition string) string {
		return config(image, network, fmt.Sprintf("  running = false\n  ignition = %q\n  network_interfaces = [{ network = \"NET\", addresses = [\"10.77.0.7/24\"], gateway = \"10.77.0.254\" }]\n", ignition))
	}
	handed := func() string {
		t.Helper()
		text, err := os.ReadFile("/var/lib/libvirt/" + pool + "/acc-ignition.json")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	s.Write(node(`{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/motd","contents":{"source":"data:,` + strings.Repeat("long", 500) + `"}}]}}`))
	out := s.Run("apply", "-auto-approve")
	if strings.Contains(out, "/etc/motd") {
		t.Errorf("the plan shows what may be a secret:\n%s", out)
	}
	if got := handed(); !strings.Contains(got, "eth0.nmconnection") || !strings.Contains(got, "address1=10.77.0.7%2F24") || !strings.Contains(got, "/etc/motd") {
		t.Errorf("Ignition is handed\n%s", got)
	}
	s.Apply(node(`{"ignition":{"version":"3.4.0"}}`))
	if got := handed(); strings.Contains(got, "long") || !strings.HasSuffix(strings.TrimRight(got, " "), "}") || !strings.Contains(got, "eth0.nmconnection") {
		t.Errorf("after a shorter one, Ignition is handed\n%s", got)
	}
	s.Settled()
}
