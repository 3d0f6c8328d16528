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

// keepsRunning returns a function that notes which run of the node it is, and a check that it is the same one.
func keepsRunning(t *testing.T) (note func(), same resource.TestCheckFunc) {
	var id string
	return func() { id = virsh(t, "domid", "acc") }, func(*terraform.State) error {
		if now := virsh(t, "domid", "acc"); now != id {
			return fmt.Errorf("the node was restarted: it was %s and is %s", id, now)
		}
		return nil
	}
}

func TestAccNodeHasDevicesThatFollowWhileItRuns(t *testing.T) {
	acctest.BothCLIs(t)
	_, network, image := stage(t, "nodelive")
	one, two := t.TempDir(), t.TempDir()
	node := func(more string) string {
		return config(image, network, oneInterface+strings.NewReplacer("ONE", one, "TWO", two).Replace(more))
	}
	const (
		shared = "  xml_patch = { \"/domain/memoryBacking/access/@mode\" = \"shared\", \"/domain/memoryBacking/source/@type\" = \"memfd\" }\n"
		first  = shared + "  filesystems = [{ source = \"ONE\", target = \"one\" }]\n"
		both   = shared + "  filesystems = [{ source = \"TWO\", target = \"two\" }, { source = \"ONE\", target = \"one\" }]\n"
		moved  = shared + "  rng = false\n  filesystems = [{ source = \"TWO\", target = \"one\" }]\n"
		none   = shared + "  filesystems = []\n"
	)
	note, same := keepsRunning(t)
	has := func(dirs ...string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			for _, command := range []string{"dumpxml acc", "dumpxml --inactive acc"} {
				got := regexp.MustCompile(`<source dir='([^']*)'/>`).FindAllStringSubmatch(virsh(t, strings.Fields(command)...), -1)
				found := map[string]bool{}
				for _, g := range got {
					found[g[1]] = true
				}
				if len(got) != len(dirs) {
					t.Errorf("virsh %s has shares of %v, want %v", command, got, dirs)
				}
				for _, d := range dirs {
					if !found[d] {
						t.Errorf("virsh %s has shares of %v, and none of %s", command, got, d)
					}
				}
			}
			return nil
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: node(shared), Check: resource.ComposeTestCheckFunc(answers(t, "/__state", "cpus_online"), has())},
			{PreConfig: note, Config: node(first), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(has(one), same)},
			{Config: node(both), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(has(two, one), same)}, // the second apply's plan says whether the order is kept
			{Config: node(moved), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(has(two), same, lacks(t, "dumpxml acc", `<rng`), lacks(t, "dumpxml --inactive acc", `<rng`))},
			{Config: node(strings.Replace(moved, "\"one\" }", "\"one\", driver = \"9p\" }", 1)), ExpectError: wrapped(`"9p" cannot be plugged in or out`)},
			{Config: node("  rng = true\n" + none), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(has(), same, says(t, "dumpxml acc", `<rng`), says(t, "dumpxml --inactive acc", `<rng`))},
			{ // a person takes it from what runs alone
				PreConfig: func() { detachRNG(t) },
				Config:    node("  rng = true\n" + none), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(same, says(t, "dumpxml acc", `<rng`), says(t, "dumpxml --inactive acc", `<rng`)),
			},
			{Config: node("  allow_restart = true\n  xml_patch = {}\n"), ConfigPlanChecks: updates(), Check: lacks(t, "dumpxml acc", `<memoryBacking>`)},
			{Config: node("  filesystems = [{ source = \"ONE\", target = \"one\" }]\n"), ExpectError: wrapped("its memory is shared with virtiofsd from its next start on")},
		},
	})
}

