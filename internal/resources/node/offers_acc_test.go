package node_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccNodeOnAHypervisorThatLacksWhatItNeeds takes the firmware away for a while, and asks libvirt itself about the
// processor, which differs from machine to machine.
func TestAccNodeOnAHypervisorThatLacksWhatItNeeds(t *testing.T) {
	acctest.InSandbox(t)
	const descriptors = "/usr/share/qemu/firmware"
	if out, err := exec.Command("mount", "-t", "tmpfs", "none", descriptors).CombinedOutput(); err != nil {
		t.Fatalf("mount: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", descriptors).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
	node := func(attributes string) string {
		return acctest.Provider() + "resource \"virtcluster_node\" \"n\" {\n  name = \"acc\"\n  running = false\n" + attributes + "}\n"
	}
	nested := resource.TestStep{Config: node("  cpu = { nested = true }\n"), PlanOnly: true, ExpectNonEmptyPlan: true}
	switch offers, err := exec.Command("sh", "-c", `virsh domcapabilities --virttype kvm --machine q35 >/tmp/caps &&
		{ sed -n '/host-model/,/<.mode>/p' /tmp/caps | sed -e "1s/.*/<cpu mode='custom' match='exact'>/" -e '$s/.*/<\/cpu>/' >/tmp/cpu.xml
		  virsh hypervisor-cpu-baseline --virttype kvm --machine q35 --features /tmp/cpu.xml; }`).CombinedOutput(); {
	case err != nil && !strings.Contains(string(offers), "feature"):
		nested.ExpectError = regexp.MustCompile("Type not offered")
	case !regexp.MustCompile(`name='(vmx|svm)'`).Match(offers):
		nested.ExpectError = regexp.MustCompile(`(?s)No nested virtualisation.*cpu\.nested:`)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			nested,
			{Config: node("  type = \"qemu\"\n  cpu = { nested = true }\n"), ExpectError: wrapped(`Nested virtualisation needs type "kvm"`)},
			// libvirt remembers what it has said of a machine type, so this one must not be asked about elsewhere.
			{Config: node("  type = \"qemu\"\n  machine = \"pc-q35-5.1\"\n  firmware = \"uefi\"\n"), ExpectError: regexp.MustCompile(`(?s)No UEFI firmware.*firmware\s+=\s+"uefi"`)},
		},
	})
}
