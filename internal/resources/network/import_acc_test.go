package network_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccNetworkImportedWithEmptyCollections(t *testing.T) {
	acctest.BothCLIs(t)
	const empty = "  dhcp = { ranges = [], options = {} }\n  dns = { forwarders = [], hosts = {} }\n  routes = []\n  pxe = {}\n"
	const leftOut = "  dhcp = {}\n"
	imported := func(made string) string {
		return strings.Replace(made, `"n" {`, `"m" {`, 1) + `
removed {
  from = virtcluster_network.n
  lifecycle { destroy = false }
}
import {
  to = virtcluster_network.m
  id = "acc0"
}
`
	}
	noop := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction("virtcluster_network.m", plancheck.ResourceActionNoop)}}
	test(t, "acc0",
		resource.TestStep{Config: config(management + leftOut)},
		resource.TestStep{Config: config(management + empty)},
		importing("acc0"),
		resource.TestStep{Config: imported(config(management + empty)), ConfigPlanChecks: noop},
		resource.TestStep{Config: imported(config(management + leftOut)), ConfigPlanChecks: noop},
		resource.TestStep{
			Config: imported(config(management + leftOut + "  routes = [{ cidr = \"10.144.0.0/14\", via = \"10.91.0.1\" }]\n  pxe = { tftp_root = \"/srv\" }\n  dns = { local_only = true }\n  domain = \"a.example\"\n")),
			Check:  has(t, "acc0", "10.144.0.0", "localOnly='yes'"),
		},
		resource.TestStep{Config: imported(config(management + leftOut)), Check: lacks(t, "acc0", "10.144.0.0", "localOnly='yes'", "<tftp")},
	)
}
