package ovn_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// startGuests has a guest run on each of two chassis, on network "nodes" of OVN, until it is stopped, or the test ends.
func startGuests(t *testing.T) (stop func()) {
	t.Helper()
	machines := map[string]string{"1": "hv-1", "2": "hv-2"}
	stop = func() {
		for n, m := range machines {
			acctest.StopOVNGuest(m, "g"+n)
			_, _ = acctest.Try(context.Background(), "hv-1", "ovn-nbctl", "--no-leader-only", "--timeout=20", "--if-exists", "lsp-del", "g"+n)
		}
	}
	t.Cleanup(stop)
	for n, m := range machines {
		acctest.On(t, "hv-1", "ovn-nbctl", "lsp-add", "nodes", "g"+n, "--", "lsp-set-addresses", "g"+n, "02:00:00:00:00:1"+n+" 10.50.0.1"+n)
		acctest.StartOVNGuest(t, m, "g"+n, "02:00:00:00:00:1"+n, "10.50.0.1"+n, "")
	}
	acctest.On(t, "hv-1", "ovn-nbctl", "--timeout=20", "--wait=hv", "sync")
	if err := reaches("10.50.0.12"); err != nil {
		t.Fatal(err)
	}
	return stop
}

// A change beside a chassis that is dead is made, does not wait long for that one, and names it: `--wait=hv` would wait for ever. It has the change
// once it lives.
func TestAccOVNChangeBesideADeadChassis(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	both := config(chassis("hv-1", "hv-2"))
	s.Apply(both + leases(600))
	// One that is stopped takes itself out of the databases.
	acctest.On(t, "hv-2", "sh", "-ec", "systemctl mask --runtime --quiet ovn-controller; systemctl kill --signal=KILL ovn-controller")
	unmask := func() {
		_, _ = acctest.Try(context.Background(), "hv-2", "systemctl", "unmask", "--runtime", "--quiet", "ovn-controller")
	}
	t.Cleanup(unmask)
	s.Write(both + leases(700))
	began := time.Now()
	out := strings.Join(strings.Fields(s.Run("apply", "-auto-approve", "-refresh=false")), " ") // a refresh would start it; lines break anywhere
	t.Logf("an apply beside a dead chassis took %s", time.Since(began))
	for _, want := range []string{"Not all chassis follow", "hv-2 ("} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "hv-1 (") || time.Since(began) > time.Minute {
		t.Errorf("after %s: one that lives is named, or it was waited for long:\n%s", time.Since(began), out)
	}
	if told := acctest.On(t, "hv-1", "ovn-nbctl", "--bare", "--columns=options", "list", "DHCP_Options"); !strings.Contains(told, "lease_time=700") {
		t.Errorf("the database has %s", told)
	}
	unmask()
	s.Run("apply", "-auto-approve")
	s.Settled()
	acctest.On(t, "hv-1", "ovn-nbctl", "--timeout=20", "--wait=hv", "sync")
}

// A machine that was lost and is installed anew has its chassis again, at the tunnel address that the dead one has in the southbound database.
func TestAccOVNChassisIsInstalledAnew(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	both := config(chassis("hv-1", "hv-2"))
	s.Apply(both)
	id := strings.TrimSpace(acctest.On(t, "hv-2", "cat", "/etc/openvswitch/system-id.conf"))
	call := func(id string) {
		// One that is killed leaves its rows, as a machine that is lost does.
		acctest.On(t, "hv-2", "sh", "-ec", `systemctl kill --signal=KILL ovn-controller; systemctl stop ovn-controller
ovs-vsctl --if-exists del-br br-int -- clear Open_vSwitch . external_ids -- set Open_vSwitch . external_ids:system-id="$1"; echo "$1" >/etc/openvswitch/system-id.conf`, "sh", id)
	}
	call("installed-anew")
	s.Run("apply", "-auto-approve")
	s.Settled()
	if names := acctest.On(t, "hv-1", "ovn-sbctl", "--timeout=10", "--bare", "--columns=name", "list", "Chassis"); !strings.Contains(names, "installed-anew") || strings.Contains(names, id) {
		t.Errorf("chassis are %q", names)
	}
	call(id)
	s.Run("apply", "-auto-approve")
}

// Databases that are started anew, be they killed, leave what guests send alone, and a machine that is rebooted has them again by itself.
func TestAccOVNDatabasesAreRestartedUnderTraffic(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(config(chassis("hv-1", "hv-2")) + leases(600))
	startGuests(t)
	for name, restart := range map[string]func(){
		"stopped and started": func() { acctest.RestartOVNCentral(t, "hv-1") },
		"killed": func() {
			acctest.On(t, "hv-1", "sh", "-ec", "systemctl kill --signal=KILL ovn-ovsdb-server-nb ovn-ovsdb-server-sb ovn-northd; sleep 3; systemctl reset-failed 'ovn-*'; systemctl start ovn-ovsdb-server-nb ovn-ovsdb-server-sb ovn-northd")
		},
	} {
		t.Run(name, func(t *testing.T) {
			count := pings(t)
			restart()
			acctest.On(t, "hv-1", "ovn-nbctl", "--timeout=60", "--wait=hv", "sync")
			if err := count(); err != nil {
				t.Error(err)
			}
			settles(t, s)
		})
	}
	acctest.Reboot(t, "hv-1")
	settles(t, s)
	acctest.StartOVNGuest(t, "hv-1", "g1", "02:00:00:00:00:11", "10.50.0.11", "")
	if err := reaches("10.50.0.12"); err != nil {
		t.Errorf("after a reboot: %v", err)
	}
}

// settles waits until everything is as it is to be again, by itself.
func settles(t *testing.T, s *acctest.State) {
	t.Helper()
	acctest.Eventually(t, "everything is as it is to be", func() bool {
		_, err := s.Try("plan", "-detailed-exitcode")
		return err == nil
	})
}

// A setting of encapsulation that one host lacks, whose ovn-controller has begun anew without it, shows and is put back: guests reach each other again.
func TestAccOVNEncapsulationIsMissingOnOneHost(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(config(chassis("hv-1", "hv-2")) + leases(600))
	startGuests(t)
	for key, shown := range map[string]string{"ovn-encap-ip": "tunnel_ip", "ovn-encap-type": "serving"} {
		t.Run(key, func(t *testing.T) {
			acctest.On(t, "hv-2", "sh", "-ec", `ovs-vsctl remove Open_vSwitch . external_ids "$1"; systemctl restart ovn-controller`, "sh", key)
			acctest.Eventually(t, "hv-2 is no chassis without it", func() bool {
				return len(strings.Fields(acctest.On(t, "hv-1", "ovn-sbctl", "--timeout=10", "--bare", "--columns=ip", "list", "Encap"))) == 1
			})
			if plan, err := s.Try("plan", "-detailed-exitcode"); err == nil || !strings.Contains(plan, shown) {
				t.Errorf("%s does not show: %v\n%s", shown, err, plan)
			}
			s.Run("apply", "-auto-approve")
			s.Settled()
			if err := reaches("10.50.0.12"); err != nil {
				t.Error(err)
			}
		})
	}
}

// reaches waits until the guest of hv-1 reaches an address.
func reaches(address string) (err error) {
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); {
		if _, err = acctest.Try(context.Background(), "hv-1", "ip", "netns", "exec", "g1", "ping", "-q", "-c1", "-W1", address); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the guest of hv-1 does not reach %s: %w", address, err)
}
