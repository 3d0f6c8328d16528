package haproxystatus_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy/haproxytest"
)

func TestAccStatusTellsServersAndListeners(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node, _ := haproxytest.Node(t)
	good := haproxytest.Serve(t, "good", nil)
	bad := haproxytest.Serve(t, "bad", func() bool { return false })
	config := acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_haproxy_backend" "test" {
  service_node   = %[1]q
  name           = "acc-status"
  mode           = "tcp"
  http_check     = { uri = "/readyz", expect = "status 200" }
  default_server = { check = true, inter = "200ms", fall = 1, rise = 1 }
  servers = {
    good  = { address = %[2]q, port = %[3]d }
    bad   = { address = %[2]q, port = %[4]d }
    drain = { address = %[2]q, port = 1, state = "drain", check = false }
    maint = { address = "2001:db8::1", port = 2, state = "maint" }
  }
}
resource "virtcluster_haproxy_frontend" "test" {
  service_node    = %[1]q
  name            = "acc-status"
  mode            = "tcp"
  binds           = [{ port = 8090 }, { address = "2001:db8::250", port = 8090 }]
  default_backend = virtcluster_haproxy_backend.test.name
}
`, node, haproxytest.Gateway, good, bad)
	status := config + `
data "virtcluster_haproxy_status" "test" {
  service_node = virtcluster_haproxy_frontend.test.service_node
}`
	name, server := "data.virtcluster_haproxy_status.test", "backends.acc-status.servers."
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig: func() { acctest.On(t, "svc-1", "sleep", "1") }, // for the first checks
				Config:    status,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(name, "running", "true"),
					resource.TestMatchResourceAttr(name, "version", regexp.MustCompile(`^\d+\.\d+`)),
					resource.TestCheckResourceAttr(name, "frontends.acc-status.status", "OPEN"),
					resource.TestCheckResourceAttr(name, "frontends.acc-status.binds.0.listening", "true"),
					resource.TestCheckResourceAttr(name, "frontends.acc-status.binds.1.address", "2001:db8::250"),
					resource.TestCheckResourceAttr(name, "frontends.acc-status.binds.1.listening", "true"),
					resource.TestCheckResourceAttr(name, "backends.acc-status.status", "UP"),
					resource.TestCheckResourceAttr(name, server+"good.up", "true"),
					resource.TestMatchResourceAttr(name, server+"good.check", regexp.MustCompile(`^(L7OK/200|\* L7OK)`)),
					resource.TestCheckResourceAttr(name, server+"good.port", fmt.Sprint(good)),
					resource.TestCheckResourceAttr(name, server+"bad.up", "false"),
					resource.TestMatchResourceAttr(name, server+"bad.check", regexp.MustCompile(`^(\* )?L7STS/503`)),
					resource.TestCheckResourceAttr(name, server+"drain.state", "drain"),
					resource.TestCheckResourceAttr(name, server+"drain.up", "false"),
					resource.TestCheckResourceAttr(name, server+"maint.state", "maint"),
					resource.TestCheckResourceAttr(name, server+"maint.address", "2001:db8::1"),
				),
			},
		},
	})
}
