package externalbridge_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// What no bridge can be made of is refused by the plan, and the machine is as it was.
func TestAccExternalBridgeBadInput(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	acctest.On(t, "svc-1", "sh", "-c", "ip link add accother type bridge; ip link add accveth0 type veth peer name accveth1; ip link set accveth0 master accother")
	const broken = "/etc/netplan/99-broken.yaml"
	const claimed = "/etc/network/interfaces.d/claimed"
	t.Cleanup(func() {
		if out, err := acctest.Try(context.Background(), "svc-1", "sh", "-c", "ip link del accother; ip link del accveth0; rm -f "+broken+" "+claimed); err != nil {
			t.Error(out)
		}
	})
	before := acctest.NetworkOf(t, "svc-1")
	refused := func(interfaces, extra, want string, prepare ...string) resource.TestStep {
		with := fmt.Sprintf("host = \"ssh://root@%s\"\n%s", node, extra)
		return resource.TestStep{
			PreConfig: func() { acctest.On(t, "svc-1", "sh", "-c", strings.Join(prepare, "\n")+"\n:") },
			Config:    strings.ReplaceAll(config(with), `[{ interface = "eno1" }]`, interfaces), PlanOnly: true,
			ExpectError: regexp.MustCompile("(?s)" + strings.ReplaceAll(want, " ", `\s+`)),
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			refused(`[{ interface = "eth7" }]`, "", `no interface "eth7": the machine has`),
			refused(`[{ interface = "accveth0" }]`, "", `"accveth0" is in bridge "accother" already`),
			refused(`[{ interface = "accother" }]`, "", `"accother" is a bridge itself`),
			refused(`[{ interface = "accbr1" }]`, "", `"accbr1" cannot be an interface of bridge "accbr1"`),
			refused(`[{ interface = "eth1", vlan = 0 }]`, "", `Number out of bounds.*1 to 4094`),
			refused(`[{ interface = "eth1", vlan = 4095 }]`, "", `Number out of bounds.*1 to 4094`),
			refused(`[{ interface = "eth1", vlan = 10, bond = { interfaces = ["eth2"] } }]`, "", `A VLAN and a bond in one`),
			refused(`[{ interface = "eth1" }]`, "addressing = \"none\"\naddresses = [\"10.19.41.10/24\"]", `Addresses that are not used`),
			refused(`[{ interface = "eth1" }]`, `addresses = ["10.19.41.10/24"]`, `10.19.41.10 is in use: the machine with the hardware address`),
			refused(`[{ interface = "eth1" }]`, "addresses = [\"10.19.41.181/24\"]\ngateway = \"10.19.42.254\"", "Gateway outside the subnet"),
			refused(`[{ interface = "eth1" }]`, `backend = "networkmanager"`, `eth1 is managed by systemd-networkd`),
			refused(`[{ interface = "accveth1" }]`, `backend = "networkmanager"`, `networkmanager is not in use on the machine`),
			refused(`[{ interface = "eth1" }]`, "", `eth1 is managed by systemd-networkd and by ifupdown: leave it to one of them`, "printf 'iface eth1 inet manual\n' >"+claimed),
			refused(`[{ interface = "eth1" }]`, "", `netplan cannot read its files`, "rm "+claimed, "printf 'network:\n  version: 2\n  ethernets:\n   - eth1: [\n' >"+broken),
		},
	})
	acctest.On(t, "svc-1", "rm", broken)
	if after := acctest.NetworkOf(t, "svc-1"); after != before {
		t.Errorf("left:\n%s\nbefore:\n%s", after, before)
	}
	// An interface that somebody else's state configures stays theirs.
	theirs := acctest.NewState(t)
	theirs.DestroyAtEnd()
	theirs.Apply(acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_interface" "theirs" {
  host      = "ssh://root@%s"
  name      = "accveth1"
  backend   = "runtime"
  addresses = ["10.99.98.1/24"]
}
`, node))
	taker := acctest.NewState(t)
	taker.Write(strings.ReplaceAll(config(fmt.Sprintf("host = \"ssh://root@%s\"", node)), "eno1", "accveth1"))
	taker.Refused([]string{"a virtcluster_interface", `configures interface "accveth1"`, "have that destroyed first"}, "plan")
	theirs.Settled()
	theirs.Run("destroy", "-auto-approve")
	// The machine is reached by the very address that the bridge would take over.
	state := acctest.NewState(t)
	state.Write(strings.ReplaceAll(config(`host = "ssh://root@10.19.41.101"`), "eno1", "eth1"))
	out := strings.Join(strings.Fields(strings.ReplaceAll(state.Run("plan"), "│", " ")), " ")
	if !strings.Contains(out, `+ active_backend = "systemd-networkd"`) {
		t.Errorf("the plan does not say what will keep the bridge:\n%s", out)
	}
	if !strings.Contains(out, "The address that Terraform comes through moves") || !strings.Contains(out, "reached by 10.19.41.101, which is on eth1 and goes to bridge accbr1") {
		t.Errorf("the plan does not say that its own address moves:\n%s", out)
	}
	// A kernel that knows no VLANs in bridges is told of by the plan; one that does keeps them apart.
	state = acctest.NewState(t)
	state.DestroyAtEnd()
	with := fmt.Sprintf("host = \"ssh://root@%s\"\nbackend = \"runtime\"\nvlan_filtering = true", node)
	state.Write(strings.ReplaceAll(config(with), `[{ interface = "eno1" }]`, `[{ interface = "accveth1" }]`))
	if acctest.On(t, "svc-1", "sh", "-c", "ip link add accprobe type bridge vlan_filtering 1 2>/dev/null && echo yes && ip link del accprobe || :") != "" {
		state.Run("apply", "-auto-approve")
		state.Settled()
		return
	}
	state.Refused([]string{"CONFIG_BRIDGE_VLAN_FILTERING", "leave out vlan_filtering"}, "plan")
}

// An interface whose name is known while applying alone makes a bridge of what manages it then.
func TestAccExternalBridgeOfAnInterfaceThatIsNotKnownYet(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	state := acctest.NewState(t)
	state.DestroyAtEnd()
	state.Apply(strings.ReplaceAll(config(fmt.Sprintf("host = \"ssh://root@%s\"", node)), `"eno1"`, "terraform_data.name.output") + `
resource "terraform_data" "name" {
  input = "eth1"
}
`)
	state.Settled()
	if got := acctest.On(t, "svc-1", "ip", "-br", "link", "show", "master", "accbr1"); !strings.HasPrefix(got, "eth1") {
		t.Errorf("in the bridge is %q", got)
	}
}
