package dnszone_test

import (
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccListsWrittenEmptyStaySo(t *testing.T) {
	acctest.InSandbox(t)
	state := acctest.NewState(t)
	state.DestroyAtEnd()
	state.Apply(serviceNode(t) + `
resource "virtcluster_dns_server" "dns" {
  service_node    = virtcluster_service_node.dns.id
  forwarders      = []
  allow_query     = []
  allow_recursion = []
}
resource "virtcluster_dns_view" "own" {
  service_node  = virtcluster_dns_server.dns.service_node
  name          = "own"
  match_clients = ["10.0.0.0/8"]
  forwarders    = []
}
`)
	state.Settled()
}
