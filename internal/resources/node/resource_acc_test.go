package node_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccNodeLives(t *testing.T) {
	acctest.BothCLIs(t)
	_, network, image := stage(t, "nodelives")
	first := oneInterface + "  role = \"master\"\n  labels = { a = \"b\" }\n  max_memory_mib = 256\n  max_vcpus = 2\n  wait_for = \"guest_agent\"\n" +
		"  butane = \"variant: fcos\\nversion: 1.5.0\\nstorage: { files: [{ path: /etc/hello, contents: { inline: world } }] }\\n\"\n"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{
				Config: config(image, network, first),
				Check: resource.ComposeTestCheckFunc(
					says(t, "dominfo acc", `State: +running`, `Autostart: +enable`, `Max memory: +262144 KiB`),
					says(t, "domblklist acc", `vda +/var/lib/libvirt/nodelives/acc-root.qcow2`),
					says(t, "net-dumpxml "+network, `ip='10.77.0.1'`),
					says(t, "net-dhcp-leases "+network, `10\.77\.0\.1/24 +acc`),
					resource.TestCheckResourceAttr(address, "addresses.eth0", "10.77.0.1"),
					resource.TestCheckResourceAttr(address, "state", "running"),
					answers(t, "/__fw_cfg/opt/com.coreos/config", `"path":"/etc/hello"`),
				),
			},
			// A kernel leaves a vCPU that was plugged in alone; the guest agent does not.
			{Config: config(image, network, first+"  vcpus = 2\n"), ConfigPlanChecks: updates(), Check: answers(t, "/__state", `"cpus_online": "0-1"`)},
			{ // drift of what runs alone: the guest lost memory
				PreConfig: func() {
					virsh(t, "setmem", "acc", "100M", "--live")
					prints(t, `Used memory: +102400 KiB`, "dominfo", "acc")
				},
				Config:           config(image, network, first+"  vcpus = 2\n"),
				ConfigPlanChecks: updates(),
				Check:            says(t, "dominfo acc", `Used memory: +131072 KiB`),
			},
			{ // and the same of a vCPU
				PreConfig: func() {
					virsh(t, "destroy", "acc")
					virsh(t, "setvcpus", "acc", "1", "--config")
					virsh(t, "start", "acc")
					virsh(t, "setvcpus", "acc", "2", "--config")
				},
				Config:           config(image, network, first+"  vcpus = 2\n"),
				ConfigPlanChecks: updates(),
				Check:            says(t, "vcpucount acc", `current +live +2`),
			},
			{ // which emulation does not let go of
				Config:      config(image, network, first+"  vcpus = 1\n"),
				ExpectError: regexp.MustCompile(`(?s)keeps its vCPUs.*allow_restart = true.*unplug`),
			},
			{
				Config: config(image, network, first+"  vcpus = 1\n  allow_restart = true\n"),
				Check:  says(t, "vcpucount acc", `current +config +1`, `current +live +1`),
			},
			{
				PreConfig:        func() { virsh(t, "setvcpus", "acc", "2", "--live") },
				Config:           config(image, network, first+"  vcpus = 1\n  allow_restart = true\n"),
				ConfigPlanChecks: updates(),
				Check:            says(t, "vcpucount acc", `current +live +1`),
			},
			{ // drift: stopped, off autostart, reservation gone
				PreConfig: func() {
					virsh(t, "destroy", "acc")
					virsh(t, "autostart", "--disable", "acc")
				},
				Config:           config(image, network, first+"  autostart = true\n"),
				ConfigPlanChecks: updates(),
				Check:            says(t, "dominfo acc", `State: +running`, `Autostart: +enable`),
			},
			{
				PreConfig: func() {
					mac := regexp.MustCompile(`<host mac='([^']+)'`).FindStringSubmatch(virsh(t, "net-dumpxml", network))[1]
					virsh(t, "net-update", network, "delete", "ip-dhcp-host", "<host mac='"+mac+"' ip='10.77.0.1'/>", "--live", "--config")
				},
				Config:           config(image, network, first),
				ConfigPlanChecks: updates(),
				Check:            says(t, "net-dumpxml "+network, `ip='10.77.0.1'`),
			},
			{ // live: another address, memory, labels, a disk, an interface, a larger root disk
				Config: strings.Replace(config(image, network, strings.NewReplacer("10.77.0.1\" }", "10.77.0.2\" }, { network = \"NET\" }", "a = \"b\"", "a = \"c\"").Replace(first)+
					"  disks = { data = { size_gib = 1 } }\n"), "size_gib = 1 }\n", "size_gib = 2 }\n", 1),
				ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(
					says(t, "domblklist acc", `vdb +/var/lib/libvirt/nodelives/acc-data.qcow2`),
					says(t, "domblkinfo acc vda", `Capacity: +2147483648`),
					says(t, "net-dumpxml "+network, `ip='10.77.0.2'`),
					says(t, "dumpxml acc", `<virtcluster:label name="a">c<`, `<serial>data</serial>`),
					resource.TestCheckResourceAttr(address, "network_interfaces.#", "2"),
				),
			},
			{
				ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStateVerify: true,
				ImportStateVerifyIgnore: []string{"root_disk.image", "butane", "ignition"},
			},
			{Config: config(image, network, first), ExpectError: wrapped("A disk cannot shrink")},
			{ // and back, unplugging both
				Config: strings.Replace(config(image, network, first), "size_gib = 1 }\n", "size_gib = 2 }\n", 1),
				Check: func(*terraform.State) error {
					if got := virsh(t, "domblklist", "acc"); strings.Contains(got, "vdb") {
						t.Errorf("the disk is still plugged in:\n%s", got)
					}
					return nil
				},
			},
		},
	})
}

