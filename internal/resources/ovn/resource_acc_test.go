package ovn_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const name = "virtcluster_ovn.test"

// chassis are hypervisors of the sandbox as chassis: "hv-1" is hv1 there.
func chassis(machines ...string) string {
	var all []string
	for _, m := range machines {
		all = append(all, fmt.Sprintf("%s = { endpoint = %q, tunnel_ip = \"172.16.0.1%s\" }", strings.ReplaceAll(m, "-", ""), acctest.Endpoint(m), strings.TrimPrefix(m, "hv-")))
	}
	return "chassis = { " + strings.Join(all, ", ") + " }"
}

func config(extra string) string {
	return fmt.Sprintf("%s\nresource \"virtcluster_ovn\" \"test\" {\n  central  = [%q]\n  datapath = \"userspace\"\n  %s\n}\n", acctest.Provider(), acctest.Endpoint("hv-1"), extra)
}

// network is one with a port for each of two machines.
const network = `
resource "virtcluster_ovn_network" "nodes" {
  ovn  = virtcluster_ovn.test.id
  name = "nodes"
  cidr = "10.50.0.0/24"
}
`

// lookAtMachine prints what a machine has of OVN.
const lookAtMachine = `for unit in openvswitch-switch ovs-vswitchd ovsdb-server ovn-central ovn-northd ovn-ovsdb-server-nb ovn-host ovn-controller; do
  echo "$unit $(systemctl is-enabled $unit) $(systemctl is-active $unit)"
done
ls -A /var/lib/ovn; ls /var/lib/virtcluster 2>/dev/null; ip -o -4 addr | awk '{ print $2, $4 }' | sort; ip -o link | sed 's/^[0-9]*: \([^:@]*\).*/\1/' | sort`

func look(t *testing.T, machine string) string {
	return acctest.On(t, machine, "sh", "-c", lookAtMachine)
}

// becomesAgain waits until a machine has what it had before, as a script prints it; what is different is said of a machine that does not.
func becomesAgain(t *testing.T, machine, before, script string) {
	t.Helper()
	var now string
	t.Cleanup(func() {
		if now != before {
			t.Errorf("%s has\n%s\nand had before\n%s", machine, now, before)
		}
	})
	acctest.Eventually(t, machine+" is as before", func() bool {
		now = acctest.On(t, machine, "sh", "-c", script)
		return now == before
	})
}

// removeDeadSwitch removes what a switch of userspace leaves on machines that was killed in another test: its device, which goes with the next one.
func removeDeadSwitch(t *testing.T, machines ...string) {
	t.Helper()
	for _, m := range machines {
		acctest.On(t, m, "sh", "-c", "systemctl is-active --quiet ovs-vswitchd || ! ip link show ovs-netdev >/dev/null 2>&1 || ip link delete ovs-netdev")
	}
}

