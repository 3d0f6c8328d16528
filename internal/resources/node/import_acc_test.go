package node_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// imported takes the node out of the state of a configuration and imports it as another resource.
func imported(made string) string {
	return strings.Replace(made, `"n" {`, `"m" {`, 1) + `
removed {
  from = virtcluster_node.n
  lifecycle { destroy = false }
}
import {
  to = virtcluster_node.m
  id = "acc"
}
`
}

// unchanged expects a plan that leaves what was imported alone.
var unchanged = resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction("virtcluster_node.m", plancheck.ResourceActionNoop)}}

func TestAccNodeImportedWithHowTerraformTreatsIt(t *testing.T) {
	acctest.BothCLIs(t)
	pool, network, image := stage(t, "nodetreat")
	const empty = "labels = {}\n  disks = {}\n"
	// What an import finds by a short name, and what only the mark tells.
	chipset := regexp.MustCompile(`pc-q35-[0-9.]+`).FindString(virsh(t, "domcapabilities", "--machine", "q35"))
	attributes := fmt.Sprintf("  machine = %q\n", chipset) + "  boot = { order = [\"hd\"] }\n  cloud_init = { meta_data = \"team:   blue # ours\\n\" }\n  " + empty +
		"  network_interfaces = [{ network = \"NET\", addresses = [\"10.77.0.9/24\"], hostname = \"other\", routes = [], nameservers = [], allowed_addresses = [] }]\n"
	made := config(image, network, attributes)
	settings := "shutdown_timeout = \"20s\"\n  wait_for = \"lease\"\n  allow_restart = true\n  timeouts = { create = \"20m\", delete = \"5m\" }\n"
	changed := strings.Replace(made, "shutdown_timeout = \"0s\"\n", settings, 1)
	leftOut := strings.NewReplacer(empty, "", ", routes = [], nameservers = [], allowed_addresses = []", "").Replace(imported(changed))
	uuid := func(command, name string) string {
		return fmt.Sprintf("%q", strings.TrimSpace(virsh(t, command, name)))
	}
	byID := strings.NewReplacer(fmt.Sprintf("network = %q", network), "network = "+uuid("net-uuid", network), "size_gib = 1 }", "size_gib = 1, pool = "+uuid("pool-uuid", pool)+" }").Replace(imported(changed))
	var id string
	marked := `<virtcluster:settings allow_restart="true" shutdown_timeout="20s" wait_for="lease" power="managed">\s*<virtcluster:timeouts create="20m" delete="5m"/>`
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: made},
			{ // a change of nothing but these restarts nothing
				PreConfig: func() { id = virsh(t, "domid", "acc") },
				Config:    changed, ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(says(t, "dumpxml acc", marked), says(t, "dumpxml --inactive acc", marked), func(*terraform.State) error {
					if now := virsh(t, "domid", "acc"); now != id {
						t.Errorf("the node was restarted: it was %s and is %s", id, now)
					}
					return nil
				}),
			},
			{Config: imported(changed), ConfigPlanChecks: unchanged},
			{Config: leftOut, ConfigPlanChecks: unchanged},
			{Config: byID, ConfigPlanChecks: unchanged},
			{ // the mark of an older version
				PreConfig: func() {
					had := virsh(t, "metadata", "acc", namespace)
					mark := regexp.MustCompile(`(?s)<settings.*</settings>`).ReplaceAllString(had, "")
					if mark == had {
						t.Fatalf("the mark has no settings:\n%s", had)
					}
					virsh(t, "metadata", "acc", namespace, "--key", "virtcluster", "--set", mark, "--live", "--config")
				},
				Config: leftOut, ConfigPlanChecks: unchanged,
			},
			{Config: strings.Replace(leftOut, "= \"20s\"", "= \"0s\"", 1), Check: says(t, "dumpxml acc", `shutdown_timeout="0s" wait_for="lease"`)},
		},
	})
}

// namespace of the provider's element in a domain's metadata.
const namespace = "https://github.com/virtcluster/terraform-provider-virtcluster/node/1"

func TestAccNodeImportedWithItsFirstBootConfiguration(t *testing.T) {
	acctest.BothCLIs(t)
	_, network, image := stage(t, "nodefirst")
	for attribute, text := range map[string]string{
		"butane":   "variant: fcos\nversion: 1.5.0\n# who reads this\nstorage: { files: [{ path: /etc/hello, contents: { inline: world } }] }\n",
		"ignition": "{\n  \"ignition\": { \"version\": \"3.4.0\" }\n}\n",
	} {
		t.Run(attribute, func(t *testing.T) {
			made := config(image, network, fmt.Sprintf("  running = false\n  %s = %q\n", attribute, text))
			taken := imported(made)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Providers,
				Steps: []resource.TestStep{
					{Config: made},
					{Config: taken, ConfigPlanChecks: unchanged},
					{Config: strings.Replace(taken, "running = false\n", "running = false\n  role = \"worker\"\n", 1), Check: says(t, "dumpxml acc", `role="worker"`)},
				},
			})
		})
	}
}
