package vip_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccBadInputFailsThePlanAtItsAttribute(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	ids := machines(t, 2)
	address := "10.0.100.250/24"
	members := func(first, second string) string {
		return acctest.Provider() + fmt.Sprintf("resource \"virtcluster_vip\" \"test\" {\n name = \"x\"\n addresses = [%q]\n members = {\nsvc-1 = { service_node = %q, %s }\nsvc-2 = { service_node = %q, %s }\n }\n}\n",
			address, ids[0], first, ids[1], second)
	}
	// eth1 of svc-2 gets an address that would do, in a network that is not svc-1's.
	acctest.On(t, "svc-2", "ip", "address", "replace", "10.0.100.202/16", "dev", "eth1")
	t.Cleanup(func() {
		if out, err := acctest.Try(context.Background(), "svc-2", "ip", "address", "delete", "10.0.100.202/16", "dev", "eth1"); err != nil {
			t.Errorf("take the address away: %v: %s", err, out)
		}
	})
	var heard warnings
	form := func(value string) string {
		return acctest.Provider() + fmt.Sprintf("resource \"virtcluster_vip\" \"test\" {\n name = \"x\"\n addresses = [%q]\n members = %s\n}\n", address, value)
	}
	full := fmt.Sprintf("service_node = %q, interface = \"eth0\"", ids[0])
	steps := []resource.TestStep{
		{Config: vip(ids[:1], address, ""), PlanOnly: true, ExpectNonEmptyPlan: true},
		{Config: vip(ids, address, `track = [{ name = "a", script = "/does/not/exist" }]`), PlanOnly: true, ExpectNonEmptyPlan: true},
	}
	for _, c := range []struct{ config, expect string }{
		{vip(ids, address, `auth_pass = "ninechars"`), `at most 8\s+characters`},
		{vip(ids, address, "virtual_router_id = 0"), `from 1 to\s+255`},
		{vip(ids, address, "virtual_router_id = 256"), `from 1 to\s+255`},
		{vip(ids, "10.0.100.250", ""), `(?s)addresses\[0\].*prefix`},
		{vip(ids, "10.0.100.0/24", ""), "Network address"},
		{vip(ids, "10.9.9.250/24", ""), `(?s)virtual address\s+10\.9\.9\.250 is\s+not`},
		{vip(ids, "10.9.9.250/32", ""), `(?s)virtual address\s+10\.9\.9\.250\s+is\s+not`},
		{vip(ids, address, "advert_int = 0.5"), "whole\\s+seconds"},
		{vip(ids, address, `track = [{ name = "a", script = "bin/true" }]`), "full\\s+path"},
		{vip(ids, address, `track = [{ name = "a" }]`), "exactly one of"},
		{vip(append(ids[:1:1], ids[0]), address, ""), "Member twice"},
		{members(`interface = "eth0", state = "MASTER"`, `interface = "eth9"`), "no network device\\s+eth9"},
		{members(`interface = "eth0"`, `interface = "eth1", address = "10.19.41.102"`), `(?s)10\.19\.41\.102\s+is\s+not\s+in\s+10\.0\.100\.0/24`},
		{members(`interface = "eth0"`, `interface = "eth1"`), `(?s)Members\s+on\s+unlike\s+segments.*members\["svc-2"\]\.interface:.*eth1.*10\.0\.0\.0/16`},
		{members(`interface = "eth0", address = "fe80::1"`, `interface = "eth0"`), `unicast = false`},
		{members(`interface = "eth0", address = "10.0.100.77"`, `interface = "eth0"`), `(?s)does\s+not have the\s+address`},
		{members(`interface = "eth0", priority = "high"`, `interface = "eth0"`), `(?s)"members".*number\s+is\s+required`},
		{members(`interface = "eth0", priority = 0`, `interface = "eth0"`), `members\["svc-1"\]\.priority: write\s+a\s+number\s+from\s+1\s+to\s+254`},
		{members(`interface = "eth0"`, `priority = 5`), `(?s)"members".*"interface"\s+is\s+required`},
		{vip(ids, address, "track = [{ name = \"a\", script_content = \"#!/opt/none\\n\" }]"), `(?s)keepalived\s+refuses\s+what\s+is\s+planned.*cannot\s+run\s+/opt/none`},
		{form("{ a = null }"), `members\["a"\]: an\s+element\s+must\s+not\s+be\s+null`},
		{form(`{ a = "svc-1" }`), `(?s)"members".*object\s+required`},
		{form("{}"), "write\\s+at\\s+least\\s+one\\s+element"},
		{form("[]"), `(?s)"members".*map.*required`},
		{form(`"svc-1"`), `(?s)"members".*map.*required`},
		{form("{ \"svc 1\" = { " + full + " } }"), "Invalid name of a\\s+member"},
		{form("{ \"\" = { " + full + " } }"), `members\[""\]: write\s+a\s+name\s+of\s+a\s+member`},
		{members(`interface = "eth0", priority = 255`, `interface = "eth0"`), "write\\s+a\\s+number\\s+from\\s+1\\s+to\\s+254"},
		{strings.Replace(members(`interface = "eth0", state = "MASTER"`, `interface = "eth0"`), " name", " preempt = false\n name", 1), "State contradicts preempt"},
		{vip(ids, address, "") + strings.Replace(strings.TrimPrefix(vip(ids, "10.0.100.251/24", ""), acctest.Provider()), `"test"`, `"other"`, 1), "(?s)virtual router\\s+id 109 on the segment"},
		{vip(ids, address, "") + strings.Replace(strings.Replace(strings.TrimPrefix(vip(ids, address, ""), acctest.Provider()), `"test"`, `"other"`, 1), "vmware-api", "ocp4-api", 1), "(?s)virtual address\\s+10\\.0\\.100\\.250"},
		{vip(ids, address, "") + "resource \"virtcluster_network\" \"n\" {\n name = \"n\"\n mode = \"nat\"\n cidr = \"10.0.100.0/24\"\n dhcp = { ranges = [{ start = \"10.0.100.200\", end = \"10.0.100.251\" }] }\n}\n", "DHCP\\s+range"},
	} {
		steps = append(steps, resource.TestStep{Config: c.config, PlanOnly: true, ExpectError: regexp.MustCompile(c.expect)})
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: heard.providers(), Steps: steps})
	if err := heard.has("Fewer than two members", "nobody takes over"); err != nil {
		t.Error(err)
	}
	if err := heard.has("keepalived refuses what is planned", "Disabling track script", "something else of this apply"); err != nil {
		t.Error(err)
	}
	if err := nothingLeft(t, "svc-1", "svc-2"); err != nil {
		t.Fatal(err)
	}
}