func TestAccOVNLife(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	removeDeadSwitch(t, "hv-1", "hv-2")
	before := map[string]string{"hv-1": look(t, "hv-1"), "hv-2": look(t, "hv-2")}
	asBefore := func(machines ...string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			for _, m := range machines {
				// The units that openvswitch-switch.service has stopped end a moment after it.
				after := look(t, m)
				for end := time.Now().Add(5 * time.Second); after != before[m] && time.Now().Before(end); after = look(t, m) {
					time.Sleep(100 * time.Millisecond)
				}
				if after != before[m] {
					return fmt.Errorf("left on %s:\n%s\nbefore:\n%s", m, after, before[m])
				}
			}
			return nil
		}
	}
	follow := func(addresses ...string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			out := acctest.On(t, "hv-1", "ovn-sbctl", "--timeout=10", "--bare", "--columns=ip", "list", "Encap")
			if got := strings.Fields(out); len(got) != len(addresses) || !strings.Contains(out, addresses[len(addresses)-1]) {
				return fmt.Errorf("chassis at %v, want %v", got, addresses)
			}
			return nil
		}
	}
	ping := func(*terraform.State) error {
		out, err := acctest.Try(context.Background(), "hv-1", "ip", "netns", "exec", "g1", "ping", "-c", "20", "-i", "0.2", "-W", "1", "-M", "do", "-s", "1414", "10.50.0.12")
		if err != nil || !strings.Contains(out, "64 bytes") && !strings.Contains(out, "1422 bytes") {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	version := strings.Fields(acctest.On(t, "hv-1", "ovn-nbctl", "--version"))[1]
	both := config(chassis("hv-1", "hv-2")) + network
	var serials []string
	var count func() error
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy:             asBefore("hv-1", "hv-2"),
		Steps: []resource.TestStep{
			{Config: config(chassis("hv-1")), Check: resource.ComposeTestCheckFunc(follow("172.16.0.11"), resource.TestCheckResourceAttr(name, "southbound", "ssl:10.0.100.11:6642"),
				resource.TestCheckResourceAttr(name, "northbound", "ssh://root@10.0.100.11/run/ovn/ovnnb_db.sock"),
				resource.TestCheckResourceAttr(name, "mtu", "8942"), resource.TestCheckResourceAttr(name, "versions.ovn", version), asBefore("hv-2"))},
			{Config: config(chassis("hv-1", "hv-2") + "\n  underlay_mtu = 1500"), Check: resource.ComposeTestCheckFunc(follow("172.16.0.11", "172.16.0.12"), resource.TestCheckResourceAttr(name, "mtu", "1442"))},
			{Config: both, Check: resource.TestCheckResourceAttr("virtcluster_ovn_network.nodes", "mtu", "1442")},
			{ResourceName: name, ImportState: true, ImportStateVerify: true},
			{ // one apply changes what fits into the tunnels, and the network with it
				Config: config(chassis("hv-1", "hv-2")+"\n  underlay_mtu = 1400") + network,
				Check:  resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr(name, "mtu", "1342"), resource.TestCheckResourceAttr("virtcluster_ovn_network.nodes", "mtu", "1342")),
			},
			{Config: config(chassis("hv-1", "hv-2")+"\n  underlay_mtu = 1500") + network, Check: resource.TestCheckResourceAttr("virtcluster_ovn_network.nodes", "mtu", "1442")},
			{ // guests on both reach each other
				PreConfig: func() {
					for n, m := range map[string]string{"1": "hv-1", "2": "hv-2"} {
						acctest.On(t, "hv-1", "ovn-nbctl", "lsp-add", "nodes", "g"+n, "--", "lsp-set-addresses", "g"+n, "02:00:00:00:00:1"+n+" 10.50.0.1"+n)
						acctest.StartOVNGuest(t, m, "g"+n, "02:00:00:00:00:1"+n, "10.50.0.1"+n, "")
					}
					acctest.On(t, "hv-1", "ovn-nbctl", "--timeout=20", "--wait=hv", "sync")
				},
				Config: both, Check: ping,
			},
			{ // nobody proves anything to anybody any more, and does again, and what guests send goes on
				PreConfig: func() { count = pings(t) },
				Config:    config(chassis("hv-1", "hv-2")+"\n  tls = false") + network, Check: resource.TestCheckResourceAttr(name, "southbound", "tcp:10.0.100.11:6642"),
			},
			{
				Config: both,
				Check:  resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr(name, "southbound", "ssl:10.0.100.11:6642"), ping, func(*terraform.State) error { return count() }),
			},
			{ // what a person changes shows, and is mended
				PreConfig: func() {
					acctest.On(t, "hv-2", "ovs-vsctl", "set", "Open_vSwitch", ".", "external_ids:ovn-encap-ip=172.16.0.99")
				},
				RefreshState: true, ExpectNonEmptyPlan: true, Check: resource.TestCheckResourceAttr(name, "chassis.hv2.tunnel_ip", "172.16.0.99"),
			},
			{Config: both, Check: resource.ComposeTestCheckFunc(follow("172.16.0.11", "172.16.0.12"), ping)},
			{
				PreConfig:    func() { acctest.On(t, "hv-2", "systemctl", "stop", "ovn-controller") },
				RefreshState: true, ExpectNonEmptyPlan: true, Check: resource.TestCheckResourceAttr(name, "serving", "false"),
			},
			{Config: both, Check: resource.ComposeTestCheckFunc(follow("172.16.0.11", "172.16.0.12"), ping, resource.TestCheckResourceAttr(name, "serving", "true"))},
			{PreConfig: func() { acctest.On(t, "hv-1", "systemctl", "stop", "ovn-central") }, Config: both, Check: ping},
			{ // a chassis changes its own rows, and no other's
				PreConfig: func() {
					if out, err := asChassis(t, "hv-2", "hv-2", "other_config:test=own"); err != nil {
						t.Errorf("hv-2 cannot change its own row: %v: %s", err, out)
					}
					if out, err := asChassis(t, "hv-2", "hv-1", "hostname=taken"); err == nil || !strings.Contains(out, "RBAC") {
						t.Errorf("hv-2 changed the row of hv-1: %v: %s", err, out)
					}
					asChassis(t, "hv-2", "hv-2", "other_config:test=")
				},
				Config: both, PlanOnly: true,
			},
			{ // certificates are renewed in place, and nothing is lost meanwhile
				PreConfig: func() { serials, count = certificates(t), pings(t) },
				Config:    config(chassis("hv-1", "hv-2")+"\n  certificates = { valid_for = \"20s\", renew_before = \"8s\" }") + network,
				Check: func(*terraform.State) error {
					if now := certificates(t); now[0] == serials[0] || now[1] == serials[1] || now[2] == serials[2] {
						return fmt.Errorf("certificates were %q and are %q", serials, now)
					}
					return count()
				},
			},
			{ // one that is due shows, and one that has ended is renewed too
				PreConfig: func() { time.Sleep(14 * time.Second) }, RefreshState: true, ExpectNonEmptyPlan: true, Check: resource.TestCheckResourceAttr(name, "serving", "false"),
			},
			{
				PreConfig: func() {
					time.Sleep(8 * time.Second)
					acctest.RestartOVNCentral(t, "hv-1")
				},
				Config: both, Check: resource.ComposeTestCheckFunc(follow("172.16.0.11", "172.16.0.12"), ping, resource.TestCheckResourceAttr(name, "serving", "true")),
			},
			{ // its machines are taken off first
				PreConfig: func() {
					for n, m := range map[string]string{"1": "hv-1", "2": "hv-2"} {
						acctest.StopOVNGuest(m, "g"+n)
						acctest.On(t, "hv-1", "ovn-nbctl", "lsp-del", "g"+n)
					}
				},
				Config: config(chassis("hv-1")) + network, Check: resource.ComposeTestCheckFunc(follow("172.16.0.11"), asBefore("hv-2")),
			},
		},
	})
}

