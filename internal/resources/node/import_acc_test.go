package node_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccNodeImportedWithItsFirstBootConfiguration(t *testing.T) {
	_, network, image := stage(t, "nodefirst")
	for attribute, text := range map[string]string{
		"butane":   "variant: fcos\nversion: 1.5.0\n# who reads this\nstorage: { files: [{ path: /etc/hello, contents: { inline: world } }] }\n",
		"ignition": "{\n  \"ignition\": { \"version\": \"3.4.0\" }\n}\n",
	} {
		t.Run(attribute, func(t *testing.T) {
			// How Terraform treats a node is nothing that the hypervisor could tell.
			made := strings.Replace(config(image, network, fmt.Sprintf("  running = false\n  %s = %q\n", attribute, text)), `shutdown_timeout = "0s"`, "", 1)
			taken := strings.Replace(made, `"n" {`, `"m" {`, 1) + `
removed {
  from = virtcluster_node.n
  lifecycle { destroy = false }
}
import {
  to = virtcluster_node.m
  id = "acc"
}
`
			unchanged := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction("virtcluster_node.m", plancheck.ResourceActionNoop)}}
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