// TestAccADHCPRangeOfAnotherSegmentIsNoConflict has two networks with one subnet, as two hypervisors have, and has libvirt
// take the members for guests in one of them.
func TestAccADHCPRangeOfAnotherSegmentIsNoConflict(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	libvirt := func(command, xml string) {
		if out, err := acctest.Try(context.Background(), "hypervisor", "sh", "-c", `printf %s "$1" >/run/sandbox/tmp/x.xml && virsh `+command, "sh", xml); err != nil {
			t.Fatalf("virsh %s: %v: %s", command, err, out)
		}
	}
	network := func(name, first, last string) {
		libvirt("net-define /run/sandbox/tmp/x.xml", fmt.Sprintf("<network><name>%[1]s</name><bridge name='br-%[1]s'/><ip address='10.0.100.254' netmask='255.255.255.0'><dhcp><range start='%s' end='%s'/></dhcp></ip></network>", name, first, last))
		t.Cleanup(func() { libvirt("net-undefine "+name, "") })
	}
	network("outside", "10.0.100.10", "10.0.100.20")
	network("around", "10.0.100.200", "10.0.100.251")
	plug := func(networks ...string) func() {
		return func() {
			for i, n := range networks {
				machine := fmt.Sprintf("svc-%d", i+1)
				mac := strings.Fields(acctest.On(t, machine, "ip", "-brief", "link", "show", "eth0"))[2]
				libvirt("define /run/sandbox/tmp/x.xml", fmt.Sprintf("<domain type='qemu'><name>%s</name><uuid>00000000-0000-4000-8000-00000000000%d</uuid><memory>1</memory><os><type>hvm</type></os><devices><interface type='network'><source network='%s'/><mac address='%s'/></interface></devices></domain>", machine, i+1, n, mac))
			}
		}
	}
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "hypervisor", "sh", "-c", "virsh undefine svc-1; virsh undefine svc-2")
	})
	config, refused := vip(ids, "10.0.100.250/24", ""), regexp.MustCompile(`(?s)range\s+10\.0\.100\.200.*network\s+"around"`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config, PlanOnly: true, ExpectError: refused}, // they are no guests: who knows
			{PreConfig: plug("outside", "outside"), Config: config, PlanOnly: true, ExpectNonEmptyPlan: true},
			{PreConfig: plug("outside", "around"), Config: config, PlanOnly: true, ExpectError: refused},
		},
	})
}

func TestAccAStrangerWithTheSameIDIsHeard(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 3)
	stranger := strings.NewReplacer("eth1", "eth0", "200", "109", "10.19.41.222", "10.0.100.222").Replace(foreign)
	acctest.On(t, "svc-3", "sh", "-c", `printf %s "$1" >`+conf+` && systemctl start keepalived`, "sh", stranger)
	t.Cleanup(func() { clean(t, "svc-3") })
	acctest.Eventually(t, "the stranger does not speak", func() bool {
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
