package node_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// interfaces are so many of them on a network.
func interfaces(n int) string {
	return "  network_interfaces = [" + strings.Repeat("{ network = \"NET\" }, ", n) + "]\n"
}

func TestAccNodeHasRoomForMoreOrIsRestarted(t *testing.T) {
	_, network, image := stage(t, "noderoom")
	id := ""
	restarted := func(want bool) resource.TestCheckFunc {
		return func(*terraform.State) error {
			was := id
			if id = strings.TrimSpace(virsh(t, "domid", "acc")); was != "" && (id != was) != want {
				t.Errorf("the machine being another one is %t, want %t", id != was, want)
			}
			return nil
		}
	}
	cards := func(want int) resource.TestCheckFunc {
		return func(*terraform.State) error {
			for _, flags := range [][]string{nil, {"--inactive"}} {
				if got := strings.Count(virsh(t, append([]string{"domiflist", "acc"}, flags...)...), "52:54:"); got != want {
					t.Errorf("%v has %d interfaces, want %d", flags, got, want)
				}
			}
			return nil
		}
	}
	refused := func(text string) *regexp.Regexp {
		return regexp.MustCompile(`This change needs a restart[\s\S]*` + wrapped(text).String())
	}
	const many = 10
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config(image, network, ""), Check: restarted(false)},
			{Config: config(image, network, interfaces(many)), ExpectError: refused(`network_interfaces[9]: node "acc" runs, and its machine has no free PCI Express port for it: set allow_restart = true`)},
			{
				Config:      config(image, network, "  disks = { old = { size_gib = 1, bus = \"sata\" } }\n"),
				ExpectError: refused(`disks["old"]: node "acc" runs, and a disk on bus "sata" cannot be plugged in or out`),
			},
			{Config: config(image, network, interfaces(many)+"  allow_restart = true\n"), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(restarted(true), cards(many))},
			{Config: config(image, network, interfaces(many+8)), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(restarted(false), cards(many+8))},
			{Config: config(image, network, "  machine = \"pc\"\n  allow_restart = true\n"), Check: restarted(true)},
			{Config: config(image, network, "  machine = \"pc\"\n"+interfaces(30)), ExpectError: refused(`network_interfaces[26]: node "acc" runs, and its machine has no free PCI slot for it`)},
			{Config: config(image, network, "  machine = \"q35\"\n  allow_restart = true\n"+oneInterface), Check: restarted(true)},
		},
	})
}

// holds expects a plan for a node of which so much is there already.
type holds struct {
	disks      []string
	interfaces int
}

func (h holds) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	at := slices.IndexFunc(req.Plan.ResourceChanges, func(c *tfjson.ResourceChange) bool { return c.Address == address })
	before := req.Plan.ResourceChanges[at].Change.Before.(map[string]any)
	disks, _ := before["disks"].(map[string]any)
	cards, _ := before["network_interfaces"].([]any)
	for _, key := range h.disks {
		if disks[key] == nil {
			resp.Error = fmt.Errorf("the plan does not know disk %q", key)
		}
	}
	if len(disks) != len(h.disks) || len(cards) != h.interfaces {
		resp.Error = fmt.Errorf("the plan begins with disks %v and interfaces %v", disks, cards)
	}
}

// TestAccNodeThatWasRefusedADevice has libvirt refuse in the middle what no plan can know.
func TestAccNodeThatWasRefusedADevice(t *testing.T) {
	pool, network, image := stage(t, "noderefused")
	given := "/var/lib/libvirt/" + pool + "/given.qcow2"
	create := func() {
		if out, err := exec.Command("qemu-img", "create", "-q", "-f", "qcow2", given, "1G").CombinedOutput(); err != nil {
			t.Fatalf("qemu-img: %s", out)
		}
	}
	create()
	file, err := os.OpenFile(given, os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteAt([]byte{0x40}, 72) // a feature of the format that no QEMU knows
	}
	if err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	virsh(t, "pool-refresh", pool)
	t.Cleanup(func() { virsh(t, "vol-delete", "given.qcow2", pool) })

	changed := func(more string) string {
		return config(image, network, fmt.Sprintf(`  disks = { a = { size_gib = 1 }, b = { volume = %q }, c = { size_gib = 1 } }
  network_interfaces = [{ network = "NET", ip = "10.77.0.1" }, { network = "NET", ip = "10.77.0.2", port_security = true%s }]
`, given, more))
	}
	begins := func(with holds) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate), with}}
	}
	left := func() {
		if got := virsh(t, "net-dumpxml", network); strings.Contains(got, "10.77.0.2'") {
			t.Errorf("a reservation is left of an interface that is not there:\n%s", got)
		}
		if got := virsh(t, "nwfilter-list"); strings.Contains(got, "virtcluster-acc-") {
			t.Errorf("a filter is left of it:\n%s", got)
		}
		if got := virsh(t, "vol-list", pool); strings.Contains(got, "acc-c.qcow2") != strings.Contains(virsh(t, "domblklist", "acc"), "acc-c.qcow2") {
			t.Errorf("a volume is left that no disk refers to:\n%s", got)
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config(image, network, oneInterface)},
			{Config: changed(""), ExpectError: regexp.MustCompile(`(?s)Cannot update node "acc".*disks\["b"\]:.*libvirt:`)},
			{PreConfig: left, Config: changed(""), PlanOnly: true, ExpectNonEmptyPlan: true},
			{PreConfig: create, Config: changed(", mtu = 65535"), ConfigPlanChecks: begins(holds{[]string{"a"}, 1}), ExpectError: regexp.MustCompile(`(?s)Cannot update node "acc".*network_interfaces\[1\]:.*libvirt:`)},
			{PreConfig: left, Config: changed(""), ConfigPlanChecks: begins(holds{[]string{"a", "b", "c"}, 1}), Check: resource.ComposeTestCheckFunc(
				says(t, "domblklist acc", `acc-a\.qcow2`, `given\.qcow2`, `acc-c\.qcow2`),
				says(t, "net-dumpxml "+network, `ip='10\.77\.0\.2'`),
				says(t, "nwfilter-list", `virtcluster-acc-`),
			)},
		},
	})
}

