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
	nested := resource.TestStep{Config: node("  cpu = { nested = true }\n"), PlanOnly: true}
	offers, err := exec.Command("sh", "-c", `virsh domcapabilities --virttype kvm --machine q35 >/tmp/caps &&
		{ sed -n '/host-model/,/<.mode>/p' /tmp/caps | sed -e "1s/.*/<cpu mode='custom' match='exact'>/" -e '$s/.*/<\/cpu>/' >/tmp/cpu.xml
		  virsh hypervisor-cpu-baseline --virttype kvm --machine q35 --features /tmp/cpu.xml; }`).CombinedOutput()
	nested.ExpectError = expectNested(string(offers), err == nil)
	nested.ExpectNonEmptyPlan = nested.ExpectError == nil
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

// expectNested returns the error that a guest with nested virtualisation is refused by on a machine whose libvirt says this of the
// processor that it offers to guests of KVM; nil where it is not refused.
func expectNested(offers string, answered bool) *regexp.Regexp {
	switch {
	case !answered && !strings.Contains(offers, "feature"): // no KVM at all
		return regexp.MustCompile("Type not offered")
	case !regexp.MustCompile(`<feature policy='require' name='(vmx|svm)'/>`).MatchString(offers):
		return regexp.MustCompile(`(?s)No nested virtualisation.*cpu\.nested:`)
	}
	return nil
}

// An EPYC has svm by its model, and libvirt says of one whose KVM offers no nested virtualisation that it is left out.
func TestExpectationOfNestedVirtualisationFollowsWhatTheMachineSays(t *testing.T) {
	const begin, end = "<cpu mode='custom' match='exact'>\n  <model fallback='forbid'>EPYC</model>\n  <feature policy='require' name='aes'/>\n", "</cpu>\n"
	for name, c := range map[string]struct {
		offers   string
		answered bool
		want     string
	}{
		"offered":           {begin + "  <feature policy='require' name='svm'/>\n" + end, true, ""},
		"left out":          {begin + "  <feature policy='disable' name='svm'/>\n" + end, true, "No nested virtualisation"},
		"not said":          {begin + "  <feature policy='require' name='svme-addr-chk'/>\n" + end, true, "No nested virtualisation"},
		"a machine without": {"error: invalid argument: KVM is not supported by '/usr/bin/qemu-system-x86_64' on this host", false, "Type not offered"},
	} {
		t.Run(name, func(t *testing.T) {
			got := expectNested(c.offers, c.answered)
			if (got == nil) != (c.want == "") || got != nil && !strings.Contains(got.String(), c.want) {
				t.Errorf("expects %v", got)
			}
		})
	}
}