// asChassis has a machine set a column of another one's chassis in the southbound database, by its own certificate.
func asChassis(t *testing.T, machine, whose, set string) (string, error) {
	t.Helper()
	id := strings.TrimSpace(acctest.On(t, whose, "ovs-vsctl", "get", "Open_vSwitch", ".", "external_ids:system-id"))
	const keys = "/var/lib/virtcluster/ovn/chassis"
	return acctest.Try(context.Background(), machine, "ovn-sbctl", "--timeout=10", "--db=ssl:10.0.100.11:6642", "-p", keys+"-key.pem", "-c", keys+".pem", "-C", keys+"-authority.pem",
		"set", "Chassis", strings.Trim(id, `"`), set)
}

// certificates are the serial numbers of the databases' certificate and of both chassis'.
func certificates(t *testing.T) (serials []string) {
	t.Helper()
	for _, c := range [][2]string{{"hv-1", "central"}, {"hv-1", "chassis"}, {"hv-2", "chassis"}} {
		serials = append(serials, acctest.On(t, c[0], "openssl", "x509", "-noout", "-serial", "-in", "/var/lib/virtcluster/ovn/"+c[1]+".pem"))
	}
	return serials
}

// pings begins to ping from a guest of hv-1 to one of hv-2, and returns how to end it: a packet that was lost is an error.
func pings(t *testing.T) func() error {
	t.Helper()
	acctest.On(t, "hv-1", "systemd-run", "--quiet", "--collect", "--unit=pings", "sh", "-c", "exec ip netns exec g1 ping -q -i 0.05 10.50.0.12 >/run/pings")
	return func() error {
		acctest.On(t, "hv-1", "systemctl", "kill", "--signal=INT", "pings")
		time.Sleep(500 * time.Millisecond)
		if out := acctest.On(t, "hv-1", "cat", "/run/pings"); !strings.Contains(out, " 0% packet loss") {
			return fmt.Errorf("packets were lost: %s", out)
		}
		return nil
	}
}

func TestAccOVNBadInput(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	var steps []resource.TestStep
	for extra, want := range map[string]string{
		`chassis = { hv1 = { endpoint = "ssh://root@10.0.100.11", tunnel_ip = "172.16.0.77" } }`: "No such address",
		chassis("hv-1") + "\n underlay_mtu = 9001":                                               "MTU of the underlay too large",
		`chassis = { hv1 = { endpoint = "ssh://root@10.0.100.11", tunnel_ip = "172.16.0.11" }, hv2 = { endpoint = "ssh://root@10.0.100.11", tunnel_ip = "172.16.0.12" } }`: "One machine twice",
		`chassis = { hv1 = { endpoint = "ssh://root@10.0.100.11", tunnel_ip = "172.16.0.11", hypervisor = "nobody" } }`:                                                    "Unknown hypervisor",
		chassis("hv-1") + "\n underlay_mtu = 600": "634",
	} {
		steps = append(steps, resource.TestStep{Config: config(extra), PlanOnly: true, ExpectError: regexp.MustCompile(want)})
	}
	of := func(hypervisor string) string {
		return strings.Replace(config(fmt.Sprintf(`chassis = { hv1 = { endpoint = "ssh://root@10.0.100.11", tunnel_ip = "172.16.0.11", hypervisor = %q } }`, hypervisor)),
			"  ssh = {", "  hypervisors = { hv1 = { uri = \"qemu+ssh://root@10.0.100.11/system\" }, hv2 = { uri = \"qemu+ssh://root@10.0.100.12/system\" } }\n  ssh = {", 1)
	}
	steps = append(steps,
		resource.TestStep{Config: of("hv2"), PlanOnly: true, ExpectError: regexp.MustCompile(`Chassis of another machine[\s\S]*than\s+that\s+of\s+hypervisor\s+"hv2"`)},
		resource.TestStep{Config: of("hv1"), PlanOnly: true, ExpectNonEmptyPlan: true},
	)
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers, Steps: steps})
}

