package node_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const guarded = `
resource "virtcluster_network" "n" {
  name      = "nodespoof"
  bridge    = "nodespoof"
  mode      = "isolated"
  cidr      = "10.75.0.0/24"
  ipv6_cidr = "fd00:75::/64"
  dhcp      = {}
}
resource "virtcluster_node" "n" {
  name       = "acc"
  type       = "qemu"
  memory_mib = 64
  running    = false
  network_interfaces = [{
    network           = virtcluster_network.n.name
    mac               = "52:54:00:75:00:01"
    ip                = "10.75.0.9"
    ipv6              = "fd00:75::9"
    port_security     = true
    allowed_addresses = ["10.75.0.100"]
  }]
}
`

// guard puts the node's filter on a card of svc-1 with the node's MAC address. The machine itself stays off: its
// operating system would not send what it should not. What it returns undoes that: a filter in use cannot be removed.
func guard(t *testing.T) func() {
	t.Helper()
	here := func(argv ...string) { t.Helper(); acctest.On(t, "hypervisor", argv...) }
	here("ip", "link", "add", "accspoof", "type", "veth", "peer", "name", "accspoof0", "netns", "svc-1")
	here("ip", "link", "set", "accspoof", "master", "nodespoof", "up")
	acctest.On(t, "svc-1", "ip", "link", "set", "accspoof0", "address", "52:54:00:75:00:01", "addrgenmode", "eui64", "up")
	for _, a := range []string{"10.75.0.9/24", "10.75.0.10/24", "10.75.0.100/24", "fd00:75::9/64", "fd00:75::10/64", "fd00:75::5054:ff:fe75:1/64", "fe80::10/64"} {
		acctest.On(t, "svc-1", "ip", "addr", "replace", a, "dev", "accspoof0", "nodad")
	}
	here("sh", "-c", "until grep -q 3 /sys/class/net/accspoof/brport/state; do sleep 0.1; done")
	file := t.TempDir() + "/binding.xml"
	const binding = `<filterbinding><owner><name>acc</name><uuid>d54df46f-1ab5-4a22-8618-4560ef5fac2c</uuid></owner><portdev name='accspoof'/>
		<mac address='52:54:00:75:00:01'/><filterref filter='virtcluster-acc-525400750001'/></filterbinding>`
	if err := os.WriteFile(file, []byte(binding), 0o644); err != nil {
		t.Fatal(err)
	}
	virsh(t, "nwfilter-binding-create", file)
	return func() {
		virsh(t, "nwfilter-binding-delete", "accspoof")
		here("ip", "link", "del", "accspoof")
	}
}

func TestAccNodeSendsFromItsOwnAddressesAlone(t *testing.T) {
	acctest.InSandbox(t)
	_ = acctest.ServiceNodes(t, 1)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{{Config: acctest.Provider() + guarded, Check: func(*terraform.State) error {
			defer guard(t)()
			router := acctest.On(t, "hypervisor", "sh", "-c", "ip -6 -br addr show dev nodespoof scope link | grep -o 'fe80[^/]*'") + "%accspoof0"
			for _, c := range []struct {
				source, target string
				passes         bool
			}{
				{"10.75.0.9", "10.75.0.1", true},
				{"10.75.0.100", "10.75.0.1", true}, // allowed
				{"10.75.0.10", "10.75.0.1", false},
				{"fd00:75::9", "fd00:75::1", true},
				{"fd00:75::5054:ff:fe75:1", "fd00:75::1", true}, // what a router advertisement makes a guest add
				{"fd00:75::10", "fd00:75::1", false},
				{"fe80::5054:ff:fe75:1", router, true},
				{"fe80::10", router, false}, // with its solicitation it would tell its MAC address
			} {
				t.Run(c.source+" to "+c.target, func(t *testing.T) {
					// Learned anew each time, by the sender and by the bridge's side.
					acctest.On(t, "hypervisor", "ip", "neigh", "flush", "dev", "nodespoof")
					acctest.On(t, "svc-1", "ip", "neigh", "flush", "dev", "accspoof0")
					patience := map[bool]string{true: "10", false: "1"}[c.passes]
					out, err := acctest.Try(t.Context(), "svc-1", "ping", "-c1", "-W"+patience, "-I", "accspoof0", "-I", c.source, c.target)
					if (err == nil) != c.passes {
						t.Errorf("from %s answered: %t, want %t: %s", c.source, err == nil, c.passes, out)
					}
					learned := acctest.On(t, "hypervisor", "ip", "neigh", "show", "dev", "nodespoof")
					if strings.Contains(learned, c.source+" lladdr 52:54:00:75:00:01") != c.passes {
						t.Errorf("neighbours after packets from %s:\n%s", c.source, learned)
					}
				})
			}
			return nil
		}}},
	})
}

// TestAccNodeGetsItsFilterBack has a person have the node's filter pass everything, and remove it.
func TestAccNodeGetsItsFilterBack(t *testing.T) {
	acctest.InSandbox(t)
	const filter = "virtcluster-acc-525400750001"
	drops := says(t, "nwfilter-dumpxml "+filter, `action='drop'`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: acctest.Provider() + guarded, Check: drops},
			{
				PreConfig: func() {
					virsh(t, "nwfilter-define", writeFile(t, strings.ReplaceAll(virsh(t, "nwfilter-dumpxml", filter), "action='drop'", "action='accept'")))
				},
				Config: acctest.Provider() + guarded, ConfigPlanChecks: updates(), Check: drops,
			},
			{
				PreConfig: func() { virsh(t, "nwfilter-undefine", filter) },
				Config:    acctest.Provider() + guarded, ConfigPlanChecks: updates(), Check: drops,
			},
		},
	})
}
