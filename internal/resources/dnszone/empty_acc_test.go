package dnszone_test

import (
	"strings"
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

func TestAccRecordsWrittenEmptyAreLeftOut(t *testing.T) {
	acctest.InSandbox(t)
	state := acctest.NewState(t)
	state.DestroyAtEnd()
	zone := func(records string) string {
		return serviceNode(t) + `
resource "virtcluster_dns_view" "own" {
  service_node = virtcluster_service_node.dns.id
  name         = "own"
}
resource "virtcluster_dns_zone" "empty" {
  service_node = virtcluster_service_node.dns.id
  view         = virtcluster_dns_view.own.name
  name         = "empty.example"
  ` + records + `
}
output "id" { value = virtcluster_dns_zone.empty.id }
`
	}
	state.Apply(zone("records = {}"))
	state.Settled()
	state.Write(zone(""))
	state.Settled()
	id := strings.TrimSpace(state.Run("output", "-raw", "id"))
	state.Apply(zone("records = { a = { A = [\"10.0.0.1\"] } }"))
	state.Apply(zone(""))
	state.Settled()
	for _, records := range []string{"", "records = {}"} {
		state.Run("state", "rm", "virtcluster_dns_zone.empty")
		state.Write(zone(records))
		state.Run("import", "virtcluster_dns_zone.empty", id)
		state.Settled()
	}
}
