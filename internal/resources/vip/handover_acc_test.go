package vip_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// cluster is a VIP over balancers that answer at it, one on each of the service nodes; extra are the VIP's further attributes.
func cluster(names []string, extra string) string {
	return acctest.Provider() + fmt.Sprintf(`
locals { nodes = { for name in %s : name => { one = "10.0.100.101", two = "10.0.100.102" }[name] } }
resource "virtcluster_service_node" "node" {
  for_each = local.nodes
  endpoint = "ssh://root@${each.value}"
  services = ["haproxy", "keepalived"]
}
resource "virtcluster_haproxy" "base" {
  for_each     = local.nodes
  service_node = virtcluster_service_node.node[each.key].id
}
resource "virtcluster_haproxy_frontend" "api" {
  for_each     = local.nodes
  service_node = virtcluster_haproxy.base[each.key].service_node
  name         = "api"
  mode         = "http"
  monitor_uri  = "/alive"
  binds        = [{ address = "10.0.100.250", port = 6443, transparent = true }]
}
resource "virtcluster_vip" "api" {
  name      = "okd-api"
  addresses = ["10.0.100.250/24"]
  members   = [for name in sort(keys(local.nodes)) : { service_node = virtcluster_haproxy_frontend.api[name].service_node, interface = "eth0", priority = { one = 250, two = 240 }[name] }]
  %s
}
`, strings.ReplaceAll(fmt.Sprintf("%q", names), " ", ", "), extra)
}

// longestSilence asks a URL every 20 ms until stop is closed, and sends the longest time without an answer.
func longestSilence(url string, stop chan struct{}) <-chan time.Duration {
	longest := make(chan time.Duration, 1)
	client := &http.Client{Timeout: 300 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
	go func() {
		last, most := time.Now(), time.Duration(0)
		for {
			select {
			case <-stop:
				longest <- max(most, time.Since(last))
				return
			case <-time.After(20 * time.Millisecond):
			}
			if answer, err := client.Get(url); err == nil {
				_ = answer.Body.Close()
				most, last = max(most, time.Since(last)), time.Now()
			}
		}
	}()
	return longest
}

// TestAccRemovingTheServiceNodeThatHoldsAVIPKeepsItServed takes away a VIP's owner with all that runs on it, in one apply.
func TestAccRemovingTheServiceNodeThatHoldsAVIPKeepsItServed(t *testing.T) {
	acctest.InSandbox(t)
	machines(t, 2)
	for name, extra := range map[string]string{
		"by priority": "", "sync group": `sync_group = "okd"`, "nobody preempts": "preempt = false",
	} {
		t.Run(name, func(t *testing.T) {
			state := acctest.NewState(t)
			state.DestroyAtEnd()
			state.Apply(cluster([]string{"one", "two"}, extra))
			comesTo(t, "10.0.100.250", "svc-1")
			stop := make(chan struct{})
			silence := longestSilence("http://10.0.100.250:6443/alive", stop)
			time.Sleep(time.Second)
			state.Apply(cluster([]string{"two"}, extra))
			time.Sleep(time.Second)
			close(stop)
			if gap := <-silence; gap > time.Second {
				t.Errorf("nothing answered for %s", gap.Round(time.Millisecond))
			} else {
				t.Logf("the longest time without an answer: %s", gap.Round(time.Millisecond))
			}
			if on := holder(t, "10.0.100.250"); on != "svc-2" {
				t.Errorf("the address is on %q", on)
			}
			state.Settled()
			if err := nothingLeft(t, "svc-1"); err != nil {
				t.Error(err)
			}
		})
	}
}
