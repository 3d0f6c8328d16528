package node_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccNodeHasDevicesThatItsGuestSees asks Debian's kernel for clouds. It has no driver of the watchdog and of 9p: of these it shows that they are
// there, and test/faults has an ordinary kernel for the rest (TestAccNodeHasDevicesForAnOrdinaryKernel).
func TestAccNodeHasDevicesThatItsGuestSees(t *testing.T) {
	_, network, _ := stage(t, "nodeseen")
	image, dir := acctest.DebianImage(t, "nodeseendisks"), t.TempDir()
	shared := fstest.MapFS{"one/greeting": {Data: []byte("first"), Mode: 0o644}, "two/greeting": {Data: []byte("second"), Mode: 0o644}}
	if err := os.CopyFS(dir, shared); err != nil { // a guest reads it: directories are 0777 but for the umask
		t.Fatal(err)
	}
	node := func(shares string) string {
		all := acctest.Provider() + `
resource "virtcluster_node" "n" {
  name               = "acc"
  type               = "qemu"
  memory_mib         = 1024
  vcpus              = 2
  cpu                = { topology = { cores = 2 } }
  numa               = [{ cpus = "0", memory_mib = 384 }, { cpus = "1", memory_mib = 640 }]
  shutdown_timeout   = "0s"
  root_disk          = { image = "IMAGE" }
  disks              = { data = { size_gib = 1, iothread = 1 }, more = { size_gib = 2, bus = "scsi" } }
  network_interfaces = [{ network = "NET", name = "eth0", ip = "10.77.0.1" }]
  cloud_init         = { user_data = "#cloud-config\n" }
  tpm                = {}
  watchdog           = {}
  smbios             = { manufacturer = "Forge", product = "Anvil", serial = "42", oem_strings = ["one & two"] }
  filesystems        = [SHARES{ source = "DIR/one", target = "served", driver = "9p" }]
}
`
		return strings.NewReplacer("IMAGE", image, "NET", network, "SHARES", strings.ReplaceAll(shares, "DIR", dir), "DIR", dir).Replace(all)
	}
	const one, two = `{ source = "DIR/one", target = "one" }, `, `{ source = "DIR/two", target = "two" }, `
	seen := func(script, want string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if got := acctest.RunInGuest(t, "acc", script); got != want {
				t.Errorf("the guest says %q to %s, want %q", got, script, want)
			}
			return nil
		}
	}
	boots := func(*terraform.State) error {
		for began := time.Now(); ; time.Sleep(time.Second) {
			if said, err := acctest.InGuest(t.Context(), "acc", "echo here"); err == nil {
				t.Logf("its agent says %s after %s", strings.TrimSpace(said), time.Since(began).Round(time.Second))
				return nil
			} else if time.Since(began) > 15*time.Minute {
				return fmt.Errorf("the guest does not boot: %w", err)
			}
		}
	}
	const mount = "mkdir -p /run/$0 && mount -t virtiofs $0 /run/$0 && cat /run/$0/greeting"
	mounts := func(tag, want string) resource.TestCheckFunc {
		return seen(strings.ReplaceAll(mount, "$0", tag), want)
	}
	pci := func(device string) resource.TestCheckFunc {
		return seen("grep -l '"+device+"' /sys/bus/pci/devices/*/device | wc -l", "1")
	}
	note, same := keepsRunning(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{
				Config: node(one),
				Check: resource.ComposeTestCheckFunc(
					boots,
					mounts("one", "first"),
					seen("echo written >/run/one/back; cat /run/one/back", "written"),
					func(*terraform.State) error {
						if text, err := os.ReadFile(filepath.Join(dir, "one", "back")); err != nil || string(text) != "written\n" {
							t.Errorf("what the guest wrote is %q: %v", text, err)
						}
						return nil
					},
					seen("cat /sys/class/tpm/tpm0/tpm_version_major", "2"),
					seen("cd /sys/class/dmi/id; cat sys_vendor product_name product_serial", "Forge\nAnvil\n42"),
					seen("tr -d '\\000' </sys/firmware/dmi/entries/11-0/raw | grep -ao 'one & two'", "one & two"),
					seen("cd /sys/block; for d in vd?; do cat $d/serial; echo; done | sort", "data\nroot\nseed"),
					seen("cat /sys/block/sda/size", strconv.Itoa(2<<30/512)),
					seen("cd /sys/devices/system/node; cat online node0/cpulist node1/cpulist", "0-1\n0\n1"),
					seen("cat /sys/devices/system/cpu/cpu0/topology/core_cpus_list /sys/devices/system/cpu/cpu1/topology/package_cpus_list", "0\n0-1"),
					seen("cat /sys/class/misc/hw_random/rng_current", "virtio_rng.0"),
					pci("0x25ab"),    // the watchdog
					pci("0x10[04]9"), // 9p, by its number in a slot of PCI, and of PCI Express
				),
			},
			{ // plugged into what runs, and mounted there
				PreConfig: note, Config: node(two + one), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(mounts("two", "second"), seen("cat /run/one/greeting", "first"), same),
			},
			{Config: node(two), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(seen("cat /run/two/greeting", "second"), seen("mount -t virtiofs one /mnt 2>/dev/null || echo gone", "gone"), same)},
		},
	})
}

// hugetlbKiB is how much of a domain's memory is huge pages.
func hugetlbKiB(t *testing.T, domain string) (sum int) {
	t.Helper()
	pid, err := os.ReadFile("/run/libvirt/qemu/" + domain + ".pid")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/smaps")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?:Private|Shared)_Hugetlb: +(\d+) kB`).FindAllSubmatch(maps, -1) {
		n, _ := strconv.Atoi(string(m[1]))
		sum += n
	}
	return sum
}

// setPagesAside has the kernel keep so many more huge pages, of 2 MiB each, until the test ends.
func setPagesAside(t *testing.T, more int) {
	t.Helper()
	const file = "/proc/sys/vm/nr_hugepages"
	read := func() int {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return n
	}
	write := func(n int) {
		if err := os.WriteFile(file, []byte(strconv.Itoa(n)), 0o600); err != nil {
			t.Error(err)
		}
	}
	before := read()
	t.Cleanup(func() { write(before) })
	if write(before + more); read() < before+more {
		t.Fatalf("the kernel sets %d pages aside, of %d: its memory is too much in pieces", read(), before+more)
	}
}

func TestAccNodeIsMadeOfHugePages(t *testing.T) {
	_, network, image := stage(t, "nodehugepages")
	setPagesAside(t, 80)
	node := func(more string) string { return config(image, network, oneInterface+more) }
	made := func(kib int) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if got := hugetlbKiB(t, "acc"); got != kib {
				t.Errorf("%d KiB of its memory are huge pages, want %d", got, kib)
			}
			return nil
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: node("  hugepages = \"1G\"\n"), ExpectError: wrapped("Too few huge pages")},
			{Config: node("  hugepages = \"2M\"\n"), Check: resource.ComposeTestCheckFunc(answers(t, "/__state", "cpus_online"), says(t, "dumpxml acc", `<page size='2048' unit='KiB'/>`), made(128<<10))},
			{Config: node(""), PlanOnly: true}, // what is left out stays
			{Config: node("  hugepages = \"default\"\n"), ExpectError: regexp.MustCompile("needs a restart")},
			{Config: node("  allow_restart = true\n  hugepages = \"default\"\n"), ConfigPlanChecks: updates(), Check: made(128 << 10)},
			{Config: node("  allow_restart = true\n  hugepages = \"none\"\n"), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(lacks(t, "dumpxml acc", `<hugepages`), made(0))},
		},
	})
}