// A machine that follows a person's databases, and databases in which a person has something, are not taken.
func TestAccOVNOfOthers(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	acctest.StartSwitch(t, "hv-2")
	acctest.On(t, "hv-2", "ovs-vsctl", "set", "Open_vSwitch", ".", "external_ids:ovn-remote=tcp:192.0.2.1:6642")
	s := acctest.NewState(t)
	s.Write(config(chassis("hv-1", "hv-2")))
	s.Refused([]string{"tcp:192.0.2.1:6642", "did not write it"}, "apply", "-auto-approve")
	if remote := acctest.On(t, "hv-2", "ovs-vsctl", "get", "Open_vSwitch", ".", "external_ids:ovn-remote"); remote != `"tcp:192.0.2.1:6642"` {
		t.Errorf("it follows %s now", remote)
	}
	s.Run("destroy", "-auto-approve")

	// What a person has in the provider's databases keeps them, be it on no network.
	s.Apply(config(chassis("hv-1")))
	acctest.On(t, "hv-1", "ovn-nbctl", "pg-add", "persons")
	s.Refused([]string{`Port_Group "persons"`, "remove them first"}, "destroy", "-auto-approve")
	if shown := acctest.On(t, "hv-1", "ovn-nbctl", "--bare", "--columns=name", "list", "Port_Group"); !strings.Contains(shown, "persons") {
		t.Errorf("a person's port group is gone: %q", shown)
	}
	acctest.On(t, "hv-1", "ovn-nbctl", "pg-del", "persons")
	s.Run("destroy", "-auto-approve")

	acctest.StartOVNCentral(t, "hv-1")
	acctest.On(t, "hv-1", "ovn-nbctl", "pg-add", "persons")
	s.Write(config(chassis("hv-1")))
	s.Refused([]string{"did not write it"}, "apply", "-auto-approve")
	acctest.On(t, "hv-1", "ovn-nbctl", "pg-del", "persons")
	acctest.On(t, "hv-1", "ovn-nbctl", "ls-add", "persons")
	s.Refused([]string{"did not write it"}, "apply", "-auto-approve")
	acctest.StopOVNCentral(t, "hv-1")
	s.Refused([]string{"OVN_Northbound on", "does not run and has something in it", "systemctl start ovn-central"}, "apply", "-auto-approve")
	acctest.RestartOVNCentral(t, "hv-1")
	if shown := acctest.On(t, "hv-1", "ovn-nbctl", "ls-list"); !strings.Contains(shown, "persons") {
		t.Errorf("a person's network is gone: %q", shown)
	}
}

// A tunnel address that does not answer is an error at its attribute, and once it does, an apply goes on from there.
func TestAccOVNUnderlayIsSilent(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	up := func() { _, _ = acctest.Try(context.Background(), "hv-2", "ip", "link", "set", "eth2", "up") }
	acctest.On(t, "hv-2", "ip", "link", "set", "eth2", "down")
	t.Cleanup(up)
	s.Write(config(chassis("hv-1", "hv-2") + "\n  underlay_mtu = 1500"))
	s.Refused([]string{`chassis["hv1"].tunnel_ip`, `packets of 1500 bytes from chassis "hv1" (172.16.0.11) do not reach "hv2" (172.16.0.12), and small ones do not either`}, "apply", "-auto-approve")
	up()

	// The network between the machines carries less than their devices say.
	path := func(mtu string) {
		_, _ = acctest.Try(context.Background(), "lan", "ip", "link", "set", "hv2u", "mtu", mtu)
	}
	path("1400")
	t.Cleanup(func() { path("9000") })
	s.Refused([]string{`chassis["hv1"].tunnel_ip`, `do not reach "hv2" (172.16.0.12), and small ones do`, "write a smaller underlay_mtu"}, "apply", "-auto-approve")
	s.Apply(config(chassis("hv-1", "hv-2") + "\n  underlay_mtu = 1400"))
	path("9000")
	s.Apply(config(chassis("hv-1", "hv-2") + "\n  underlay_mtu = 1500"))
	s.Settled()
}
