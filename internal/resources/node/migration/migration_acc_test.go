// Package migration_test moves nodes from one hypervisor to another. It is apart from their other tests, as it takes two further hypervisors.
package migration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// stageMigration has two further hypervisors have a pool with the tiny image, a network, and a bridge to the LAN, all of one name, and wants
// nothing of nodes left on them when the test ends.
func stageMigration(t *testing.T) {
	t.Helper()
	acctest.InSandbox(t)
	acctest.ServeDHCP(t, "--dhcp-host=52:54:00:aa:77:01,"+migrantAddress)
	for _, machine := range acctest.Hypervisors(t, 2) {
		t.Cleanup(func() {
			wantNothing(t, machine)
			if out, err := acctest.Try(context.WithoutCancel(t.Context()), machine, "sh", "-c", `virsh -q net-destroy migrants; virsh -q net-undefine migrants
virsh -q vol-delete tiny.qcow2 migrants; virsh -q pool-destroy migrants; virsh -q pool-undefine migrants; ip link set eth1 nomaster; ip link del migrlan`); err != nil {
				t.Errorf("clean up %s: %v: %s", machine, err, out)
			}
		})
		acctest.On(t, machine, "sh", "-ec", `
dir=/var/lib/libvirt/migrants
virsh -q pool-define-as migrants dir --target $dir; virsh -q pool-build migrants; cp "$1" $dir/tiny.qcow2; virsh -q pool-start migrants
echo "<network><name>migrants</name><forward mode='nat'/><bridge name='migrants'/><ip address='10.77.0.254' prefix='24'><dhcp><range start='10.77.0.210' end='10.77.0.240'/></dhcp></ip></network>" >/run/migrants.xml
virsh -q net-define /run/migrants.xml; virsh -q net-start migrants
ip link add migrlan type bridge; ip link set migrlan up; ip link set eth1 master migrlan; ip link set eth1 up`, "sh", os.Getenv("SANDBOX_TINY_IMAGE"))
	}
}

// migrants is the directory of the pool.
const migrants = "/var/lib/libvirt/migrants"

// sharePool has hv-2 see the directory of hv-1's pool in place of its own, as storage that both have, until the result is called or the test ends.
func sharePool(t *testing.T) (end func()) {
	t.Helper()
	nodes, mounted := os.Getenv("SANDBOX_STATE")+"/nodes/", make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends in another machine's files and dies with the goroutine
		mounted <- func() error {
			nspawn, err := os.ReadFile(nodes + "hv-2/pid")
			if err != nil {
				return err
			}
			pid := strings.TrimSpace(string(nspawn))
			leader, err := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
			if err != nil {
				return err
			}
			space, err := os.Open("/proc/" + strings.Fields(string(leader) + " none")[0] + "/ns/mnt")
			if err != nil {
				return err
			}
			defer func() { _ = space.Close() }()
			directory, err := unix.OpenTree(unix.AT_FDCWD, nodes+"hv-1/root"+migrants, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(directory) }()
			if err := errors.Join(unix.Unshare(unix.CLONE_FS), unix.Setns(int(space.Fd()), unix.CLONE_NEWNS)); err != nil {
				return err
			}
			return unix.MoveMount(directory, "", unix.AT_FDCWD, migrants, unix.MOVE_MOUNT_F_EMPTY_PATH)
		}()
	}()
	if err := <-mounted; err != nil {
		t.Fatal(err)
	}
	shared := true
	end = func() {
		if !shared {
			return
		}
		shared = false
		if out, err := acctest.Try(context.WithoutCancel(t.Context()), "hv-2", "sh", "-c", `umount -l "$1" && virsh -q pool-refresh migrants`, "sh", migrants); err != nil {
			t.Errorf("take hv-1's directory away from hv-2: %v: %s", err, out)
		}
	}
	t.Cleanup(end)
	return end
}

// leftOn is what a hypervisor has of nodes.
func leftOn(t *testing.T, machine string) string {
	t.Helper()
	out, err := acctest.Try(context.WithoutCancel(t.Context()), machine, "sh", "-c",
		`virsh -q list --all --name; ls /var/lib/libvirt/migrants | grep -v '^tiny.qcow2$'; virsh net-dumpxml migrants | grep '<host '; virsh -q nwfilter-list | grep virtcluster-; ls /var/lib/libvirt/qemu/nvram 2>/dev/null; :`)
	if err != nil {
		t.Errorf("look at %s: %v", machine, err)
	}
	return strings.TrimSpace(out)
}

