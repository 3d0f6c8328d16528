package node_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// inside is what the guest says about itself on its port 8080.
type inside struct {
	MemoryKiB int `json:"memory_kib"`
	Disks     []struct {
		Name   string `json:"name"`
		Bytes  int64  `json:"bytes"`
		Serial string `json:"serial"`
	} `json:"disks"`
}

// sizes are the guest's disks in GiB by their names: "vda:1 vdb:3".
func (i *inside) sizes() string {
	var all []string
	for _, d := range i.Disks {
		if strings.HasPrefix(d.Name, "vd") || strings.HasPrefix(d.Name, "sd") {
			all = append(all, fmt.Sprintf("%s:%g", d.Name, float64(d.Bytes)/(1<<30)))
		}
	}
	return strings.Join(all, " ")
}

// until waits until the guest says what is wanted of it.
func until(t *testing.T, want string, met func(*inside) bool) resource.TestCheckFunc {
	return func(*terraform.State) error {
		var out []byte
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
			var now inside
			out, _ = exec.Command("curl", "-s", "--max-time", "5", "http://10.77.0.1:8080/__state").Output()
			if json.Unmarshal(out, &now) == nil && met(&now) {
				return nil
			}
		}
		t.Errorf("the guest never had %s:\n%s", want, out)
		return nil
	}
}

// has waits until the guest has disks of these sizes.
func has(t *testing.T, sizes string) resource.TestCheckFunc {
	return until(t, sizes, func(i *inside) bool { return i.sizes() == sizes })
}

// between waits until the guest's kernel has that much memory in MiB; it keeps some of it for itself.
func between(t *testing.T, least, most int) resource.TestCheckFunc {
	return until(t, fmt.Sprintf("between %d and %d MiB", least, most), func(i *inside) bool { return i.MemoryKiB > least<<10 && i.MemoryKiB < most<<10 })
}

// running remembers the domain's id at its first call, and checks that it is the same from then on: a start gives another.
func running(t *testing.T) resource.TestCheckFunc {
	id := ""
	return func(*terraform.State) error {
		now := strings.TrimSpace(virsh(t, "domid", "acc"))
		if id != "" && now != id {
			t.Errorf("the node was restarted: it was domain %s and is %s", id, now)
		}
		id = now
		return nil
	}
}

// roomy is a node with disks of the given sizes in GiB: its own on two buses, and a raw volume of somebody else's.
func roomy(image, network string, memory, root, data, fast, volume int) string {
	c := config(image, network, oneInterface+fmt.Sprintf(`
  max_memory_mib = 256
  wait_for       = "guest_agent"
  disks = {
    data   = { size_gib = %d }
    fast   = { size_gib = %d, bus = "scsi" }
    shared = { volume = virtcluster_volume.v.id }
  }
`, data, fast))
	c = strings.NewReplacer("memory_mib       = 128", fmt.Sprintf("memory_mib = %d", memory), "size_gib = 1 }\n  network", fmt.Sprintf("size_gib = %d }\n  network", root)).Replace(c)
	return c + fmt.Sprintf("resource \"virtcluster_volume\" \"v\" {\n  name = \"v\"\n  pool = %q\n  format = \"raw\"\n  size_gib = %d\n}\n", network, volume)
}

func TestAccNodeGrowsWhileItRuns(t *testing.T) {
	_, network, image := stage(t, "nodegrow")
	same := running(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: roomy(image, network, 160, 1, 1, 1, 1), Check: resource.ComposeTestCheckFunc(same, has(t, "sda:1 vda:1 vdb:1 vdc:1"), between(t, 110, 160))},
			{
				Config: roomy(image, network, 160, 2, 3, 4, 5), ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(
					same, has(t, "sda:4 vda:2 vdb:3 vdc:5"), says(t, "domblkinfo acc sda", `Capacity: +4294967296`),
				),
			},
			{
				Config: roomy(image, network, 240, 2, 3, 4, 5), ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(same, between(t, 190, 240), says(t, "dommemstat acc", `actual 245760`), says(t, "dumpxml --inactive acc", `currentMemory unit='KiB'>245760<`)),
			},
			{
				Config: roomy(image, network, 128, 2, 3, 4, 5), ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(same, between(t, 78, 128), says(t, "dommemstat acc", `actual 131072`), says(t, "dumpxml --inactive acc", `currentMemory unit='KiB'>131072<`)),
			},
			{ // More than is configured is no drift: that is how a guest starts until its driver gives back what is too much.
				PreConfig: func() {
					virsh(t, "setmem", "acc", "200M", "--live")
					prints(t, `actual 204800`, "dommemstat", "acc")
				},
				Config: roomy(image, network, 128, 2, 3, 4, 5), PlanOnly: true,
			},
			{Config: roomy(image, network, 144, 2, 3, 4, 5), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(same, says(t, "dommemstat acc", `actual 147456`))},
			{ // The node's own disk takes the place of the attached volume, which is as large as it was.
				Config:           strings.Replace(roomy(image, network, 144, 2, 3, 4, 5), "volume = virtcluster_volume.v.id", "size_gib = 6", 1),
				ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(
					same, says(t, "vol-info v --pool "+network, `Capacity: +5\.00 GiB`), says(t, "vol-info acc-shared.qcow2 --pool "+network, `Capacity: +6\.00 GiB`),
				),
			},
		},
	})
}
