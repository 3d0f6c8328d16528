package vip_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
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
  members   = { for name in keys(local.nodes) : name => { service_node = virtcluster_haproxy_frontend.api[name].service_node, interface = "eth0", priority = { one = 250, two = 240 }[name] } }
  %s
}
output "owner" { value = virtcluster_vip.api.owner }
`, strings.ReplaceAll(fmt.Sprintf("%q", names), " ", ", "), extra)
}

// apart are frontends at the VIP's address that it does not refer to; the brace at its end is cluster's.
const apart = `
resource "virtcluster_haproxy_frontend" "web" {
  for_each     = local.nodes
  service_node = virtcluster_haproxy.base[each.key].service_node
  name         = "web"
  mode         = "http"
  monitor_uri  = "/alive"
  binds        = [{ address = "10.0.100.250", port = 8080, transparent = true }]
`

// onlyTheOwnerMoved wants the address with another member than before, and a plan that has nothing to do: Terraform may have planned
// the VIP before the frontend whose replacement moved it, and then the plan says that the owner's output is another one. The apply
// of that plan leaves an empty one.
func onlyTheOwnerMoved(t *testing.T, state *acctest.State, from, to string) {
	t.Helper()
	comesTo(t, "10.0.100.250", map[string]string{"one": "svc-1", "two": "svc-2"}[to])
	state.Run("plan", "-out=next.plan")
	type change struct {
		Actions       []string
		Before, After any
	}
	var plan struct {
		Resources []struct {
			Address string
			Change  change
		} `json:"resource_changes"`
		Outputs map[string]change `json:"output_changes"`
	}
	if err := json.Unmarshal([]byte(state.Run("show", "-json", "next.plan")), &plan); err != nil {
		t.Fatal(err)
	}
	for _, r := range plan.Resources {
		if !slices.Equal(r.Change.Actions, []string{"no-op"}) {
			t.Errorf("the next plan is to %s %s", r.Change.Actions, r.Address)
		}
	}
	if owner := plan.Outputs["owner"]; owner.After != to || owner.Before != from && owner.Before != to {
		t.Errorf("the owner was %v and is %v", owner.Before, owner.After)
	}
	state.Run("apply", "next.plan")
	state.Settled()
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

// TestAccRemovingTheServiceNodeThatHoldsAVIPKeepsItServed makes a VIP's owner anew with all that runs on it, in one apply, by a new
// key and by -replace, and takes it away in another one. The first ends with the owner that there was, or
// where nobody preempts with the one that took over, and a plan right after it is empty.
func TestAccRemovingTheServiceNodeThatHoldsAVIPKeepsItServed(t *testing.T) {
	acctest.InSandbox(t)
	machines(t, 2)
	replace := func(s *acctest.State, _ string) {
		s.Run("apply", "-auto-approve", `-replace=virtcluster_service_node.node["one"]`)
	}
	anew := map[string]func(s *acctest.State, config string){
		"by priority":     func(s *acctest.State, config string) { s.Apply(strings.ReplaceAll(config, "one", "uno")) },
		"sync group":      replace,
		"nobody preempts": replace,
	}
	ends := map[string]string{"by priority": "svc-1", "sync group": "svc-1", "nobody preempts": "svc-2"}
	for name, extra := range map[string]string{
		"by priority": "", "sync group": `sync_group = "okd"`, "nobody preempts": "preempt = false\n}\n" + apart,
	} {
		t.Run(name, func(t *testing.T) {
			state := acctest.NewState(t)
			state.DestroyAtEnd()
			state.Apply(cluster([]string{"one", "two"}, extra))
			comesTo(t, "10.0.100.250", "svc-1")
			stop := make(chan struct{})
			silence := longestSilence("http://10.0.100.250:6443/alive", stop)
			time.Sleep(time.Second)
			anew[name](state, cluster([]string{"one", "two"}, extra))
			state.Settled()
			if on := holder(t, "10.0.100.250"); on != ends[name] {
				t.Errorf("after its service node was made anew the address is on %q", on)
			}
			if ends[name] == "svc-2" { // then a frontend alone, of which the plan knows all
				state.Run("apply", "-auto-approve", `-replace=virtcluster_haproxy_frontend.api["two"]`)
				state.Settled()
				comesTo(t, "10.0.100.250", "svc-1")
				state.Run("apply", "-auto-approve", `-replace=virtcluster_haproxy_frontend.web["one"]`)
				onlyTheOwnerMoved(t, state, "one", "two")
				state.Run("apply", "-auto-approve", `-replace=virtcluster_haproxy_frontend.web["two"]`)
				onlyTheOwnerMoved(t, state, "two", "one")
			}
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
