package faults

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// armTag fills bytes 9 to 15 of a program's header, which nobody reads (ELF's e_ident has them for padding), so that it is this test's programs alone
// that the kernel hands to an emulator: its list of these is for all programs of the machine that the sandbox is on.
const armTag = "sandbox"

// emulateARM has programs for ARM processors that have the tag run, until the test ends.
func emulateARM(t *testing.T, emulator string) {
	t.Helper()
	const name, magic, mask = "virtcluster-sandbox", `\x7fELF\x02\x01\x01\x00\x00` + armTag + `\x00\x00\xb7\x00`, `\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\xff\xff`
	dir := t.TempDir()
	acctest.Run(t, "mount", "-t", "binfmt_misc", "none", dir)
	entry := filepath.Join(dir, name)
	remove := func() { _ = os.WriteFile(entry, []byte("-1"), 0o600) }
	remove() // what a run left that was killed
	t.Cleanup(func() {
		remove()
		acctest.Run(t, "umount", dir)
	})
	// F has the kernel open the emulator now, so that it is there for machines that do not see its file.
	if err := os.WriteFile(filepath.Join(dir, "register"), []byte(":"+name+":M::"+magic+":"+mask+":"+emulator+":F"), 0o600); err != nil {
		t.Fatalf("the kernel takes no emulator: %v", err)
	}
}

// TestAccBMCProgramOfAnotherProcessorServes has the program be the release's for ARM processors, and run as one: clients of others switch a machine by it.
func TestAccBMCProgramOfAnotherProcessorServes(t *testing.T) {
	acctest.InSandbox(t)
	out, err := exec.Command("./arm-program").Output()
	if err != nil {
		t.Fatalf("the emulator is downloaded outside of the sandbox, by test/faults/arm-program: %v", err)
	}
	dir := strings.TrimSpace(string(out))
	program, err := os.ReadFile(filepath.Join(dir, "terraform-provider-virtcluster"))
	if err != nil {
		t.Fatal(err)
	}
	copy(program[9:], armTag)
	emulateARM(t, filepath.Join(dir, "qemu-aarch64-static"))

	const machine, password = "svc-1", "correct-horse"
	at := acctest.KnownServiceNodes(t, 1)[0]
	acctest.OfferLibvirt(t, machine)
	xml := filepath.Join(t.TempDir(), "arm.xml")
	if err := os.WriteFile(xml, []byte("<domain type='qemu'><name>arm</name><memory unit='MiB'>64</memory><os><type arch='x86_64'>hvm</type></os></domain>"), 0o600); err != nil {
		t.Fatal(err)
	}
	acctest.Virsh(t, "define", xml)
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "hypervisor", "sh", "-c", "virsh destroy arm; virsh undefine arm")
	})
	leavesNothing := acctest.LeavesNothing(t, machine, "/etc/virtcluster* /var/lib/virtcluster-bmc* /usr/local/libexec/virtcluster* /etc/systemd/system/virtcluster*", "getent passwd | grep vc-bmc; ss -Hltun | grep ':8001\\|:6231'; true")
	release := acctest.NewReleaseOf(t, machine, "9.9.9", program)

	isState := func(want string) {
		t.Helper()
		acctest.Eventually(t, "the machine is "+want, func() bool { return acctest.Virsh(t, "domstate", "arm") == want })
	}
	does := func(want string, argv ...string) {
		t.Helper()
		if out := acctest.Run(t, argv...); !strings.Contains(out, want) {
			t.Errorf("%s: %s", strings.Join(argv, " "), out)
		}
	}
	ipmi := func(want string, argv ...string) {
		t.Helper()
		does(want, append([]string{"ipmitool", "-I", "lanplus", "-H", at, "-p", "6231", "-U", "admin", "-P", password}, argv...)...)
	}
	redfish := func(want, path string, argv ...string) {
		t.Helper()
		does(want, append([]string{"curl", "-sS", "--insecure", "--user", "admin:" + password, "--header", "Content-Type: application/json", "https://" + at + ":8001/redfish/v1/" + path}, argv...)...)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: release.Providers,
		CheckDestroy:             leavesNothing,
		Steps: []resource.TestStep{{
			Config: fmt.Sprintf(`
provider "virtcluster" {
  uri = "qemu+ssh://root@%[1]s/system"
  ssh = { private_key_file = %[2]q }
}
resource "virtcluster_bmc" "it" {
  name                = "rack"
  password_wo         = %[3]q
  password_wo_version = 1
  address             = %[1]q
  nodes               = { arm = { port = 8001, ipmi_port = 6231 } }
}
`, at, os.Getenv("SANDBOX_SSH_KEY"), password),
			Check: resource.ComposeTestCheckFunc(
				resource.TestCheckResourceAttr("virtcluster_bmc.it", "program", release.Archive),
				func(*terraform.State) error {
					// What runs is the emulator, with a program of an ARM processor (183 in its header).
					if what := acctest.On(t, machine, "sh", "-ec", "basename $(readlink /proc/$(systemctl show --property=MainPID --value virtcluster-bmc-rack)/exe); od -An -tu2 -j18 -N2 /usr/local/libexec/virtcluster-bmc-rack"); strings.Join(strings.Fields(what), " ") != "qemu-aarch64-static 183" {
						return fmt.Errorf("what runs is %s", what)
					}
					ipmi("is off", "power", "status")
					ipmi("Up/On", "power", "on")
					isState("running")
					redfish(`"PowerState": "On"`, "Systems/arm")
					redfish("", "Systems/arm/Actions/ComputerSystem.Reset", "--data", `{"ResetType":"ForceOff"}`)
					isState("shut off")
					ipmi("is off", "power", "status")
					return nil
				},
			),
		}},
	})
}
