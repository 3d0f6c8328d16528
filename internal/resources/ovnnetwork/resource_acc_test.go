package ovnnetwork_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const name = "virtcluster_ovn_network.test"

func config(machine, extra string) string {
	return fmt.Sprintf("%s\nresource \"virtcluster_ovn_network\" \"test\" {\n  ovn  = %q\n  name = \"nodes\"\n  %s\n}\n", acctest.Provider(), acctest.Endpoint(machine), extra)
}

const told = `cidr = "10.50.0.0/24"
  gateway = "10.50.0.1"
  dhcp = {
    pool          = ["10.50.0.100-10.50.0.149", "10.50.0.150-10.50.0.199"]
    nameservers   = ["10.50.0.2", "10.50.0.3"]
    lease_seconds = 3600
    options       = { domain_name = "okd.example", ntp_server = "10.50.0.2" }
  }`

// central has a machine run the databases of OVN, with what a person has in them, and returns how the northbound one is asked.
func central(t *testing.T, machine string) func(argv ...string) string {
	t.Helper()
	acctest.StartOVNCentral(t, machine)
	acctest.On(t, machine, "ovn-nbctl", "--wait=sb", "--may-exist", "ls-add", "persons", "--", "--may-exist", "lsp-add", "persons", "persons-port")
	return acctest.Northbound(t, machine)
}

// all is everything that the database holds of networks.
var all = []string{"--format=csv", "--columns=_uuid,name,other_config,external_ids,ports", "list", "Logical_Switch", "--", "list", "Logical_Switch_Port", "--", "list", "DHCP_Options"}

func TestAccOVNNetworkLife(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	machine := acctest.Hypervisors(t, 1)[0]
	nb := central(t, machine)
	before := nb(all...)
	has := func(want ...string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			rows := nb("list", "Logical_Switch", "nodes") + "\n" + nb("find", "DHCP_Options", "external_ids:virtcluster-network=nodes") + "\n" + nb("show", "nodes")
			for _, text := range want {
				absent, isAbsent := strings.CutPrefix(text, "no ")
				if strings.Contains(rows, strings.TrimPrefix(text, "no ")) == isAbsent {
					return fmt.Errorf("want %q (absent: %q) in\n%s", text, absent, rows)
				}
			}
			return nil
		}
	}
	uuid := ""
	same := func(*terraform.State) error {
		if now := nb("--bare", "--columns=_uuid", "find", "Logical_Switch", "name=nodes"); uuid == "" {
			uuid = now
		} else if now != uuid {
			return fmt.Errorf("it was made anew: %s, and was %s", now, uuid)
		}
		return nil
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			if after := nb(all...); after != before {
				return fmt.Errorf("left:\n%s\nbefore:\n%s", after, before)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{Config: config(machine, told), Check: resource.ComposeTestCheckFunc(same, resource.TestCheckResourceAttr(name, "mtu", "1442"),
				has(`subnet="10.50.0.0/24"`, `exclude_ips="10.50.0.1..10.50.0.99 10.50.0.200..10.50.0.254"`, `router="10.50.0.1"`, `mtu="1442"`, `dns_server="{10.50.0.2, 10.50.0.3}"`, `domain_name="\"okd.example\""`, "owner=", "no creating="))},
			{ResourceName: name, ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"dhcp.pool"}},
			{ // a person's edits show, each on its attribute, and are mended
				PreConfig: func() {
					nb("set", "DHCP_Options", nb("--bare", "--columns=_uuid", "find", "DHCP_Options", "external_ids:virtcluster-network=nodes"), "options:mtu=9000", `options:domain_name=bare`)
					nb("set", "Logical_Switch", "nodes", `other_config:exclude_ips="10.50.0.1"`, "other_config:mcast_snoop=true")
				},
				Config: config(machine, told), PlanOnly: true, ExpectNonEmptyPlan: true,
			},
			{RefreshState: true, ExpectNonEmptyPlan: true, Check: resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr(name, "mtu", "9000"), resource.TestCheckResourceAttr(name, "dhcp.pool.0", "10.50.0.2-10.50.0.254"),
				resource.TestCheckResourceAttr(name, "dhcp.options.domain_name", "without quotes: bare"))},
			{Config: config(machine, told), Check: resource.ComposeTestCheckFunc(same, has(`mtu="1442"`, `domain_name="\"okd.example\""`, "10.50.0.200..10.50.0.254", `mcast_snoop="true"`))},
			{Config: config(machine, `cidr = "10.51.0.0/24"`), Check: resource.ComposeTestCheckFunc(same, has(`subnet="10.51.0.0/24"`, "no dns_server", "no localnet"))},
			{Config: config(machine, "mode = \"bridge\"\n  bridge_mapping = \"lan\""), Check: resource.ComposeTestCheckFunc(same, has("type: localnet", "no subnet"))},
			{PreConfig: func() { nb("ls-del", "nodes") }, Config: config(machine, told), Check: has(`router="10.50.0.1"`)},
			// Who removes the network alone leaves what its guests were told.
			{PreConfig: func() { nb("ls-del", "nodes") }, Config: config(machine, told), Check: has(`router="10.50.0.1"`)},
			{Config: config(machine, told), PlanOnly: true},
			{PreConfig: func() { acctest.RestartOVNCentral(t, machine) }, Config: config(machine, told), PlanOnly: true},
		},
	})
}

