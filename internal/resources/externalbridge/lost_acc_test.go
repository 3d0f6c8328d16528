package externalbridge_test

import (
	"context"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// A bridge that nothing keeps has what was the interface's own: who deletes it by hand takes that from the machine. The apply after it, and
// a destroy, give it back; with it go the neighbours that a person wrote down for the interface.
func TestAccBridgeThatSomebodyDeletedComesBackWithWhatItHad(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	acctest.On(t, "hypervisor", "ip", "neigh", "add", "10.19.41.7", "lladdr", "02:00:0a:13:29:07", "nud", "permanent", "dev", "eno1")
	t.Cleanup(func() {
		if out, err := acctest.Try(context.Background(), "hypervisor", "ip", "neigh", "del", "10.19.41.7", "dev", "eno1"); err != nil {
			t.Errorf("the neighbour is gone: %s", out)
		}
	})
	look := func() string {
		return acctest.On(t, "hypervisor", "sh", "-c", "ip -br -4 address | sed 's/@[^ ]*//'; ip -4 route; ip neigh show nud permanent")
	}
	before := look()
	has := func(device string) {
		t.Helper()
		now := look()
		for _, want := range []string{"default via 10.19.41.254 dev " + device, "10.19.41.7 dev " + device + " lladdr 02:00:0a:13:29:07 PERMANENT"} {
			if !strings.Contains(now, want) {
				t.Errorf("no %s in\n%s", want, now)
			}
		}
		if !strings.Contains(acctest.On(t, "hypervisor", "ip", "-br", "-4", "address", "show", "dev", device), "10.19.41.10/24") {
			t.Errorf("%s has no address:\n%s", device, now)
		}
		acctest.On(t, "hypervisor", "ping", "-c", "2", "-i", "0.2", "10.19.41.254")
	}
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(config(""))
	s.Settled()
	has("accbr1")
	acctest.On(t, "hypervisor", "ip", "link", "del", "accbr1")
	plan := strings.Join(strings.Fields(strings.ReplaceAll(s.Run("plan", "-no-color"), "│", " ")), " ")
	for _, want := range []string{"The bridge is gone", "10.19.41.10/24", "default via 10.19.41.254", "1 to change"} {
		if !strings.Contains(plan, want) {
			t.Errorf("no %q in the plan:\n%s", want, plan)
		}
	}
	s.Run("apply", "-auto-approve")
	s.Settled()
	has("accbr1")
	// A container's port keeps the bridge.
	acctest.On(t, "hypervisor", "sh", "-ec", "ip link add accveth0 type veth peer name accveth1; ip link set accveth0 master accbr1")
	if plan := s.Run("plan", "-destroy"); !strings.Contains(plan, "accveth0") {
		t.Errorf("the plan of a destroy says\n%s", plan)
	}
	s.Refused([]string{"accveth0", "remove them first"}, "destroy", "-auto-approve")
	has("accbr1")
	acctest.On(t, "hypervisor", "ip", "link", "del", "accveth0")
	acctest.On(t, "hypervisor", "ip", "link", "del", "accbr1")
	s.Run("destroy", "-auto-approve")
	if after := look(); after != before {
		t.Errorf("after the destroy:\n%s\nbefore:\n%s", after, before)
	}
	has("eno1")
}

// A person's stanzas of further addresses (eth1:1), and the neighbours that are written down, outlive a bridge and a change of the interface.
func TestAccFurtherAddressesAndNeighboursOfAPersonStay(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	acctest.LeaveToManager(t, "svc-1", "ifupdown")
	further := acctest.OnLAN("svc-1", 191) + "/24"
	acctest.On(t, "svc-1", "sh", "-ec", "printf 'auto eth1:1\niface eth1:1 inet static\n  address %s\n' "+further+" >>/etc/network/interfaces; ifup eth1:1; ip neigh add 10.19.41.7 lladdr 02:00:0a:13:29:07 nud permanent dev eth1")
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "svc-1", "sh", "-c", "ifdown eth1:1; sed -i '/^auto eth1:1/,$d' /etc/network/interfaces; ip neigh del 10.19.41.7 dev eth1 || :")
	})
	look := func() string {
		return acctest.NetworkOf(t, "svc-1") + acctest.On(t, "svc-1", "ip", "neigh", "show", "nud", "permanent")
	}
	before := look()
	lan := strings.ReplaceAll(config("host = \"ssh://root@"+node+"\""), "eno1", "eth1")
	changed := acctest.Provider() + `
resource "virtcluster_interface" "test" {
  host      = "ssh://root@` + node + `"
  name      = "eth1"
  addresses = ["` + acctest.OnLAN("svc-1", 181) + `/24"]
}
`
	for _, of := range []struct{ config, device string }{{lan, "accbr1"}, {changed, "eth1"}} {
		t.Run(of.device, func(t *testing.T) {
			s := acctest.NewState(t)
			s.DestroyAtEnd()
			if s.Write(of.config); of.device == "eth1" { // whose configuration is a person's
				s.Run("import", "virtcluster_interface.test", "ssh://root@"+node+"#eth1")
			}
			s.Run("apply", "-auto-approve")
			s.Settled()
			now := look()
			if !strings.Contains(now, "10.19.41.7 dev "+of.device+" lladdr 02:00:0a:13:29:07 PERMANENT") {
				t.Errorf("the neighbour is gone from %s:\n%s", of.device, now)
			}
			if of.device == "accbr1" && !strings.Contains(now, further) {
				t.Errorf("the bridge has not %s:\n%s", further, now)
			}
			s.Run("destroy", "-auto-approve")
			acctest.Eventually(t, "the machine is as before", func() bool { return look() == before })
		})
	}
}
