package node_test

import (
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// lacks checks that a virsh command prints nothing of the kind about the node.
func lacks(t *testing.T, command string, unwanted ...string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		got := virsh(t, strings.Fields(command)...)
		for _, u := range unwanted {
			if regexp.MustCompile(u).MatchString(got) {
				t.Errorf("virsh %s says %s:\n%s", command, u, got)
			}
		}
		return nil
	}
}

func TestAccNodeHasDevices(t *testing.T) {
	acctest.BothCLIs(t)
	_, network, image := stage(t, "nodedevices")
	devices := "  tpm = {}\n  watchdog = { action = \"poweroff\" }\n  smbios = { product = \"Anvil\", serial = \"42\", oem_strings = [\"one & two\"] }\n" +
		"  console = { type = \"tcp\", port = 4555, log_file = \"/run/nodedevices.log\" }\n"
	node := func(more string) string { return config(image, network, oneInterface+more) }
	restarted := func(more string) string { return node("  allow_restart = true\n" + more) }
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: node("  tpm = { model = \"tpm-crb\", version = \"1.2\" }\n"), ExpectError: wrapped("TPM 1.2 by another interface")},
			{Config: node("  console = { type = \"tcp\" }\n"), ExpectError: wrapped("Missing port")},
			{
				Config: node(devices),
				Check: resource.ComposeTestCheckFunc(
					says(t, "dumpxml acc", `<tpm model='tpm-crb'>\s*<backend type='emulator' version='2.0'`, `<watchdog model='i6300esb' action='poweroff'>`, `<serial type='tcp'>\s*<source mode='bind' host='127.0.0.1' service='4555'`),
					says(t, "dumpxml acc", `<smbios mode='sysinfo'/>`, `<entry name='product'>Anvil<`, `<entry>one &amp; two<`),
					says(t, "dominfo acc", `State: +running`),
					func(*terraform.State) error {
						c, err := net.DialTimeout("tcp", "127.0.0.1:4555", 10*time.Second)
						if err != nil {
							return fmt.Errorf("the console does not listen: %w", err)
						}
						return c.Close()
					},
				),
			},
			{Config: node(""), PlanOnly: true}, // what is left out stays
			{
				ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStateVerify: true,
				ImportStateVerifyIgnore: []string{"root_disk.image"},
			},
			{Config: node(strings.Replace(devices, "tpm = {}", "tpm = { model = \"none\" }", 1)), ExpectError: regexp.MustCompile("needs a restart")},
			{ // drift: the watchdog is gone, and the machine has another serial number
				PreConfig: func() {
					text := virsh(t, "dumpxml", "--inactive", "acc")
					text = regexp.MustCompile(`(?s)<watchdog.*?</watchdog>`).ReplaceAllString(strings.Replace(text, ">42<", ">43<", 1), "")
					virsh(t, "define", writeFile(t, text))
				},
				Config: restarted(devices), ConfigPlanChecks: updates(),
				Check: says(t, "dumpxml acc", `<watchdog model='i6300esb' action='poweroff'>`, `<entry name='serial'>42<`),
			},
			{
				Config: restarted("  tpm = { model = \"none\" }\n  watchdog = { model = \"none\" }\n  smbios = {}\n  console = { type = \"pty\" }\n"), ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(lacks(t, "dumpxml acc", `<tpm`, `i6300esb`, `Anvil`, `type='tcp'`), says(t, "dominfo acc", `State: +running`)),
			},
		},
	})
}

func TestAccNodeTunesItsDisks(t *testing.T) {
	acctest.BothCLIs(t)
	pool, network, image := stage(t, "nodetuning")
	volume := fmt.Sprintf("\nresource \"virtcluster_volume\" \"v\" {\n  name = \"shared.FORMAT\"\n  pool = %q\n  size_gib = 1\n  format = \"FORMAT\"\n}\n", pool)
	node := func(more, data, format string) string {
		return config(image, network, oneInterface+more+"  disks = { data = { size_gib = 1"+data+" }, shared = { volume = virtcluster_volume.v.id, shareable = true } }\n") + strings.ReplaceAll(volume, "FORMAT", format)
	}
	const tuned = ", cache = \"none\", io = \"threads\", discard = \"ignore\", iothread = 2, limits = { read_bytes_sec = 1048576, total_iops_sec = 100 }"
	limited := strings.Replace(tuned, "total_iops_sec = 100", "write_iops_sec = 7", 1)
	var id string
	sameRun := func(*terraform.State) error {
		if now := virsh(t, "domid", "acc"); now != id {
			return fmt.Errorf("the node was restarted: it was %s and is %s", id, now)
		}
		return nil
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: node("", ", io = \"native\"", "raw"), ExpectError: wrapped("Native I/O with a cache")},
			{Config: node("", ", readonly = true", "raw"), ExpectError: wrapped("Read-only disk of the node's own")},
			{
				Config: node("", tuned, "raw"),
				Check: resource.ComposeTestCheckFunc(
					says(t, "dumpxml acc", `cache='none' io='threads' iothread='2'`, `<iothreads>2</iothreads>`, `<shareable/>`, `<read_bytes_sec>1048576<`, `<total_iops_sec>100<`),
					says(t, "dominfo acc", `State: +running`),
				),
			},
			{
				ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStateVerify: true, ImportStateVerifyIgnore: []string{"root_disk.image"},
			},
			{ // other limits while it runs
				PreConfig: func() { id = virsh(t, "domid", "acc") },
				Config:    node("", limited, "raw"), ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(says(t, "blkdeviotune acc vdb --live", `write_iops_sec *: 7`, `total_iops_sec *: 0`), says(t, "blkdeviotune acc vdb --config", `write_iops_sec *: 7`), sameRun),
			},
			{ // drift of what runs alone
				PreConfig: func() { virsh(t, "blkdeviotune", "acc", "vdb", "--write-iops-sec", "9", "--live") },
				Config:    node("", limited, "raw"), ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(says(t, "blkdeviotune acc vdb --live", `write_iops_sec *: 7`), sameRun),
			},
			{Config: node("", strings.Replace(limited, "cache = \"none\"", "cache = \"writeback\"", 1), "raw"), ExpectError: regexp.MustCompile("needs a restart")},
			{Config: node("", "", "raw"), PlanOnly: true}, // what is left out stays
			{
				Config: node("  allow_restart = true\n", ", cache = \"writeback\", iothread = 0, limits = {}", "raw"), ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(says(t, "dumpxml acc", `cache='writeback' io='threads'/>`), lacks(t, "dumpxml acc", `<iotune>`), says(t, "dominfo acc", `State: +running`)),
			},
		},
	})
}
