package ovnrouter_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// overThree is OVN whose databases are on the second hypervisor, with these as chassis, a network and a router that leads out by them in this order.
func overThree(machines ...string) string {
	var chassis, ids []string
	for _, m := range machines {
		n := strings.TrimPrefix(m, "hv-")
		chassis = append(chassis, fmt.Sprintf("hv%s = { endpoint = %q, tunnel_ip = \"172.16.0.1%s\", bridge_mappings = { lan = \"br-ex\" } }", n, acctest.Endpoint(m), n))
		ids = append(ids, fmt.Sprintf("virtcluster_ovn.lab.chassis[\"hv%s\"].id", n))
	}
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_ovn" "lab" {
  central      = [%q]
  datapath     = "userspace"
  underlay_mtu = 1500
  chassis      = { %s }
}
resource "virtcluster_ovn_network" "nodes" {
  ovn     = virtcluster_ovn.lab.id
  name    = "nodes"
  cidr    = "10.50.0.0/24"
  gateway = "10.50.0.1"
}
resource "virtcluster_ovn_router" "lab" {
  ovn      = virtcluster_ovn.lab.id
  name     = "lab"
  networks = [virtcluster_ovn_network.nodes.name]
  snat     = true
  external = {
    bridge_mapping = "lan"
    address        = "10.19.41.200/24"
    gateway        = "10.19.41.254"
    chassis        = [%s]
  }
}
`, acctest.Endpoint("hv-2"), strings.Join(chassis, ", "), strings.Join(ids, ", "))
}

var received = regexp.MustCompile(`(\d+) packets transmitted, (\d+) received`)

// A chassis that goes hands over what leads out by it before it does, is refused while it has guests, and is as it was before; it comes back in place.
func TestAccOVNChassisIsDrained(t *testing.T) {
	acctest.InSandbox(t)
	onLAN(t, 3)
	const settings = "ovs-vsctl get Open_vSwitch . external_ids; for unit in ovn-host ovn-controller; do systemctl is-enabled $unit; systemctl is-active $unit; done; ovs-vsctl list-br; ovs-vsctl list-ports br-ex; ls /var/lib/virtcluster 2>/dev/null || :"
	acctest.On(t, "hv-1", "systemctl", "start", "ovs-record-hostname") // the package's own unit, which goes with openvswitch-switch where that is enabled
	// What a person has set before, and nothing follows by yet.
	acctest.On(t, "hv-1", "ovs-vsctl", "set", "Open_vSwitch", ".", "external_ids:ovn-bridge-mappings=other:br-ex", "external_ids:ovn-encap-type=vxlan")
	before := acctest.On(t, "hv-1", "sh", "-c", settings)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	nb := acctest.Northbound(t, "hv-2")
	leadsOut := func() string {
		id, _ := acctest.Try(context.Background(), "hv-2", "ovn-sbctl", "--timeout=5", "--bare", "--columns=chassis", "find", "Port_Binding", "type=chassisredirect")
		name, _ := acctest.Try(context.Background(), "hv-2", "ovn-sbctl", "--timeout=5", "--bare", "--columns=name", "list", "Chassis", strings.TrimSpace(id))
		return strings.TrimSpace(name)
	}
	idOf := func(machine string) string {
		return strings.Trim(strings.TrimSpace(acctest.On(t, machine, "ovs-vsctl", "get", "Open_vSwitch", ".", "external_ids:system-id")), `"`)
	}
	all := overThree("hv-1", "hv-2", "hv-3")
	s.Apply(all)
	s.Settled()
	nb("lsp-add", "nodes", "g1", "--", "lsp-set-addresses", "g1", "02:00:00:00:00:11 10.50.0.11", "--", "lsp-add", "nodes", "g2", "--", "lsp-set-addresses", "g2", "02:00:00:00:00:12 10.50.0.12")
	acctest.StartOVNGuest(t, "hv-1", "g1", "02:00:00:00:00:11", "10.50.0.11", "10.50.0.1")
	acctest.StartOVNGuest(t, "hv-3", "g2", "02:00:00:00:00:12", "10.50.0.12", "10.50.0.1")
	nb("--wait=hv", "sync")
	if err := reaches("hv-3", "g2", "10.19.41.50", true); err != nil {
		t.Fatal(err)
	}
	first := idOf("hv-1")
	if got := leadsOut(); got != first {
		t.Fatalf("chassis %s leads out, not %s", got, first)
	}

	s.Write(overThree("hv-2", "hv-3"))
	s.Refused([]string{`chassis "hv1" has guests on these ports: g1 of network "nodes"`}, "apply", "-auto-approve")
	if got := leadsOut(); got != first {
		t.Errorf("chassis %s leads out after a refusal, not %s", got, first)
	}
	// The guest leaves while the apply waits.
	acctest.On(t, "hv-3", "systemd-run", "--quiet", "--collect", "--unit=pings", "sh", "-c", "exec ip netns exec g2 ping -q -i 0.05 10.19.41.50 >/run/pings")
	c := s.Start("apply", "-auto-approve")
	time.Sleep(3 * time.Second)
	acctest.StopOVNGuest("hv-1", "g1")
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %s", err, c.Out.String())
	}
	acctest.On(t, "hv-3", "systemctl", "kill", "--signal=INT", "pings")
	time.Sleep(500 * time.Millisecond)
	said := acctest.On(t, "hv-3", "cat", "/run/pings")
	if m := received.FindStringSubmatch(said); m == nil {
		t.Errorf("ping said %s", said)
	} else if sent, _ := strconv.Atoi(m[1]); true {
		got, _ := strconv.Atoi(m[2])
		t.Logf("%d of %d pings lost, 0.05 s apart, while the way out was handed over", sent-got, sent)
		if sent-got > 20 {
			t.Errorf("the way out was away for more than a second: %s", said)
		}
	}
	s.Settled()
	if got := leadsOut(); got != idOf("hv-2") {
		t.Errorf("chassis %s leads out", got)
	}
	rows := acctest.On(t, "hv-2", "sh", "-c", "for table in Chassis Chassis_Private; do ovn-sbctl --timeout=10 --bare --columns=name list $table; done; ovn-sbctl --bare --columns=ip list Encap; ovn-nbctl --bare --columns=chassis_name list HA_Chassis")
	if strings.Contains(rows, first) || strings.Contains(rows, "172.16.0.11") {
		t.Errorf("the databases still have the chassis %s: %s", first, rows)
	}
	acctest.Eventually(t, "hv-1 is as before", func() bool { return acctest.On(t, "hv-1", "sh", "-c", settings) == before })

	// It comes back.
	s.Apply(all)
	s.Settled()
	acctest.Eventually(t, "hv-1 leads out again", func() bool { return leadsOut() == first })
	if err := reaches("hv-3", "g2", "10.19.41.50", true); err != nil {
		t.Error(err)
	}

	// The only way out does not go, and neither does one of somebody else's.
	s.Write(strings.Replace(all, `[virtcluster_ovn.lab.chassis["hv1"].id, virtcluster_ovn.lab.chassis["hv2"].id, virtcluster_ovn.lab.chassis["hv3"].id]`, `[virtcluster_ovn.lab.chassis["hv1"].id]`, 1))
	s.Run("apply", "-auto-approve")
	s.Write(overThree("hv-2", "hv-3"))
	s.Refused([]string{`router "lab" leads out by this chassis alone`}, "apply", "-auto-approve")
	s.Write(all)
	s.Run("apply", "-auto-approve")
	nb("ha-chassis-group-add", "persons", "--", "ha-chassis-group-add-chassis", "persons", first, "5")
	s.Write(overThree("hv-2", "hv-3"))
	s.Refused([]string{`the group "persons" of chassis, which is somebody else's`}, "apply", "-auto-approve")
	nb("ha-chassis-group-del", "persons")
	s.Write(all)
	acctest.StopOVNGuest("hv-3", "g2")
	nb("lsp-del", "g1", "--", "lsp-del", "g2")
	s.Run("destroy", "-auto-approve")
	acctest.Eventually(t, "hv-1 is as before", func() bool { return acctest.On(t, "hv-1", "sh", "-c", settings) == before })
}