func TestAccNodeRestartsOnlyWhereAllowed(t *testing.T) {
	acctest.BothCLIs(t)
	_, network, image := stage(t, "noderestart")
	var before string
	same := func(want bool) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if got := virsh(t, "dumpxml", "--inactive", "acc"); (got == before) != want {
				t.Errorf("the configuration being the same is %t, want %t", got == before, want)
			}
			return nil
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config(image, network, oneInterface)},
			{
				PreConfig:   func() { before = virsh(t, "dumpxml", "--inactive", "acc") },
				Config:      config(image, network, oneInterface+"  graphics = \"vnc\"\n"),
				ExpectError: regexp.MustCompile("needs a restart"),
			},
			{
				Config:      config(image, network, oneInterface+"  allow_restart = true\n  machine = \"pc-q35-99.9\"\n"),
				ExpectError: regexp.MustCompile("Machine type not offered"),
			},
			{Config: config(image, network, oneInterface), Check: same(true)},
			{
				Config: config(image, network, oneInterface+"  allow_restart = true\n  graphics = \"vnc\"\n"),
				Check:  resource.ComposeTestCheckFunc(same(false), says(t, "dominfo acc", `State: +running`)),
			},
		},
	})
}

func TestAccNodeOfVirshIsImportedAndKeepsWhatIsNotModelled(t *testing.T) {
	acctest.BothCLIs(t)
	pool, network, image := stage(t, "nodeimport")
	disk := "/var/lib/libvirt/" + pool + "/hand.qcow2"
	ignition := t.TempDir() + "/config.ign"
	if err := os.WriteFile(ignition, []byte("{\"ignition\":{\"version\":\"3.4.0\"}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	xml := fmt.Sprintf(`<domain type='qemu'><name>acc</name><title>By hand</title><memory unit='MiB'>128</memory><vcpu current='1'>2</vcpu>
		<cputune><shares>512</shares></cputune><sysinfo type='fwcfg'><entry name='opt/com.coreos/config' file='%s'/></sysinfo><os><type machine='pc'>hvm</type><boot dev='hd'/></os><features><acpi/></features><cpu mode='custom' match='exact'><model>qemu64</model><feature policy='disable' name='x2apic'/></cpu><devices>
		<disk type='file' device='disk'><driver name='qemu' type='qcow2' cache='unsafe'/><source file='%s'/><target dev='vda' bus='virtio'/></disk>
		<interface type='network'><mac address='52:54:00:77:00:01'/><source network='%s'/><model type='virtio'/><driver queues='2'/><filterref filter='byhand'/></interface>
		<serial type='pty'/><watchdog model='i6300esb'/></devices></domain>`, ignition, disk, network)
	file := t.TempDir() + "/domain.xml"
	if err := os.WriteFile(file, []byte(xml), 0o644); err != nil {
		t.Fatal(err)
	}
	guard := t.TempDir() + "/filter.xml"
	if err := os.WriteFile(guard, []byte("<filter name='byhand' chain='root'><rule action='accept' direction='inout'/></filter>"), 0o644); err != nil {
		t.Fatal(err)
	}
	hand := acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_node" "n" {
  name       = "acc"
  type       = "qemu"
  memory_mib = 128
  root_disk  = { image = %q }
  network_interfaces = [{ network = %q, mac = "52-54-00-77-00-01" }]
  ignition   = "{ \"ignition\": { \"version\": \"3.4.0\" } }"
`, image, network)
	kept := says(t, "dumpxml --inactive acc", `<title>By hand</title>`, `<shares>512</shares>`, `cache='unsafe'`, `queues='2'`, `i6300esb`, `name='x2apic'`, `filter='byhand'`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{
				PreConfig: func() {
					if out, err := exec.Command("qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", image, disk, "1G").CombinedOutput(); err != nil {
						t.Fatalf("qemu-img: %s", out)
					}
					virsh(t, "pool-refresh", pool)
					virsh(t, "nwfilter-define", guard)
					t.Cleanup(func() { virsh(t, "nwfilter-undefine", "byhand") })
					virsh(t, "define", file)
					virsh(t, "start", "acc")
				},
				Config: hand + "}\n", ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStatePersist: true,
			},
			{Config: hand + "}\n", PlanOnly: true},
			{Config: hand + "  boot = { order = [\"hd\"] }\n}\n", PlanOnly: true},
			{Config: hand + "  role = \"worker\"\n  vcpus = 2\n}\n", Check: resource.ComposeTestCheckFunc(kept, says(t, "vcpucount acc", `current +live +2`))},
			{Config: hand + "  role = \"worker\"\n  vcpus = 2\n  allow_restart = true\n  graphics = \"vnc\"\n  shutdown_timeout = \"0s\"\n  cpu = { mode = \"custom\", model = \"Nehalem\" }\n}\n", Check: kept},
		},
	})
}