// detachRNG takes the random number generator out of the running node, whose guest lets go of it in its time.
func detachRNG(t *testing.T) {
	t.Helper()
	file := t.TempDir() + "/rng.xml"
	if err := os.WriteFile(file, []byte("<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>"), 0o600); err != nil {
		t.Fatal(err)
	}
	virsh(t, "detach-device", "acc", file, "--live")
	acctest.Eventually(t, "the guest has let go of the generator", func() bool { return !strings.Contains(virsh(t, "dumpxml", "acc"), "<rng") })
}

// TestAccNodeHasDevicesAndPinsThatFollowWhileItRuns needs a machine whose KVM starts guests: libvirt pins no vCPU that is emulated.
func TestAccNodeHasDevicesAndPinsThatFollowWhileItRuns(t *testing.T) {
	acctest.BothCLIs(t)
	_, network, image := stage(t, "nodepins")
	const bare = "<domain type='kvm'><name>acc-kvm</name><memory unit='MiB'>64</memory><os><type arch='x86_64' machine='q35'>hvm</type></os><cpu mode='host-passthrough'/></domain>"
	if out, err := exec.Command("virsh", "create", "--paused", writeFile(t, bare)).CombinedOutput(); err != nil {
		t.Skipf("libvirt pins no vCPU that is emulated, and no virtual machine of type \"kvm\" runs here: %s", out)
	}
	virsh(t, "destroy", "acc-kvm")
	node := func(more string) string {
		return strings.Replace(config(image, network, oneInterface+"  vcpus = 2\n"+more), `type             = "qemu"`, `type             = "kvm"`, 1)
	}
	pinned := func(pins string) string { return node("  cpu = { pinning = {" + pins + "} }\n") }
	note, same := keepsRunning(t)
	const live, next = "vcpupin acc --live", "vcpupin acc --config"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: pinned(`"0" = "0"`), Check: says(t, live, `(?m)^ 0 +0$`)},
			{PreConfig: note, Config: pinned(`"1" = "1"`), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(says(t, live, `(?m)^ 0 +0[-,]`, `(?m)^ 1 +1$`), says(t, next, `(?m)^ 1 +1$`), same)},
			{ // drift
				PreConfig: func() { virsh(t, "vcpupin", "acc", "1", "0", "--live", "--config") },
				Config:    pinned(`"1" = "1"`), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(says(t, live, `(?m)^ 1 +1$`), same),
			},
			{Config: node(""), PlanOnly: true}, // what is left out stays
			{Config: pinned(""), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(says(t, live, `(?m)^ 1 +0[-,]`), same)},
		},
	})
}

// TestAccNodeKeepsWhatIsSaidOfACardThatChanges has a person say something of a card in the configuration of a node that runs, and something else of what
// runs: a change of the card leaves each where it is.
func TestAccNodeKeepsWhatIsSaidOfACardThatChanges(t *testing.T) {
	_, network, image := stage(t, "nodecard")
	node := func(guarded bool) string {
		return config(image, network, fmt.Sprintf("  network_interfaces = [{ network = \"NET\", ip = \"10.77.0.1\", mac = \"52:54:00:77:00:41\", port_security = %t }]\n", guarded))
	}
	note, same := keepsRunning(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: node(true), Check: says(t, "dumpxml acc", `<filterref`)},
			{
				PreConfig: func() {
					note()
					xml := regexp.MustCompile(`(<interface [\s\S]*?<model type='virtio'/>)`).ReplaceAllString(virsh(t, "dumpxml", "--inactive", "acc"), "$1<driver name='vhost' queues='2'/>")
					virsh(t, "define", writeFile(t, xml))
					virsh(t, "domif-setlink", "acc", "52:54:00:77:00:41", "down")
				},
				Config: node(false), ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(
					same, says(t, "dumpxml --inactive acc", `queues='2'`), lacks(t, "dumpxml --inactive acc", `<filterref`, `<link state='down'`),
					says(t, "dumpxml acc", `<link state='down'`), lacks(t, "dumpxml acc", `<filterref`, `queues='2'`),
				),
			},
		},
	})
}