// What a person or another state has under the name is neither taken nor removed, and a network that machines are on stays.
func TestAccOVNNetworkOfOthers(t *testing.T) {
	acctest.InSandbox(t)
	machine := acctest.Hypervisors(t, 1)[0]
	nb := central(t, machine)
	nb("ls-add", "nodes")
	persons := nb(all...)
	first, second := acctest.NewState(t), acctest.NewState(t)
	first.Write(config(machine, told))
	first.Refused([]string{"did not write it", "import it as", "#network/nodes"}, "apply", "-auto-approve")
	if now := nb(all...); now != persons {
		t.Fatalf("a person's network became\n%s\nand was\n%s", now, persons)
	}
	nb("ls-del", "nodes")
	first.Apply(config(machine, told))
	first.DestroyAtEnd()
	ours := nb(all...)
	second.Write(config(machine, `cidr = "10.60.0.0/24"`))
	second.Refused([]string{"belongs to another state"}, "apply", "-auto-approve")
	if now := nb(all...); now != ours {
		t.Fatalf("another state's network became\n%s\nand was\n%s", now, ours)
	}
	nb("lsp-add", "nodes", "a-persons-machine")
	first.Refused([]string{"1 ports are on network", "a-persons-machine"}, "destroy", "-auto-approve")
	nb("lsp-del", "a-persons-machine")
	first.Settled()

	// What guests of a network were told stays when somebody removes it, and is none of another state's network of that name.
	nb("ls-del", "nodes")
	left := nb("list", "DHCP_Options")
	second.Apply(config(machine, `cidr = "10.60.0.0/24"`))
	second.Settled()
	second.Run("destroy", "-auto-approve")
	if now := nb("list", "DHCP_Options"); now != left {
		t.Errorf("another state's options became\n%s\nand were\n%s", now, left)
	}
	first.Apply(config(machine, told))
	first.Settled()
}

// TestAccOVNNetworkThatAPersonBridged has a state import a network whose port to the outside has another name than the provider gives one.
func TestAccOVNNetworkThatAPersonBridged(t *testing.T) {
	acctest.InSandbox(t)
	machine := acctest.Hypervisors(t, 1)[0]
	nb := central(t, machine)
	nb("ls-add", "nodes", "--", "lsp-add", "nodes", "ln-physnet", "--", "lsp-set-type", "ln-physnet", "localnet", "--", "lsp-set-options", "ln-physnet", "network_name=physnet")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	const bridged = "mode = \"bridge\"\n  bridge_mapping = \"physnet\"\n  "
	s.Write(config(machine, bridged))
	s.Run("import", name, acctest.Endpoint(machine)+"#network/nodes")
	s.Settled()
	for _, change := range []string{`cidr = "10.50.0.0/24"`, ""} {
		s.Apply(config(machine, bridged+change))
		s.Settled()
		if ports := strings.Fields(nb("--bare", "--columns=name", "find", "Logical_Switch_Port", "type=localnet")); len(ports) != 1 || ports[0] != "ln-physnet" {
			t.Errorf("its ports to the outside are %q", ports)
		}
	}
	nb("lsp-add", "nodes", "ln-other", "--", "lsp-set-type", "ln-other", "localnet", "--", "lsp-set-options", "ln-other", "network_name=other")
	s.Settled()
	s.Refused([]string{"1 ports are on network", "ln-other"}, "destroy", "-auto-approve")
	nb("lsp-del", "ln-other")
}

func TestAccOVNNetworkBadInput(t *testing.T) {
	acctest.InSandbox(t)
	machine := acctest.Hypervisors(t, 1)[0]
	central(t, machine)
	var steps []resource.TestStep
	for extra, want := range map[string]string{
		`cidr = "10.50.0.1/24"`: "Invalid prefix|Invalid network",
		"cidr = \"10.50.0.0/24\"\n dhcp = { options = { colour = \"red\" } }":   "Unknown option",
		"cidr = \"10.50.0.0/24\"\n dhcp = { pool = [\"10.50.1.1-10.50.1.9\"] }": "Range outside the network",
		"cidr = \"10.50.0.0/24\"\n mtu = 1500":                                  "MTU too large",
		"dhcp = {}":                                                             "No network",
		"mode = \"bridge\"":                                                     "Mode and bridge mapping",
	} {
		steps = append(steps, resource.TestStep{Config: config(machine, extra), PlanOnly: true, ExpectError: regexp.MustCompile(want)})
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers, Steps: steps})
}