func wantNothing(t *testing.T, machine string) {
	t.Helper()
	if left := leftOn(t, machine); left != "" {
		t.Errorf("%s has\n%s", machine, left)
	}
}

// migrantAddress is where lan-client reaches the migrant.
const migrantAddress = "10.19.41.155"

// migrantProvider names the two hypervisors one and two, and the first one also again.
func migrantProvider() string {
	one := acctest.HypervisorURI("hv-1")
	return fmt.Sprintf("provider \"virtcluster\" {\n  ssh = { private_key_file = %q }\n  hypervisors = { one = { uri = %q }, two = { uri = %q }, again = { uri = %q } }\n}\n",
		os.Getenv("SANDBOX_SSH_KEY"), one, acctest.HypervisorURI("hv-2"), strings.Replace(one, "/system", ":22/system", 1))
}

// migrant is a node on one of the hypervisors, with a disk of its own, and what else is said of it.
func migrant(on, more string) string {
	return migrantProvider() + fmt.Sprintf(`
resource "virtcluster_node" "n" {
  name             = "acc-migrant"
  hypervisor       = %q
  type             = "qemu"
  memory_mib       = 128
  shutdown_timeout = "0s"
  root_disk        = { image = "/var/lib/libvirt/migrants/tiny.qcow2" }
  disks            = { data = { size_gib = 1 } }
  cloud_init       = { user_data = "#!/bin/sh\ntrue\n" }
  ignition         = jsonencode({ ignition = { version = "3.4.0" } })
  network_interfaces = [
    { network = "migrants", ip = "10.77.0.77", port_security = true },
    { bridge = "migrlan", mac = "52:54:00:aa:77:01", addresses = ["10.19.41.77/24"] },
  ]
%s
}
`, on, more)
}

// guestState is what the migrant says of itself.
func guestState(t *testing.T) (uptime float64, whole string) {
	t.Helper()
	var said struct{ Uptime string }
	acctest.Eventually(t, "the guest answers", func() bool {
		out, err := acctest.Try(t.Context(), "lan-client", "curl", "-sS", "--max-time", "5", "http://"+migrantAddress+":8080/__state")
		whole = out
		return err == nil && json.Unmarshal([]byte(out), &said) == nil
	})
	uptime, err := strconv.ParseFloat(strings.Fields(said.Uptime + " 0")[0], 64)
	if err != nil {
		t.Fatalf("the guest says %s", whole)
	}
	return uptime, whole
}

var sequence = regexp.MustCompile(`icmp_seq=(\d+)`)

// countPings pings the migrant every 50 ms until the result is called, which tells how many of how many were answered, and how many in a row
// were not.
func countPings(t *testing.T) func() (answered, sent, gap int) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "ping")
	pid := acctest.On(t, "lan-client", "sh", "-c", `ping -i 0.05 "$1" >"$2" 2>&1 & echo $!`, "sh", migrantAddress, log)
	return func() (answered, sent, gap int) {
		t.Helper()
		acctest.On(t, "lan-client", "sh", "-c", `kill -INT "$1"; sleep 0.5`, "sh", pid)
		out, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		last := 0
		for _, found := range sequence.FindAllStringSubmatch(string(out), -1) {
			n, _ := strconv.Atoi(found[1])
			answered, gap, last = answered+1, max(gap, n-last-1), n
		}
		return answered, last, gap
	}
}

// knowLess has a hypervisor's libvirt know less of its QEMU, by an edit of what it keeps of that, until the test ends.
func knowLess(t *testing.T, machine, edit string) {
	t.Helper()
	const again = "; systemctl --job-mode=ignore-dependencies restart libvirtd"
	acctest.On(t, machine, "sh", "-ec", `virsh -q domcapabilities >/dev/null; sed -i "$1" /var/cache/libvirt/qemu/capabilities/*.xml`+again, "sh", edit)
	t.Cleanup(func() {
		if out, err := acctest.Try(context.WithoutCancel(t.Context()), machine, "sh", "-ec", "rm /var/cache/libvirt/qemu/capabilities/*.xml"+again); err != nil {
			t.Errorf("have %s look at its QEMU again: %v: %s", machine, err, out)
		}
	})
}

