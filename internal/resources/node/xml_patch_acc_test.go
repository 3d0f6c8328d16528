package node_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccNodeIsPatched(t *testing.T) {
	acctest.BothCLIs(t)
	_, network, image := stage(t, "nodepatch")
	const screened = oneInterface + "  graphics = \"vnc\"\n"
	node := func(places ...string) string {
		return config(image, network, screened+"  allow_restart = true\n  xml_patch = {\n"+strings.Join(places, "\n")+"\n  }\n")
	}
	const (
		title = `    "/domain/title" = "Anvil & sons"`
		sound = `    "/domain/devices/sound[@model='ich9']" = ""`
		crash = `    "/domain/on_crash" = "preserve"`
		// heads and role are what the guide shows.
		heads = `    "/domain/devices/video/model/@heads" = "2"`
		role  = "    \"/domain/qemu:commandline/qemu:arg[1]/@value\" = \"-fw_cfg\"\n    \"/domain/qemu:commandline/qemu:arg[2]/@value\" = \"name=opt/com.example/role,string=master\""
		limit = "    \"/domain/memtune/hard_limit\" = \"1\"\n    \"/domain/memtune/hard_limit/@unit\" = \"GiB\""
	)
	place := func(path string) string { return fmt.Sprintf("xml_patch.%s", path) }
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: node(`    "title" = "x"`), ExpectError: wrapped("cannot be understood")},
			{Config: node(`    "/domain/devices/graphics/@passwd" = "x"`), ExpectError: wrapped("is a secret")},
			{Config: node(`    "/domain/vcpu" = "1"`), ExpectError: regexp.MustCompile(`Place of an attribute[\s\S]*vcpus`)},
			{Config: node(`    "/domain/devices/tpm[@model='tpm-crb']/backend/@type" = "emulator"`), ExpectError: regexp.MustCompile(`Place of an attribute[\s\S]*tpm`)},
			{Config: node(`    "/domain/sandcastle/@height" = "9"`), ExpectError: wrapped("No such place")},
			{ // libvirt's format has it, and libvirt does not take it from anybody: nothing is left of the node
				Config: node(`    "/domain/@id" = "99"`), ExpectError: wrapped("ignores the patch"),
			},
			{
				PreConfig: func() {
					if got := virsh(t, "list", "--all", "--name"); strings.Contains(got, "acc") {
						t.Errorf("a refused patch left a domain: %s", got)
					}
				},
				Config: node(title, sound, crash, heads, role),
				Check: resource.ComposeTestCheckFunc(
					says(t, "dumpxml acc", `<title>Anvil &amp; sons</title>`, `<sound model='ich9'>`, `<on_crash>preserve</on_crash>`, `heads='2'`, `<qemu:arg value='name=opt/com.example/role,string=master'/>`),
					says(t, "dominfo acc", `State: +running`),
					func(*terraform.State) error {
						if argv := acctest.Run(t, "pgrep", "-a", "qemu"); !strings.Contains(argv, "-fw_cfg name=opt/com.example/role,string=master") {
							return fmt.Errorf("QEMU runs as\n%s", argv)
						}
						return nil
					},
					resource.TestCheckResourceAttr(address, place("/domain/on_crash"), "preserve"),
				),
			},
			{
				ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStateVerify: true,
				ImportStateVerifyIgnore: []string{"root_disk.image"},
			},
			{ // drift: somebody changes one place, and takes away what is at another one
				PreConfig: func() {
					text := strings.Replace(virsh(t, "dumpxml", "--inactive", "acc"), "Anvil &amp; sons", "Nails", 1)
					virsh(t, "define", writeFile(t, regexp.MustCompile(`(?s)<sound.*?</sound>`).ReplaceAllString(text, "")))
				},
				Config: node(title, sound, crash, heads, role), ConfigPlanChecks: updates(),
				Check: says(t, "dumpxml acc", `<title>Anvil &amp; sons</title>`, `<sound model='ich9'>`, `heads='2'`, `string=master`),
			},
			{ // libvirt says it otherwise: the change is refused, and leaves the node as it was
				Config: node(title, sound, crash, heads, role, limit), ExpectError: wrapped(`makes "1048576" of "1"`),
			},
			{Config: node(title, sound, crash, heads, role), PlanOnly: true},
			{ // one is changed and others are taken back: the domain has there what it had before
				Config: node(strings.Replace(title, "sons", "daughters", 1), sound), ConfigPlanChecks: updates(),
				Check: says(t, "dumpxml acc", `<title>Anvil &amp; daughters</title>`, `<sound model='ich9'>`, `<on_crash>destroy</on_crash>`, `heads='1'`),
			},
			{Config: config(image, network, screened), ExpectError: regexp.MustCompile("needs a restart")},
			{
				Config: config(image, network, screened+"  allow_restart = true\n"), ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(lacks(t, "dumpxml acc", `<title>`, `<sound`, `qemu:arg`), says(t, "dominfo acc", `State: +running`)),
			},
		},
	})
}
