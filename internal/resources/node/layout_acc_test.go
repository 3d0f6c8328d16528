package node_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccNodeHasDevicesThatAreDirectories(t *testing.T) {
	acctest.BothCLIs(t)
	_, network, image := stage(t, "nodeshares")
	one, two := t.TempDir(), t.TempDir()
	node := func(more string) string {
		return config(image, network, oneInterface+strings.NewReplacer("ONE", one, "TWO", two).Replace(more))
	}
	const both = "  filesystems = [{ source = \"ONE\", target = \"one\" }, { source = \"TWO\", target = \"two\", driver = \"9p\", readonly = true }]\n"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: node("  filesystems = [{ source = \"ONE/none\", target = \"one\" }]\n"), ExpectError: wrapped("No such directory")},
			{Config: node("  filesystems = [{ source = \"ONE\", target = \"one\" }, { source = \"TWO\", target = \"one\" }]\n"), ExpectError: wrapped("Duplicate share")},
			{Config: node("  hugepages = \"2M\"\n"), ExpectError: wrapped("Too few huge pages")},
			{
				Config: node(both),
				Check: resource.ComposeTestCheckFunc(
					says(t, "dumpxml acc", `<driver type='virtiofs'/>\s*(<binary [^>]*>\s*)?<source dir='`+one, `<source dir='`+two, `<access mode='shared'/>`),
					says(t, "dominfo acc", `State: +running`),
				),
			},
			{
				ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStateVerify: true,
				ImportStateVerifyIgnore: []string{"root_disk.image"},
			},
			{Config: node(""), PlanOnly: true}, // what is left out stays
			{Config: node("  filesystems = []\n"), ExpectError: regexp.MustCompile("needs a restart")},
			{ // drift: another directory
				PreConfig: func() {
					virsh(t, "define", writeFile(t, strings.Replace(virsh(t, "dumpxml", "--inactive", "acc"), two, os.TempDir(), 1)))
				},
				Config: node("  allow_restart = true\n" + both), ConfigPlanChecks: updates(), Check: says(t, "dumpxml acc", two),
			},
			{
				Config: node("  allow_restart = true\n  filesystems = []\n"), ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(lacks(t, "dumpxml acc", `<filesystem`, `<memoryBacking>`), says(t, "dominfo acc", `State: +running`)),
			},
		},
	})
}

func TestAccNodeHasDevicesAndALayout(t *testing.T) {
	acctest.BothCLIs(t)
	_, network, image := stage(t, "nodelayout")
	node := func(more string) string { return config(image, network, oneInterface+"  vcpus = 4\n"+more) }
	const laidOut = "  cpu = { topology = { sockets = 2, cores = 2 } }\n  numa = [{ cpus = \"0-1\", memory_mib = 64, host_nodes = \"0\" }, { cpus = \"2-3\", memory_mib = 64 }]\n"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: node("  cpu = { topology = { sockets = 3 } }\n"), ExpectError: wrapped("Another number of vCPUs")},
			{Config: node("  cpu = { pinning = { \"0\" = \"0\" } }\n"), ExpectError: wrapped("Pinning of emulated vCPUs")},
			{Config: node("  numa = [{ cpus = \"0,1\", memory_mib = 128 }]\n"), ExpectError: regexp.MustCompile(`"0-1"`)},
			{Config: node("  numa = [{ cpus = \"0-3\", memory_mib = 64 }]\n"), ExpectError: wrapped("Cells of another memory")},
			{
				Config: node(laidOut),
				Check: resource.ComposeTestCheckFunc(
					says(t, "dumpxml acc", `<topology sockets='2' dies='1' (clusters='1' )?cores='2' threads='1'/>`, `<cell id='0' cpus='0-1' memory='65536'`, `<memnode cellid='0' mode='strict' nodeset='0'/>`),
					says(t, "dominfo acc", `State: +running`),
					answers(t, "/__state", `"cpus_online": "0-3"`),
				),
			},
			{
				ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStateVerify: true,
				ImportStateVerifyIgnore: []string{"root_disk.image"},
			},
			{Config: node(""), PlanOnly: true}, // what is left out stays
			{Config: node(strings.Replace(laidOut, "sockets = 2, cores = 2", "cores = 4", 1)), ExpectError: regexp.MustCompile("needs a restart")},
			{ // drift: somebody laid them out otherwise
				PreConfig: func() {
					virsh(t, "define", writeFile(t, strings.Replace(virsh(t, "dumpxml", "--inactive", "acc"), "sockets='2' dies='1'", "sockets='1' dies='2'", 1)))
				},
				Config: node("  allow_restart = true\n" + laidOut), ConfigPlanChecks: updates(), Check: says(t, "dumpxml acc", `<topology sockets='2' dies='1'`),
			},
			{
				Config: node("  allow_restart = true\n  cpu = { topology = {} }\n  numa = []\n"), ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(lacks(t, "dumpxml acc", `<topology`, `<numa>`, `<memnode`), says(t, "dominfo acc", `State: +running`)),
			},
		},
	})
}

