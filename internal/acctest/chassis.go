package acctest

import (
	"context"
	"os"
	"strings"
	"testing"
)

// chassisScript makes a machine a chassis of OVN whose southbound database is at an address, which the arguments name, after its own on the
// underlay.
const chassisScript = `set -e
systemctl start openvswitch-switch
until ip -4 -o addr show br-phy 2>/dev/null | grep -q "$1/"; do sleep 0.2; done
ovs-vsctl set Open_vSwitch . external_ids:ovn-remote="tcp:$2:6642" external_ids:ovn-encap-type=geneve external_ids:ovn-encap-ip="$1" \
	external_ids:ovn-bridge-datapath-type=netdev
systemctl start ovn-host
until ovn-appctl -t ovn-controller connection-status 2>/dev/null | grep -qx connected; do sleep 0.2; done`

// centralUnits are the units of the databases. Each is named where they are stopped: systemctl does not wait for those that go with another one.
const centralUnits = "ovn-central ovn-northd ovn-ovsdb-server-nb ovn-ovsdb-server-sb"

// StartOVNCentral has a further hypervisor run OVN's databases, new ones, until the test ends.
func StartOVNCentral(t *testing.T, machine string) {
	t.Helper()
	t.Cleanup(func() {
		onAfterTest(t, machine, "systemctl stop "+centralUnits+"; rm -f /var/lib/ovn/*.db /var/lib/ovn/.*.~lock~")
	})
	On(t, machine, "sh", "-ec", "systemctl start ovn-central; until ovn-nbctl --timeout=5 init && ovn-sbctl --timeout=5 init; do sleep 0.2; done")
}

// Northbound returns how a machine's northbound database is asked, and changed, by ovn-nbctl, as a person does; a command that fails ends the test.
func Northbound(t *testing.T, machine string) func(argv ...string) string {
	return func(argv ...string) string {
		t.Helper()
		return On(t, machine, append([]string{"ovn-nbctl", "--timeout=20"}, argv...)...)
	}
}

// StopOVNCentral has a machine end OVN's databases, which keep what they hold.
func StopOVNCentral(t *testing.T, machine string) {
	t.Helper()
	On(t, machine, "sh", "-c", "systemctl stop "+centralUnits)
}

// RestartOVNCentral has a machine end and begin OVN's databases, and returns when they answer anew. One after the other: of a restart of units that
// go with each other, one of them has been seen to stay away.
func RestartOVNCentral(t *testing.T, machine string) {
	t.Helper()
	On(t, machine, "sh", "-ec", "systemctl stop "+centralUnits+"; systemctl start "+centralUnits+"; until ovn-nbctl --timeout=5 init && ovn-sbctl --timeout=5 init; do sleep 0.2; done")
}

// stopSwitch has a machine end Open vSwitch and what follows OVN there, and forget what these had.
const stopSwitch = "systemctl stop ovn-host ovn-controller; systemctl stop openvswitch-switch ovs-vswitchd ovsdb-server; " +
	"rm -f /var/lib/openvswitch/conf.db /etc/openvswitch/conf.db /etc/openvswitch/system-id.conf"

// StartSwitch has a further hypervisor run Open vSwitch until the test ends, which forgets then what it had.
func StartSwitch(t *testing.T, machine string) {
	t.Helper()
	t.Cleanup(func() { onAfterTest(t, machine, stopSwitch) })
	On(t, machine, "systemctl", "start", "openvswitch-switch")
}

// StartOVN has n of the sandbox's further hypervisors be chassis of OVN, the first of them with its databases, until the test ends. It returns
// their names.
func StartOVN(t *testing.T, n int) (machines []string) {
	t.Helper()
	machines = Hypervisors(t, n)
	StartOVNCentral(t, machines[0])
	On(t, machines[0], "ovn-sbctl", "set-connection", "ptcp:6642:0.0.0.0")
	t.Cleanup(func() {
		for _, machine := range machines {
			// In this order: a controller that runs makes the bridge anew, and its device outlives the switch.
			onAfterTest(t, machine, "systemctl stop ovn-host ovn-controller; ovs-vsctl --timeout=10 --if-exists del-br br-int; "+stopSwitch)
		}
	})
	for _, machine := range machines {
		if out, err := Try(t.Context(), machine, "sh", "-c", chassisScript, "sh", underlayAddress(machine), underlayAddress(machines[0])); err != nil {
			said, _ := Try(t.Context(), machine, "journalctl", "--no-pager", "-n", "60", "-o", "short-precise")
			t.Fatalf("%s does not become a chassis: %v: %s\n%s", machine, err, out, said)
		}
	}
	return machines
}

// onAfterTest runs a script on a machine when a test is over, whose context has ended then. What fails is said: it fails the tests that follow.
func onAfterTest(t *testing.T, machine, script string) {
	if out, err := Try(context.WithoutCancel(t.Context()), machine, "sh", "-c", script); err != nil {
		t.Errorf("clean up %s: %v\n%s", machine, err, out)
	}
}

// underlayAddress is the address of a further hypervisor where the others reach it.
func underlayAddress(machine string) string { return "172.16.0.1" + strings.TrimPrefix(machine, "hv-") }

// HypervisorURI is the URI of a further hypervisor.
func HypervisorURI(machine string) string {
	return strings.Fields(os.Getenv("SANDBOX_HYPERVISORS"))[strings.TrimPrefix(machine, "hv-")[0]-'1']
}
