package haproxyfrontend_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy/haproxytest"
)

// TestAccStoppedHAProxyHasNotLostItsFrontends stops HAProxy by hand: an apply starts it again, and what is destroyed while
// it is stopped does not come back when a person starts it.
func TestAccStoppedHAProxyHasNotLostItsFrontends(t *testing.T) {
	acctest.InSandbox(t)
	node, ip := haproxytest.Node(t)
	stop := func() { acctest.On(t, "svc-1", "systemctl", "stop", "haproxy") }
	config := func(names ...string) string {
		text := acctest.Provider()
		for i, name := range names {
			text += fmt.Sprintf(`
resource "virtcluster_haproxy_frontend" %[2]q {
  service_node = %[1]q
  name         = %[2]q
  mode         = "http"
  timeouts     = { client = "5s" }
  binds        = [{ port = %[3]d }]
  extra_config = "http-request return status 200 content-type text/plain string %[2]s"
}`, node, name, 8081+i)
		}
		return text
	}
	stays, goes := "virtcluster_haproxy_frontend.stays", "virtcluster_haproxy_frontend.goes"
	serving := func(name string) plancheck.PlanCheck {
		return plancheck.ExpectKnownValue(name, tfjsonpath.New("serving"), knownvalue.Bool(true))
	}
	both := resource.ComposeAggregateTestCheckFunc(answers("http://"+ip+":8081/", "stays"), answers("http://"+ip+":8082/", "goes"),
		resource.TestCheckResourceAttr(stays, "serving", "true"), resource.TestCheckResourceAttr(goes, "serving", "true"))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("stays", "goes"), Check: both},
			{
				PreConfig: stop, Config: config("stays", "goes"), Check: both,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(stays, plancheck.ResourceActionUpdate), serving(stays),
					plancheck.ExpectResourceAction(goes, plancheck.ResourceActionUpdate), serving(goes),
				}},
			},
			{
				PreConfig: stop, Config: config("stays"),
				Check: resource.ComposeAggregateTestCheckFunc(answers("http://"+ip+":8081/", "stays"), func(*terraform.State) error {
					if text := acctest.On(t, "svc-1", "cat", "/etc/haproxy/haproxy.cfg"); strings.Contains(text, "frontend goes") {
						return fmt.Errorf("what was destroyed is there:\n%s", text)
					}
					return nil
				}),
			},
			{
				PreConfig: stop, Config: config(),
				Check: func(*terraform.State) error {
					if text := acctest.On(t, "svc-1", "cat", "/etc/haproxy/haproxy.cfg"); strings.Contains(text, "frontend stays") {
						return fmt.Errorf("what was destroyed is there:\n%s", text)
					}
					if state, _ := acctest.Try(t.Context(), "svc-1", "systemctl", "is-active", "haproxy"); state != "inactive" {
						return fmt.Errorf("taking the last frontend out of a stopped HAProxy left it %s", state)
					}
					return nil
				},
			},
		},
	})
}