// TestAccNodeMigrates moves a node to another hypervisor while it is off, and back while it serves.
func TestAccNodeMigrates(t *testing.T) {
	acctest.BothCLIs(t)
	stageMigration(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(migrant("one", "running = false"))
	const data = "/var/lib/libvirt/migrants/acc-migrant-data.qcow2"
	acctest.On(t, "hv-1", "qemu-io", "-f", "qcow2", "-c", "write -P 0x5a 512M 1M", data)
	holds := func(machine string) {
		t.Helper()
		if out := acctest.On(t, machine, "qemu-io", "-U", "-r", "-f", "qcow2", "-c", "read -P 0x5a 512M 1M", data); strings.Contains(out, "verification failed") {
			t.Errorf("%s: %s", machine, out)
		}
	}
	uuid := acctest.On(t, "hv-1", "virsh", "domuuid", "acc-migrant")

	s.Write(migrant("two", "running = false"))
	if out := s.Run("plan"); !strings.Contains(out, "updated in-place") || !strings.Contains(out, "is copied without running") {
		t.Errorf("the plan says\n%s", out)
	}
	s.Run("apply", "-auto-approve")
	s.Settled()
	wantNothing(t, "hv-1")
	if now := acctest.On(t, "hv-2", "virsh", "domuuid", "acc-migrant"); now != uuid {
		t.Errorf("the domain is %s, and was %s", now, uuid)
	}
	if state := acctest.On(t, "hv-2", "virsh", "domstate", "acc-migrant"); state != "shut off" {
		t.Errorf("it is %s", state)
	}
	holds("hv-2")

	s.Apply(migrant("two", ""))
	before, whole := guestState(t)
	if !strings.Contains(whole, "user-data") || !strings.Contains(whole, "opt/com.coreos/config") {
		t.Errorf("the guest has\n%s", whole)
	}
	s.Write(migrant("one", "labels = { moved = \"yes\" }"))
	if out := s.Run("plan"); !strings.Contains(out, "updated in-place") || !strings.Contains(out, "It goes on running all the while") {
		t.Errorf("the plan says\n%s", out)
	}
	pings := countPings(t)
	time.Sleep(time.Second)
	s.Run("apply", "-auto-approve")
	time.Sleep(time.Second)
	answered, sent, gap := pings()
	t.Logf("%d of %d pings at 50 ms were answered, and %d in a row were not", answered, sent, gap)
	if sent < 40 || gap >= 20 {
		t.Errorf("less than a second may be lost: %d of %d, %d in a row", answered, sent, gap)
	}
	if after, now := guestState(t); after <= before || !strings.Contains(now, "user-data") {
		t.Errorf("the guest runs for %f s now, and did for %f before:\n%s", after, before, now)
	}
	holds("hv-1")
	wantNothing(t, "hv-2")
	s.Settled()
	for what, script := range map[string]string{
		"52:54:00": "virsh net-dumpxml migrants | grep 10.77.0.77", "virtcluster-acc-migrant": "virsh nwfilter-list", "moved": "virsh dumpxml acc-migrant", "10.77.0.77": "virsh nwfilter-dumpxml $(virsh -q nwfilter-list | awk '/virtcluster-acc-migrant/ { print $2; exit }')",
	} {
		t.Run(what, func(t *testing.T) {
			if out := acctest.On(t, "hv-1", "sh", "-c", script); !strings.Contains(out, what) {
				t.Errorf("%s says\n%s", script, out)
			}
		})
	}
	if out := acctest.On(t, "hv-1", "virsh", "dumpxml", "--inactive", "acc-migrant"); strings.Contains(out, "arrival") || strings.Contains(out, "departure") {
		t.Errorf("the mark says that it moves still:\n%s", out)
	}

	imported := acctest.NewState(t)
	imported.Write(migrant("one", "labels = { moved = \"yes\" }"))
	imported.Run("import", "virtcluster_node.n", "one/acc-migrant")
	imported.Settled()
}

// TestAccNodeMigrationIsRefused plans moves that cannot be, and moves that are none.
func TestAccNodeMigrationIsRefused(t *testing.T) {
	acctest.BothCLIs(t)
	stageMigration(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(migrant("one", ""))
	refused := func(config string, words ...string) {
		t.Helper()
		s.Write(config)
		s.Refused(words, "plan")
	}
	refused(migrant("again", ""), "The same machine by another name")
	t.Run("storage that both have", func(t *testing.T) {
		s := s.For(t)
		sharePool(t)
		s.Write(migrant("two", ""))
		for _, command := range [][]string{{"plan"}, {"apply", "-auto-approve"}} {
			s.Refused([]string{"Volume there already", "it is one storage with that of", "virsh migrate"}, command...)
		}
		if state := acctest.On(t, "hv-1", "virsh", "domstate", "acc-migrant"); state != "running" {
			t.Errorf("it is %s", state)
		}
		acctest.On(t, "hv-1", "ls", migrants+"/acc-migrant-root.qcow2", migrants+"/acc-migrant-data.qcow2", migrants+"/acc-migrant-seed.iso", migrants+"/acc-migrant-ignition.json")
	})
	t.Run("a volume of that name", func(t *testing.T) {
		acctest.On(t, "hv-2", "qemu-img", "create", "-q", "-f", "qcow2", migrants+"/acc-migrant-data.qcow2", "1G")
		s.Write(migrant("two", ""))
		s.For(t).Refused([]string{"Volume there already", `has a volume "acc-migrant-data.qcow2" already`}, "plan")
		acctest.On(t, "hv-2", "virsh", "-q", "vol-delete", "acc-migrant-data.qcow2", "migrants")
	})
	version := strings.TrimSpace(acctest.On(t, "hv-1", "sh", "-c", "virsh dumpxml acc-migrant | grep -o 'pc-q35-[0-9.]*'"))
	for name, test := range map[string]struct{ edit, summary, reason string }{
		"a machine type that only one has": {"s/'" + version + "'/'pc-q35-other'/", "Machine type not offered", `is of machine type "` + version + `"`},
		"a processor that only one has":    {"/'sse4.2'/s/value='true'/value='false'/", "Processor not offered", "sse4.2"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.For(t)
			knowLess(t, "hv-2", test.edit)
			s.Write(migrant("two", ""))
			s.Refused([]string{test.summary, test.reason}, "plan")
		})
	}
	t.Run("a domain of its UUID", func(t *testing.T) {
		startStranger(t, "hv-1", "hv-2")
		refused(migrant("two", ""), "Domain of its UUID there")
	})
	acctest.On(t, "hv-2", "virsh", "-q", "net-destroy", "migrants")
	refused(migrant("two", ""), "Network not active")
	acctest.On(t, "hv-2", "virsh", "-q", "net-undefine", "migrants")
	refused(migrant("two", ""), "Unknown network")
	acctest.On(t, "hv-2", "sh", "-ec", "virsh -q net-define /run/migrants.xml; virsh -q net-start migrants")
	acctest.On(t, "hv-2", "virsh", "-q", "pool-destroy", "migrants")
	acctest.On(t, "hv-2", "virsh", "-q", "pool-undefine", "migrants")
	refused(migrant("two", ""), "Unknown storage pool")
	acctest.On(t, "hv-2", "sh", "-ec", `mkdir -p /run/narrow; mount -t tmpfs -o size=4m none /run/narrow; virsh -q pool-define-as migrants dir --target /run/narrow; virsh -q pool-start migrants`)
	refused(migrant("two", ""), "No room for the move")
	acctest.On(t, "hv-2", "sh", "-ec", `virsh -q pool-destroy migrants; virsh -q pool-undefine migrants; umount /run/narrow; virsh -q pool-define-as migrants dir --target /var/lib/libvirt/migrants; virsh -q pool-start migrants`)
	acctest.On(t, "hv-2", "mv", "/var/lib/libvirt/migrants/tiny.qcow2", "/run/tiny.qcow2")
	acctest.On(t, "hv-2", "virsh", "-q", "pool-refresh", "migrants")
	refused(migrant("two", ""), "Unknown image")
	acctest.On(t, "hv-2", "mv", "/run/tiny.qcow2", "/var/lib/libvirt/migrants/tiny.qcow2")
	acctest.On(t, "hv-2", "virsh", "-q", "pool-refresh", "migrants")
	acctest.On(t, "hv-2", "sh", "-ec", `echo "<domain type='qemu'><name>acc-migrant</name><memory>1024</memory><os><type>hvm</type></os></domain>" >/run/d.xml; virsh -q define /run/d.xml`)
	refused(migrant("two", ""), "Name taken")
	acctest.On(t, "hv-2", "virsh", "-q", "undefine", "acc-migrant")
	acctest.On(t, "hv-1", "virsh", "-q", "snapshot-create-as", "acc-migrant", "persons", "--disk-only", "--diskspec", "vda,snapshot=external,file=/run/persons.qcow2", "--diskspec", "vdb,snapshot=no", "--diskspec", "vdc,snapshot=no")
	refused(migrant("two", ""), "Node with a snapshot", `"persons"`)
	acctest.On(t, "hv-1", "sh", "-ec", "virsh -q blockcommit acc-migrant vda --active --pivot --wait; virsh -q snapshot-delete acc-migrant persons --metadata; rm /run/persons.qcow2")
	replaced := func(config string) {
		t.Helper()
		s.Write(config)
		if out := s.Run("plan"); !strings.Contains(out, "must be replaced") {
			t.Errorf("the plan says\n%s", out)
		}
	}
	replaced(migrant("two", "migration = { allow = false }"))
	acctest.On(t, "hv-2", "sh", "-ec", "cp /var/lib/libvirt/migrants/tiny.qcow2 /var/lib/libvirt/migrants/other.qcow2; virsh -q pool-refresh migrants")
	replaced(strings.Replace(migrant("two", ""), "tiny.qcow2", "other.qcow2", 1))
	acctest.On(t, "hv-2", "virsh", "-q", "vol-delete", "other.qcow2", "migrants")
	s.Write(migrant("two", "migration = { allow = false }"))
	s.Run("apply", "-auto-approve")
	wantNothing(t, "hv-1")
	s.Settled()
}

// TestAccNodeMigrationBreaks has moves fail in the middle: the node stays, running, and nothing of it is on the other hypervisor.
func TestAccNodeMigrationBreaks(t *testing.T) {
	stageMigration(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(migrant("one", ""))
	before, _ := guestState(t)
	stays := func() {
		t.Helper()
		if state := acctest.On(t, "hv-1", "virsh", "domstate", "acc-migrant"); state != "running" {
			t.Errorf("it is %s", state)
		}
		if now, _ := guestState(t); now <= before {
			t.Errorf("the guest runs for %f s now, and did for %f before", now, before)
		}
		wantNothing(t, "hv-2")
		if out := acctest.On(t, "hv-1", "virsh", "dominfo", "acc-migrant"); !regexp.MustCompile(`Autostart: +enable`).MatchString(out) {
			t.Errorf("it does not begin with its hypervisor any more:\n%s", out)
		}
		if out := acctest.On(t, "hv-1", "virsh", "dumpxml", "acc-migrant"); strings.Contains(out, "departure") {
			t.Errorf("its mark says that it goes:\n%s", out)
		}
		s.Write(migrant("one", ""))
		s.Settled()
	}
	s.Write(migrant("two", `migration = { bandwidth_mib = 1, timeout = "5s" }`))
	s.Refused([]string{"it stays on hypervisor \"one\", running", "migration.timeout"}, "apply", "-auto-approve")
	stays()

	acctest.On(t, "hv-2", "sh", "-ec", "nft add table inet nomigration; nft 'add chain inet nomigration in { type filter hook input priority 0; }'; nft add rule inet nomigration in tcp dport 49152-49215 reject with tcp reset")
	s.Write(migrant("two", ""))
	s.Refused([]string{"it stays on hypervisor \"one\", running"}, "apply", "-auto-approve")
	acctest.On(t, "hv-2", "nft", "delete", "table", "inet", "nomigration")
	stays()

	s.Write(migrant("two", "migration = { bandwidth_mib = 1 }"))
	moving := s.Start("apply", "-auto-approve")
	acctest.Eventually(t, "the node is on its way", func() bool { return strings.Contains(leftOn(t, "hv-2"), "acc-migrant\n") })
	acctest.On(t, "hv-2", "sh", "-c", "kill -KILL $(pgrep -f guest=[a]cc-migrant)")
	if err := moving.Wait(); err == nil {
		t.Error("the target's machine was killed, and the move came to its end")
	}
	stays()

	s.Write(migrant("two", ""))
	s.Run("apply", "-auto-approve")
	s.Settled()
	wantNothing(t, "hv-1")
	if now, _ := guestState(t); now <= before {
		t.Errorf("the guest runs for %f s now, and did for %f before", now, before)
	}
}

// TestAccNodeMigrationOfAKilledRun kills the provider at moments of a move; the next apply brings it to its end, or back. Nothing is left
// of the turn in which it moved.
func TestAccNodeMigrationOfAKilledRun(t *testing.T) {
	stageMigration(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	const turns = "  rollout = { group = \"migrants\" }\n"
	s.Apply(migrant("one", turns))
	guestState(t)
	on := map[string]string{"one": "hv-1", "two": "hv-2"}
	other := map[string]string{"one": "two", "two": "one"}
	at := "one"
	for _, c := range []struct {
		name, slow string
		// come says that the machine is on its way so far that the provider is killed; the target is asked.
		come string
		back bool
	}{
		{"volumes", "", "ls /var/lib/libvirt/migrants | grep -q acc-migrant-root.qcow2", false},
		{"copying", "migration = { bandwidth_mib = 1 }", "virsh -q list --all --name | grep -q acc-migrant", false},
		{"copying, and back", "migration = { bandwidth_mib = 1 }", "virsh -q list --all --name | grep -q acc-migrant", true},
		{"arrived", "", "virsh -q list --persistent --all --name | grep -q acc-migrant", false},
		{"arrived, and back", "", "virsh -q list --persistent --all --name | grep -q acc-migrant", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := s.For(t)
			before, _ := guestState(t)
			to := other[at]
			killMove(t, s, migrant(to, turns+c.slow), on[to], c.come)
			if c.back {
				to = at
			}
			s.Write(migrant(to, turns))
			s.Run("apply", "-auto-approve")
			s.Settled()
			at = to
			wantNothing(t, on[other[at]])
			if now, _ := guestState(t); now <= before {
				t.Errorf("the guest runs for %f s now, and did for %f before", now, before)
			}
		})
	}
	t.Run("a domain of its UUID came meanwhile", func(t *testing.T) {
		s := s.For(t)
		to := other[at]
		killMove(t, s, migrant(to, turns), on[to], "ls /var/lib/libvirt/migrants | grep -q acc-migrant-root.qcow2")
		acctest.Eventually(t, "what was on its way ends with its provider", func() bool { return acctest.On(t, on[to], "virsh", "-q", "list", "--all", "--name") == "" })
		startStranger(t, on[at], on[to])
		s.Write(migrant(to, turns))
		s.Refused([]string{"Domain of its UUID there"}, "plan")
		s.Apply(migrant(at, turns))
		if left := leftOn(t, on[to]); left != "theirs" {
			t.Errorf("%s has %s", on[to], left)
		}
		if state := acctest.On(t, on[to], "virsh", "domstate", "theirs"); state != "running" {
			t.Errorf("the person's domain is %s", state)
		}
		s.Settled()
	})
}

// killMove has an apply of a configuration that moves a node, and kills its provider once a script on the target says that the move has come so far.
func killMove(t *testing.T, s *acctest.State, config, target, come string) {
	t.Helper()
	s.Write(config)
	moving := s.Start("apply", "-auto-approve")
	ended := make(chan error, 1)
	go func() { ended <- moving.Wait() }()
	acctest.Eventually(t, come, func() bool {
		_, err := acctest.Try(t.Context(), target, "sh", "-c", come)
		return err == nil || len(ended) > 0
	})
	pid := acctest.FindProvider(moving.Process.Pid)
	if len(ended) > 0 || pid == 0 {
		t.Fatalf("it ended before it could be killed: %v\n%s", <-ended, moving.Out.String())
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Logf("killed: %v", <-ended)
}

// startStranger has a person's domain run on one hypervisor that has the UUID of the node on another one, until the test ends.
func startStranger(t *testing.T, from, on string) {
	t.Helper()
	uuid := acctest.On(t, from, "virsh", "domuuid", "acc-migrant")
	t.Cleanup(func() {
		_, _ = acctest.Try(context.WithoutCancel(t.Context()), on, "sh", "-c", "virsh -q destroy theirs; virsh -q undefine theirs")
	})
	acctest.On(t, on, "sh", "-ec", `echo "<domain type='qemu'><name>theirs</name><uuid>$1</uuid><memory unit='MiB'>32</memory><os><type arch='x86_64'>hvm</type></os></domain>" >/run/theirs.xml
virsh -q define /run/theirs.xml; virsh -q start theirs`, "sh", strings.TrimSpace(uuid))
}

// TestAccNodeThatAPersonMigrated is found where it is, and goes back or stays as the configuration says.
func TestAccNodeThatAPersonMigrated(t *testing.T) {
	stageMigration(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	// What virsh brings along: no seed, which addresses of an interface are in too, no file of Ignition, no filter.
	least := regexp.MustCompile(`(?m)^  (cloud_init|ignition) .*\n|, port_security = true|, addresses = \[[^\]]*\]`)
	bare := func(on string) string { return least.ReplaceAllString(migrant(on, ""), "") }
	s.Apply(bare("one"))
	key := "&keyfile=" + os.Getenv("SANDBOX_SSH_KEY") + "&no_verify=1"
	migrate := func(disks, from, to string) {
		t.Helper()
		acctest.On(t, "hypervisor", "virsh", "-q", "-c", acctest.HypervisorURI(from)+"?"+key[1:], "migrate", "--live", "--persistent", "--undefinesource", disks, "acc-migrant", acctest.HypervisorURI(to)+"?"+key[1:])
	}
	migrate("--copy-storage-all", "hv-1", "hv-2")
	// What virsh leaves behind.
	acctest.On(t, "hv-1", "sh", "-c", "rm -f /var/lib/libvirt/migrants/acc-migrant*; virsh -q pool-refresh migrants")
	if out := s.Run("plan"); !strings.Contains(out, `"two" -> "one"`) || !strings.Contains(out, "updated in-place") {
		t.Errorf("the plan says\n%s", out)
	}
	s.Write(bare("two"))
	s.Run("apply", "-auto-approve")
	s.Settled()
	s.Write(bare("one"))
	s.Run("apply", "-auto-approve")
	s.Settled()
	acctest.On(t, "hv-1", "virsh", "-q", "domstate", "acc-migrant")
	wantNothing(t, "hv-2")

	// The way that a refused move between hypervisors of one storage names: libvirt takes a directory of no network for none that is safe.
	end := sharePool(t)
	migrate("--unsafe", "hv-1", "hv-2")
	s.Write(bare("two"))
	if out := s.Run("apply", "-auto-approve"); !strings.Contains(out, "0 added, 1 changed, 0 destroyed") {
		t.Errorf("the apply says\n%s", out)
	}
	s.Settled()
	s.Run("destroy", "-auto-approve")
	wantNothing(t, "hv-2")
	end()
	// What virsh leaves behind.
	acctest.On(t, "hv-1", "sh", "-ec", `virsh -q net-update migrants delete ip-dhcp-host "$(virsh net-dumpxml migrants | grep -o '<host .*')" --live --config`)
	wantNothing(t, "hv-1")
}

// TestAccNodesOfAGroupMigrateInTurns moves two nodes of a group in one apply: one after the other. Then one goes back, and a snapshot is of both.
func TestAccNodesOfAGroupMigrateInTurns(t *testing.T) {
	stageMigration(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	group := func(a, b string) string {
		return migrantProvider() + fmt.Sprintf(`
resource "virtcluster_node" "n" {
  for_each         = { a = { ip = "10.77.0.71", on = %q }, b = { ip = "10.77.0.72", on = %q } }
  name             = "acc-${each.key}"
  hypervisor       = each.value.on
  type             = "qemu"
  memory_mib       = 128
  shutdown_timeout = "0s"
  root_disk        = { image = "/var/lib/libvirt/migrants/tiny.qcow2" }
  network_interfaces = [{ network = "migrants", ip = each.value.ip }]
  migration        = { bandwidth_mib = 20 }
  rollout          = { group = "migrants" }
}
`, a, b)
	}
	s.Apply(group("one", "one"))
	s.Write(group("two", "two"))
	if out := strings.Join(strings.Fields(s.Run("plan")), " "); strings.Count(out, "hypervisor = \"one\" -> \"two\"") != 2 || !strings.Contains(out, "it moves while it runs, and is changed") {
		t.Errorf("the plan says\n%s", out)
	}
	moving := s.Start("apply", "-auto-approve")
	ended := make(chan error, 1)
	go func() { ended <- moving.Wait() }()
	most, seen := 0, 0
	for len(ended) == 0 {
		out, err := acctest.Try(t.Context(), "hv-2", "sh", "-c", "for n in $(virsh -q list --name --transient); do echo $n; done | wc -l")
		if n, convert := strconv.Atoi(strings.TrimSpace(out)); err == nil && convert == nil {
			most, seen = max(most, n), seen+1
		}
	}
	if err := <-ended; err != nil || most != 1 {
		t.Errorf("%v: %d were on their way at one time, in %d looks:\n%s", err, most, seen, moving.Out.String())
	}
	s.Settled()
	wantNothing(t, "hv-1")
	if left := leftOn(t, "hv-2"); strings.Contains(left, "@turn") {
		t.Errorf("hv-2 has\n%s", left)
	}

	t.Run("a snapshot over two hypervisors", func(t *testing.T) {
		s := s.For(t)
		pair := strings.Replace(group("one", "two"), "{ bandwidth_mib = 20 }", "{ allow = true }", 1)
		s.Apply(pair)
		are := map[string]string{"acc-a": "hv-1", "acc-b": "hv-2"}
		// The last sectors of the root disk are of no file.
		tell := func(script string) {
			t.Helper()
			for node, on := range are {
				acctest.Eventually(t, node+" does: "+script, func() bool {
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
					defer cancel()
					_, err := acctest.InGuestOf(ctx, on, node, `last=$(($(/bin/busybox cat /sys/block/vda/size) - 8)); `+script)
					return err == nil
				})
			}
		}
		write := func(word string) {
			t.Helper()
			tell("echo " + word + " | /bin/busybox dd of=/dev/vda bs=512 seek=$last conv=sync,fsync,notrunc")
		}
		holds := func(word string) {
			t.Helper()
			tell(`[ "$(/bin/busybox dd if=/dev/vda bs=512 skip=$last count=1 iflag=direct | /bin/busybox head -n 1)" = ` + word + " ]")
		}
		with := func(revert int) string {
			return pair + fmt.Sprintf("resource \"virtcluster_snapshot\" \"s\" {\n  name = \"both\"\n  nodes = [for n in virtcluster_node.n : n.id]\n  quiesce = \"required\"\n  revert = %d\n}\n", revert)
		}
		write("before")
		s.Apply(with(1))
		s.Settled()
		for node, on := range are {
			if taken := acctest.On(t, on, "virsh", "-q", "snapshot-list", node, "--name"); strings.TrimSpace(taken) != "both" {
				t.Errorf("%s has the snapshots %q", node, taken)
			}
		}
		write("after")
		s.Apply(with(2))
		holds("before")
		s.Apply(pair)
		s.Settled()
		holds("before")
		for _, on := range are {
			if left := leftOn(t, on); strings.Contains(left, "vcsnap") {
				t.Errorf("%s has\n%s", on, left)
			}
		}
	})
}

// TestAccNodeMigratesWithItsController moves a node and its controller to another hypervisor in one apply.
func TestAccNodeMigratesWithItsController(t *testing.T) {
	stageMigration(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	both := func(on, machine string) string {
		return migrant(on, "") + fmt.Sprintf(`
resource "virtcluster_bmc" "rack" {
  hypervisor = %q
  name       = "migrants"
  address    = %q
  password   = "secret-of-8"
  nodes      = { (virtcluster_node.n.name) = { port = 8001 } }
}
`, on, acctest.Address(machine))
	}
	power := func(machine string) string {
		t.Helper()
		ask := func(path string, into any) {
			t.Helper()
			out := acctest.On(t, "hypervisor", "curl", "-sSk", "--max-time", "20", "-u", "admin:secret-of-8", "https://"+acctest.Address(machine)+":8001"+path)
			if err := json.Unmarshal([]byte(out), into); err != nil {
				t.Fatalf("%s says %v: %s", path, err, out)
			}
		}
		var all struct {
			Members []struct {
				ID string `json:"@odata.id"`
			}
		}
		ask("/redfish/v1/Systems", &all)
		if len(all.Members) != 1 {
			t.Fatalf("there are %d systems", len(all.Members))
		}
		var system struct{ PowerState, UUID string }
		ask(all.Members[0].ID, &system)
		return system.PowerState
	}
	s.Apply(both("one", "hv-1"))
	if is := power("hv-1"); is != "On" {
		t.Errorf("the node is %s", is)
	}
	before, _ := guestState(t)
	s.Apply(both("two", "hv-2"))
	s.Settled()
	if is := power("hv-2"); is != "On" {
		t.Errorf("the node is %s", is)
	}
	if now, _ := guestState(t); now <= before {
		t.Errorf("the guest runs for %f s now, and did for %f before", now, before)
	}
	wantNothing(t, "hv-1")
	if out, err := acctest.Try(t.Context(), "hv-1", "systemctl", "is-active", "virtcluster-bmc-migrants"); err == nil {
		t.Errorf("the controller is %s on the old hypervisor", out)
	}
}
