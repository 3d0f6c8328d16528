package ovnrouter_test

import (
	"context"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccOVNNetworkModes has one router connect networks of every mode: who is translated is seen from the LAN, which knows the way to one network's own
// addresses when it is told.
func TestAccOVNNetworkModes(t *testing.T) {
	acctest.InSandbox(t)
	onLAN(t, 2)
	nb := acctest.Northbound(t, "hv-1")
	whole := config(outside + "  snat = true\n")
	dmz := func(mode string) string {
		return strings.Replace(whole, `gateway = "10.51.0.1"`, `gateway = "10.51.0.1"`+"\n  mode = \""+mode+`"`, 1)
	}
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(dmz("route"))
	s.Settled()
	nb("lsp-add", "nodes", "g1", "--", "lsp-set-addresses", "g1", "02:00:00:00:00:11 10.50.0.11", "--", "lsp-add", "dmz", "g2", "--", "lsp-set-addresses", "g2", "02:00:00:00:00:12 10.51.0.12")
	acctest.StartOVNGuest(t, "hv-1", "g1", "02:00:00:00:00:11", "10.50.0.11", "10.50.0.1")
	acctest.StartOVNGuest(t, "hv-2", "g2", "02:00:00:00:00:12", "10.51.0.12", "10.51.0.1")
	t.Cleanup(func() {
		acctest.StopOVNGuest("hv-1", "g1")
		acctest.StopOVNGuest("hv-2", "g2")
		if out, err := acctest.Try(context.WithoutCancel(t.Context()), "hv-1", "ovn-nbctl", "--timeout=20", "lsp-del", "g1", "--", "lsp-del", "g2"); err != nil {
			t.Errorf("lsp-del: %v: %s", err, out)
		}
	})
	nb("--wait=hv", "sync")
	expect := func(machine, namespace, address string, want bool) {
		t.Helper()
		if err := reaches(machine, namespace, address, want); err != nil {
			t.Error(err)
		}
	}
	translates := func(want bool) {
		t.Helper()
		if shown := nb("lr-nat-list", "lab"); strings.Contains(shown, "10.51.0.0/24") != want || !strings.Contains(shown, "10.50.0.0/24") {
			t.Errorf("it translates %s", shown)
		}
	}

	// One network is translated and the other one is not: the LAN knows no way back to that one, until it is told.
	translates(false)
	expect("hv-1", "g1", "10.51.0.12", true)
	expect("hv-1", "g1", "10.19.41.50", true)
	expect("hv-2", "g2", "10.19.41.50", false)
	acctest.On(t, "lan-client", "ip", "route", "replace", "10.51.0.0/24", "via", "10.19.41.200")
	t.Cleanup(func() {
		_, _ = acctest.Try(context.WithoutCancel(t.Context()), "lan-client", "ip", "route", "del", "10.51.0.0/24")
	})
	expect("hv-2", "g2", "10.19.41.50", true)
	expect("lan-client", "", "10.51.0.12", true)

	for _, mode := range []string{"open", "nat", "route"} {
		s.Apply(dmz(mode))
		s.Settled()
		translates(mode == "nat")
		expect("hv-2", "g2", "10.19.41.50", true)
	}
	s.MendsDrift("virtcluster_ovn_network.dmz", acctest.Drift{Name: "mode", Shows: "mode", Change: func() { nb("remove", "Logical_Switch", "dmz", "external_ids", "virtcluster-mode") }})
	translates(false)

	// What a person has the router translate of a network that keeps its addresses is that person's.
	nb("lr-nat-add", "lab", "snat", "10.19.41.200", "10.51.0.0/24")
	s.Settled()
	s.Apply(strings.Replace(dmz("route"), "snat = true", `snat = true`+"\n  routes = [{ cidr = \"10.128.0.0/14\", via = \"10.50.0.11\" }]", 1))
	translates(true)
	nb("lr-nat-del", "lab", "snat", "10.51.0.0/24")

	// What cannot be is said by the plan.
	s.Write(dmz("isolated"))
	s.Refused([]string{`network "dmz" is isolated`}, "plan")
	// Where no network is translated, snat is what was written.
	s.Apply(strings.Replace(dmz("route"), `gateway = "10.50.0.1"`, `gateway = "10.50.0.1"`+"\n  mode = \"open\"", 1))
	s.Settled()
	if shown := nb("lr-nat-list", "lab"); strings.Contains(shown, "snat") {
		t.Errorf("it translates %s", shown)
	}
	s.Apply(dmz("route"))
	s.Settled()
	translates(false)
	alone := strings.Replace(dmz("isolated"), ", virtcluster_ovn_network.dmz.name", "", 1)
	s.Apply(alone)
	s.Settled()
	if shown := nb("show", "dmz"); strings.Contains(shown, "router") {
		t.Errorf("the isolated network leads to a router: %s", shown)
	}
	expect("hv-1", "g1", "10.51.0.12", false)

	// A person's router leads out of a network that is to be isolated.
	s.Apply(strings.Replace(alone, `"isolated"`, `"nat"`, 1))
	nb("lr-add", "persons", "--", "lrp-add", "persons", "persons-dmz", "0a:00:00:00:00:98", "10.51.0.1/24",
		"--", "lsp-add", "dmz", "dmz-persons", "--", "lsp-set-type", "dmz-persons", "router", "--", "lsp-set-options", "dmz-persons", "router-port=persons-dmz")
	s.Write(alone)
	s.Refused([]string{`router "persons" leads out of network "dmz"`}, "apply", "-auto-approve")
	nb("lr-del", "persons", "--", "lsp-del", "dmz-persons")
	s.Apply(alone)
	s.Settled()
}
