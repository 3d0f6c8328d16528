package ovnnetwork_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// getScript has a guest ask for what another one serves, and say what it got: the name of that one, or "none". BusyBox's own time limit of wget
// has it crash.
const getScript = "/bin/busybox timeout 2 /bin/busybox wget -q -O- http://10.50.0.12:8080/ || echo none"

// gets waits until guest a gets from guest b what is wanted: "acc-b" or "none".
func gets(want string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		var said string
		var err error
		for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
			if said, err = acctest.InGuestOf(context.Background(), "hv-1", "acc-a", getScript); err == nil && strings.TrimSpace(said) == want {
				return nil
			}
		}
		return fmt.Errorf("a gets %q from b, not %q: %w", said, want, err)
	}
}

// What the rules of a security group say is what guests see: at once, in place, read back from the database, beside what a person has.
func TestAccOVNSecurityGroup(t *testing.T) {
	nb, nodes := ovnStage(t)
	nb("pg-add", "persons_group", "persons-port", "--", "acl-add", "persons_group", "to-lport", "900", "outport == @persons_group && ip4", "drop")
	before := nb("--columns=name,ports,acls", "list", "Port_Group", "persons_group")
	const group = "virtcluster_ovn_security_group.web"
	config := func(rules string) string {
		return nodes(`{ NET, mac = "52:54:00:50:00:01", ip = "10.50.0.11" }`, `{ NET, mac = "52:54:00:50:00:02", ip = "10.50.0.12", security_groups = [`+group+`.name] }`) + fmt.Sprintf(`
resource "virtcluster_ovn_security_group" "web" {
  ovn          = %q
  name         = "web"
  rules        = [%s]
  address_sets = { friends = ["10.50.0.11", "10.60.0.0/24"] }
}
`, acctest.Endpoint("hv-1"), rules)
	}
	const all, friends, others = `{ direction = "ingress", protocol = "tcp", ports = "8080" }`, `{ direction = "ingress", protocol = "tcp", ports = "8000-8090", remote = "friends" }`, `{ direction = "ingress", protocol = "tcp", ports = "8080", remote = "10.50.0.99" }`
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			if now := nb("--columns=name,ports,acls", "list", "Port_Group"); now != before {
				return fmt.Errorf("left:\n%s\nbefore:\n%s", now, before)
			}
			if left := nb("--bare", "--columns=name", "list", "Address_Set"); left != "" {
				return fmt.Errorf("address sets are left: %s", left)
			}
			// What is no expression for a chassis says so there alone.
			if said := acctest.On(t, "hv-2", "sed", "-n", "/expression failed/p", "/var/log/ovn/ovn-controller.log"); said != "" {
				return fmt.Errorf("hv-2 says: %s", said)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{Config: config(all), Check: resource.ComposeTestCheckFunc(gets("acc-b"), resource.TestCheckResourceAttr("virtcluster_node.b", "network_interfaces.0.security_groups.0", "web"))},
			{ResourceName: group, ImportState: true, ImportStateVerify: true},
			{Config: config(others), Check: gets("none")},
			{Config: config(friends), Check: gets("acc-b")},
			{ // what a person changes shows, and is mended
				PreConfig: func() {
					acl := nb("--bare", "--columns=_uuid", "find", "ACL", "action=allow-related")
					nb("set", "ACL", acl, "action=drop")
				},
				RefreshState: true, ExpectNonEmptyPlan: true, Check: resource.TestCheckResourceAttr(group, "rules.#", "0"),
			},
			{Config: config(friends), Check: gets("acc-b")},
			{
				PreConfig: func() {
					port := nb("--bare", "--columns=ports", "list", "Port_Group", "web")
					nb("remove", "Port_Group", "web", "ports", port)
				},
				RefreshState: true, ExpectNonEmptyPlan: true, Check: resource.TestCheckResourceAttr("virtcluster_node.b", "network_interfaces.0.security_groups.#", "0"),
			},
			{Config: config(friends), Check: func(*terraform.State) error {
				if ports := strings.Fields(nb("--bare", "--columns=ports", "list", "Port_Group", "web")); len(ports) != 1 {
					return fmt.Errorf("in the group are %v", ports)
				}
				return nil
			}},
		},
	})
}
