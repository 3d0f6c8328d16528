package vip_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccBadInputFailsThePlanAtItsAttribute(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	address := "10.0.100.250/24"
	members := func(first, second string) string {
		return acctest.Provider() + fmt.Sprintf("resource \"virtcluster_vip\" \"test\" {\n name = \"x\"\n addresses = [%q]\n members = [\n{ service_node = %q, %s },\n{ service_node = %q, %s }\n ]\n}\n",
			address, ids[0], first, ids[1], second)
	}
	var steps []resource.TestStep
	for _, c := range []struct{ config, expect string }{
		{vip(ids, address, `auth_pass = "ninechars"`), `at most 8\s+characters`},
		{vip(ids, address, "virtual_router_id = 0"), "must be 1 to 255"},
		{vip(ids, address, "virtual_router_id = 256"), "must be 1 to 255"},
		{vip(ids, "10.0.100.250", ""), "prefix length"},
		{vip(ids, "10.0.100.0/24", ""), "Network address"},
		{vip(ids, "10.9.9.250/24", ""), `(?s)virtual address\s+10\.9\.9\.250 is\s+not`},
		{vip(ids, "10.9.9.250/32", ""), `(?s)virtual address\s+10\.9\.9\.250\s+is\s+not`},
		{vip(ids, address, "advert_int = 0.5"), "whole\\s+seconds"},
		{vip(ids, address, `track = [{ name = "a", script = "true" }]`), "full\\s+path"},
		{vip(ids, address, `track = [{ name = "a" }]`), "exactly one of"},
		{vip(append(ids[:1:1], ids[0]), address, ""), "Member twice"},
		{members(`interface = "eth0", state = "MASTER"`, `interface = "eth9"`), "no network device\\s+eth9"},
		{members(`interface = "eth0"`, `interface = "eth1"`), `(?s)eth1.*10\.19\.41\.0/24`},
		{members(`interface = "eth0", address = "10.0.100.77"`, `interface = "eth0"`), `(?s)does\s+not have the\s+address`},
		{members(`interface = "eth0", priority = 255`, `interface = "eth0"`), "must be 1 to 254"},
		{strings.Replace(members(`interface = "eth0", state = "MASTER"`, `interface = "eth0"`), " name", " preempt = false\n name", 1), "State contradicts preempt"},
		{vip(ids, address, "") + strings.Replace(strings.TrimPrefix(vip(ids, "10.0.100.251/24", ""), acctest.Provider()), `"test"`, `"other"`, 1), "(?s)virtual router\\s+id 109 on the segment"},
		{vip(ids, address, "") + strings.Replace(strings.Replace(strings.TrimPrefix(vip(ids, address, ""), acctest.Provider()), `"test"`, `"other"`, 1), "vmware-api", "ocp4-api", 1), "(?s)virtual address\\s+10\\.0\\.100\\.250"},
		{vip(ids, address, "") + "resource \"virtcluster_network\" \"n\" {\n name = \"n\"\n mode = \"nat\"\n cidr = \"10.0.100.0/24\"\n dhcp = { ranges = [{ start = \"10.0.100.200\", end = \"10.0.100.251\" }] }\n}\n", "DHCP\\s+range"},
	} {
		steps = append(steps, resource.TestStep{Config: c.config, PlanOnly: true, ExpectError: regexp.MustCompile(c.expect)})
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers, Steps: steps})
	if err := nothingLeft(t, "svc-1", "svc-2"); err != nil {
		t.Fatal(err)
	}
}

func TestAccAStrangerWithTheSameIDIsHeard(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 3)
	stranger := strings.NewReplacer("eth1", "eth0", "200", "109", "10.19.41.222", "10.0.100.222").Replace(foreign)
	acctest.On(t, "svc-3", "sh", "-c", `printf %s "$1" >`+conf+` && systemctl start keepalived`, "sh", stranger)
	t.Cleanup(func() { clean(t, "svc-3") })
	eventually(t, "the stranger does not speak", func() bool {
		return strings.Contains(acctest.On(t, "svc-3", "ip", "-oneline", "address", "show"), " 10.0.100.222/")
	})
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: vip(ids[:2], "10.0.100.250/24", ""), ExpectError: regexp.MustCompile(`(?s)hears\s+advertisements.*109\s+from\s+10\.0\.100\.103`)},
			{Config: vip(ids[:2], "10.0.100.250/24", "virtual_router_id = 110"), Check: held(t, "10.0.100.250")},
		},
	})
}

// TestAccGoldenFilesAreAcceptedByKeepalived checks what the renderer's tests compare with.
func TestAccGoldenFilesAreAcceptedByKeepalived(t *testing.T) {
	acctest.InSandbox(t)
	check := func(content string) (string, error) {
		return acctest.Try(t.Context(), "svc-1", "sh", "-c", `printf %s "$1" >/run/golden.conf && keepalived -t -f /run/golden.conf`, "sh", content)
	}
	for _, name := range []string{"openshift.conf", "everything.conf"} {
		content, err := os.ReadFile("../../service/keepalived/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := check(string(content)); err != nil || out != "" {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if out, err := check(strings.Replace(string(content), "advert_int", "chek_int", 1)); err == nil || !strings.Contains(out, "chek_int") {
			t.Errorf("a broken %s is accepted: %v\n%s", name, err, out)
		}
	}
}
