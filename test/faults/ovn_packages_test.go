package faults

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// putDebs puts the Debian packages of a set into /srv/debs of a machine, and nothing else there.
func putDebs(t *testing.T, machine, set string) {
	t.Helper()
	debs, err := exec.Command("./debs", set).Output()
	if err != nil {
		t.Fatalf("packages are downloaded outside of the sandbox, by test/faults/debs %s: %v", set, err)
	}
	if out, err := exec.Command("sh", "-c", `tar -C "$1" -cf - . | ../sandbox/on "$2" sh -c 'rm -rf /srv/debs && mkdir -p /srv/debs && tar -C /srv/debs -xf -'`, "sh", strings.TrimSpace(string(debs)), machine).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// ovnPrograms are what installs OVN and Open vSwitch, but for libraries that others have too.
const ovnPrograms = "ovn-central ovn-host ovn-common openvswitch-switch openvswitch-common python3-openvswitch"

// offerDebs has /srv/debs be the only source of packages of a machine.
const offerDebs = `set -e
cd /srv/debs
for deb in *.deb; do
  dpkg-deb -f "$deb"
  printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$deb" "$(wc -c <"$deb")" "$(sha256sum "$deb" | cut -d' ' -f1)"
done >Packages
rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*
echo 'deb [trusted=yes] file:/srv/debs ./' >/etc/apt/sources.list.d/debs.list`

// purgeOVN takes OVN and Open vSwitch off a machine.
const purgeOVN = `dpkg --purge ` + ovnPrograms + ` >/srv/dpkg.log 2>&1 || { cat /srv/dpkg.log; exit 1; }
rm -rf /var/lib/ovn /etc/ovn
! command -v ovn-nbctl && ! command -v ovs-vsctl && ! command -v ovn-controller`

// lookAtUnits prints which of OVN's units are enabled and run on a machine, and what these keep.
const lookAtUnits = `for unit in ovn-central ovn-host openvswitch-switch; do echo "$unit $(systemctl is-enabled $unit) $(systemctl is-active $unit)"; done
for unit in ovn-northd ovn-ovsdb-server-nb ovn-ovsdb-server-sb ovn-controller ovs-vswitchd ovsdb-server; do echo "$unit $(systemctl is-active $unit)"; done
ls -A /var/lib/ovn; ls -d /var/lib/virtcluster; ip -o link | sed 's/^[0-9]*: \([^:@]*\).*/\1/' | grep -e br- -e ovs- -e genev`

// TestAccOVNIsInstalled brings OVN up on machines that have nothing of it, by their distribution's real packages, which begin to run as they are installed: a
// plan that may not install says what is missing, one apply ends what another one began that was killed as it installed, and a destroy leaves the packages, and
// nothing that runs, or begins to at the next start.
func TestAccOVNIsInstalled(t *testing.T) {
	acctest.InSandbox(t)
	machines := acctest.Hypervisors(t, 2)
	for _, machine := range machines {
		putDebs(t, machine, "ovn")
		acctest.On(t, machine, "sh", "-c", offerDebs)
		acctest.On(t, machine, "sh", "-c", purgeOVN)
		t.Cleanup(func() {
			if out, err := acctest.Try(context.Background(), machine, "sh", "-c", "command -v ovn-nbctl && command -v ovn-controller || { dpkg --configure -a; apt-get -q update; apt-get -q -y install "+ovnPrograms+
				"; systemctl disable --now ovn-central ovn-host openvswitch-switch; }; rm -rf /srv/debs"); err != nil {
				t.Errorf("%s: %v: %s", machine, err, out)
			}
		})
	}
	config := func(more string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_ovn" "lab" {
  central  = [%[1]q]
  datapath = "userspace"
  chassis = {
    hv1 = { endpoint = %[1]q, tunnel_ip = "172.16.0.11" }
    hv2 = { endpoint = %[2]q, tunnel_ip = "172.16.0.12" }
  }%s
}
`, acctest.Endpoint("hv-1"), acctest.Endpoint("hv-2"), more)
	}
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Write(config("\n  install_packages = false"))
	s.Refused([]string{"Programs of OVN are missing", `not installed on root@10.0.100.11: `, `run "apt-get install ovn-central openvswitch-switch ovn-host" there`,
		`not installed on root@10.0.100.12: openvswitch, ovn-host; run "apt-get install openvswitch-switch ovn-host" there, or set install_packages = true`}, "plan")
	for _, machine := range machines {
		acctest.On(t, machine, "sh", "-c", "! [ -e /var/lib/virtcluster ]")
	}

	// A source of packages that is gone.
	acctest.On(t, "hv-2", "mv", "/srv/debs", "/srv/away")
	s.Write(config(""))
	s.Refused([]string{"apt-get install openvswitch-switch", "has no installation candidate"}, "apply", "-auto-approve")
	acctest.On(t, "hv-2", "mv", "/srv/away", "/srv/debs")
	s.Run("apply", "-auto-approve")
	s.Settled()

	leaves := func() {
		t.Helper()
		s.Run("destroy", "-auto-approve")
		for _, machine := range machines {
			acctest.On(t, machine, "sh", "-c", "command -v ovn-controller && command -v ovs-vsctl")
			check := func(when string) {
				t.Helper()
				want := `ovn-central disabled inactive
ovn-host disabled inactive
openvswitch-switch disabled inactive
ovn-northd inactive
ovn-ovsdb-server-nb inactive
ovn-ovsdb-server-sb inactive
ovn-controller inactive
ovs-vswitchd inactive
ovsdb-server inactive`
				look := func() string {
					out, _ := acctest.Try(context.Background(), machine, "sh", "-c", "("+lookAtUnits+") 2>/dev/null")
					return out
				}
				if machine == "hv-2" {
					want = strings.NewReplacer("ovn-central disabled", "ovn-central ").Replace(want)
				}
				for end := time.Now().Add(10 * time.Second); look() != want && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				}
				if got := look(); got != want {
					t.Errorf("%s, %s has\n%s\nand not\n%s", when, machine, got, want)
				}
			}
			check("after the destroy")
			acctest.Reboot(t, machine)
			check("after a start")
		}
	}
	leaves()

	for _, moment := range []struct{ name, seen, kill string }{
		{"apt begins", "pgrep -x apt-get", ":"},
		{"programs are unpacked", "[ -e /usr/share/openvswitch/scripts/ovs-ctl ]", ":"},
		{"dpkg is killed as programs are unpacked", "[ -e /usr/share/openvswitch/scripts/ovs-ctl ]", "pkill -KILL -x apt-get; pkill -KILL -x dpkg"},
		{"databases begin", "[ -e /var/lib/ovn/ovnnb_db.db ]", ":"},
		{"dpkg is killed as databases begin", "[ -e /var/lib/ovn/ovnnb_db.db ]", "pkill -KILL -x apt-get; pkill -KILL -x dpkg"},
	} {
		t.Run(moment.name, func(t *testing.T) {
			s := s.For(t)
			for _, machine := range machines {
				acctest.On(t, machine, "sh", "-c", purgeOVN)
			}
			s.Write(config(""))
			c := s.Start("apply", "-auto-approve")
			acctest.On(t, "hv-1", "timeout", "60", "sh", "-c", "until "+moment.seen+" >/dev/null; do sleep 0.02; done; "+moment.kill)
			if pid := acctest.FindProvider(c.Process.Pid); pid == 0 || syscall.Kill(pid, syscall.SIGKILL) != nil {
				t.Error("the provider was gone already")
			}
			t.Logf("the apply says %v", c.Wait())
			s.Run("apply", "-auto-approve")
			s.Settled()
			s.Run("destroy", "-auto-approve")
		})
	}
	acctest.On(t, "hv-1", "sh", "-c", purgeOVN)
	s.Write(config(""))
	s.Run("apply", "-auto-approve")
	s.Settled()
	leaves()
}