// What the sandbox's guests cannot run with, such as pinned vCPUs and huge pages, libvirt takes as it is rendered.
func TestAccNodeHasDevicesThatLibvirtKnows(t *testing.T) {
	acctest.InSandbox(t)
	text, err := os.ReadFile("../../virt/machine/testdata/devices.xml")
	if err != nil {
		t.Fatal(err)
	}
	// libvirt takes vendor and product in either order, and its schema only in one.
	ordered := regexp.MustCompile(`(<product id="0x....".*>)\s*(<vendor id="0x....".*>)`).ReplaceAllString(string(text), "$2$1")
	virsh(t, "define", "--validate", writeFile(t, strings.Replace(ordered, `<domain type="kvm">`, `<domain type="qemu">`, 1)))
	t.Cleanup(func() { virsh(t, "undefine", "devices") })
	got := virsh(t, "dumpxml", "--inactive", "devices")
	for _, want := range []string{
		`<vcpupin vcpu='0' cpuset='2-3'/>`, `<page size='2048' unit='KiB'/>`, `<memnode cellid='0' mode='strict' nodeset='0'/>`, `<topology sockets='1' dies='1' (clusters='1' )?cores='2' threads='2'/>`,
		`<hostdev mode='subsystem' type='pci' managed='yes'>`, `<hostdev mode='subsystem' type='usb'`, `<hostdev mode='subsystem' type='mdev' managed='no' model='vfio-pci'`, `<controller type='usb' index='0' model='qemu-xhci'`, `<driver type='virtiofs'/>`, `<tpm model='tpm-crb'>`, `<watchdog model='i6300esb' action='poweroff'>`, `iothread='2'`,
	} {
		t.Run(want, func(t *testing.T) {
			if !regexp.MustCompile(want).MatchString(got) {
				t.Errorf("libvirt has no %s:\n%s", want, got)
			}
		})
	}
}

// The sandbox's kernel may have no queues that bound what runs, so the node is off.
func TestAccNodeHasDevicesWithABandwidth(t *testing.T) {
	acctest.BothCLIs(t)
	_, network, image := stage(t, "nodebandwidth")
	node := func(bandwidth string) string {
		return config(image, network, "  running = false\n  network_interfaces = [{ network = \"NET\", ip = \"10.77.0.1\", mac = \"52:54:00:77:00:31\""+bandwidth+" }]\n")
	}
	const limited = ", bandwidth = { inbound_average_kib = 1000, inbound_peak_kib = 5000, inbound_burst_kib = 5120, outbound_average_kib = 128 }"
	more := strings.Replace(limited, "= 128", "= 256", 1)
	const tune = "domiftune acc 52:54:00:77:00:31 --config"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: node(", bandwidth = { outbound_peak_kib = 5 }"), ExpectError: wrapped("Peak without an average")},
			{Config: node(limited), Check: says(t, tune, `inbound.average *: 1000`, `inbound.peak *: 5000`, `inbound.burst *: 5120`, `outbound.average *: 128`)},
			{
				ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStateVerify: true,
				ImportStateVerifyIgnore: []string{"root_disk.image"},
			},
			{Config: node(more), ConfigPlanChecks: updates(), Check: says(t, tune, `inbound.average *: 1000`, `outbound.average *: 256`)},
			{ // drift
				PreConfig: func() { virsh(t, "domiftune", "acc", "52:54:00:77:00:31", "--outbound", "64", "--config") },
				Config:    node(more), ConfigPlanChecks: updates(), Check: says(t, tune, `outbound.average *: 256`),
			},
			{Config: node(""), PlanOnly: true}, // what is left out stays
			{Config: node(", bandwidth = {}"), ConfigPlanChecks: updates(), Check: says(t, tune, `inbound.average *: 0`, `outbound.average *: 0`)},
		},
	})
}