func TestAccNodeThatDoesNotRunIsDrift(t *testing.T) {
	_, network, image := stage(t, "nodedrift")
	id := ""
	runs := func(same bool) resource.TestCheckFunc {
		return func(*terraform.State) error {
			was := id
			if id = strings.TrimSpace(virsh(t, "domid", "acc")); was != "" && (id == was) != same {
				t.Errorf("the machine being the same is %t, want %t", id == was, same)
			}
			return says(t, "domstate acc", `^running`)(nil)
		}
	}
	made := config(image, network, oneInterface)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: made, Check: runs(true)},
			{PreConfig: func() { virsh(t, "suspend", "acc") }, Config: made, ConfigPlanChecks: updates(), Check: runs(true)},
			{Config: strings.Replace(made, "  network_interfaces", "  disks = { a = { size_gib = 1 } }\n  network_interfaces", 1)},
			{ // only a guest that is awake lets go of a disk
				PreConfig: func() { virsh(t, "suspend", "acc") },
				Config:    config(image, network, oneInterface+"  timeouts = { update = \"2m\" }\n"), ConfigPlanChecks: updates(), Check: runs(true),
			},
			{ // a paused machine is not to be restarted for what needs it either
				PreConfig:   func() { virsh(t, "suspend", "acc") },
				Config:      config(image, network, oneInterface+"  rng = false\n"),
				ExpectError: regexp.MustCompile("This change needs a restart"),
			},
			{
				PreConfig: func() {
					text, err := os.ReadFile("/run/libvirt/qemu/acc.pid")
					pid, err2 := strconv.Atoi(strings.TrimSpace(string(text)))
					if err != nil || err2 != nil || syscall.Kill(pid, syscall.SIGKILL) != nil {
						t.Fatalf("cannot kill the machine: %q, %v, %v", text, err, err2)
					}
					prints(t, `shut off \(crashed\)`, "domstate", "--reason", "acc")
				},
				Config: made, ConfigPlanChecks: updates(), Check: runs(false),
			},
		},
	})
}

func TestAccNodeThatOthersSwitchIsLeftAsTheyWant(t *testing.T) {
	_, network, image := stage(t, "nodepower")
	is := func(state string) resource.TestCheckFunc { return says(t, "domstate acc", "^"+state) }
	external := config(image, network, oneInterface+"  power = \"external\"\n")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: external, Check: is("running")},
			{PreConfig: func() { virsh(t, "destroy", "acc") }, Config: external, PlanOnly: true},
			{Config: external + "# changed\n", Check: is("shut off")},
			{Config: strings.Replace(external, "power =", "autostart = false\n  power =", 1), ConfigPlanChecks: updates(), Check: is("shut off")},
			{PreConfig: func() { virsh(t, "start", "acc") }, Config: strings.Replace(external, "power =", "autostart = false\n  power =", 1), PlanOnly: true},
			{Config: strings.Replace(external, "power =", "running = false\n  power =", 1), ConfigPlanChecks: updates(), Check: is("running")},
			{PreConfig: func() { virsh(t, "destroy", "acc") }, Config: config(image, network, oneInterface), ConfigPlanChecks: updates(), Check: is("running")},
			{PreConfig: func() { virsh(t, "destroy", "acc") }, Config: config(image, network, oneInterface), PlanOnly: true, ExpectNonEmptyPlan: true},
		},
	})
}
