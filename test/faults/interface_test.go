package faults

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/netinterface"
)

// lookAtInterface prints what vlanGuest's machine has of eth1, and what this provider left there.
const lookAtInterface = `ip -o address show dev eth1 scope global; ip -o link show dev eth1 | grep -o 'mtu [0-9]*'; ip route; resolvectl dns eth1 2>/dev/null; grep -h ^DNS= /run/systemd/netif/links/*
find /etc/systemd/network -type f | sort | xargs md5sum; find /etc/systemd/system -name 'virtcluster*'; find /var/lib/virtcluster -type f ! -name '*.holder' ! -name '*.lock' 2>/dev/null; :`

// TestAccInterfaceOfARunningGuest changes, by a guest's agent, what the guest's first boot gave to an interface: by Terraform, over a start
// of the guest; and by a provider that is cut off, or killed, in mid-change.
func TestAccInterfaceOfARunningGuest(t *testing.T) {
	acctest.InSandbox(t)
	guest := vlanGuest(t)
	state := acctest.NewState(t)
	state.Apply(guest)
	state.DestroyAtEnd()
	guestIsUp(t, "10.79.0.5/24", "10.79.0.6/25")
	inside(t, "cloud-init status --wait >/dev/null 2>&1; true")
	before := inside(t, lookAtInterface)
	isAsBefore := func(when string, within time.Duration) {
		t.Helper()
		now := inside(t, lookAtInterface)
		for began := time.Now(); now != before; now = inside(t, lookAtInterface) {
			if time.Since(began) > within {
				t.Fatalf("%s, the guest has\n%s\nbefore:\n%s", when, now, before)
			}
			time.Sleep(time.Second)
		}
	}

	f := fleet.New(fleet.Config{URI: "qemu:///system", SSH: sshhost.Options{PrivateKeyFile: os.Getenv("SANDBOX_SSH_KEY")}})
	t.Cleanup(func() { _ = f.Close() })
	const rollback = 40 * time.Second
	change := func(h host.Host, fresh func(context.Context) (host.Host, error)) error {
		want := netinterface.Interface{
			Name: "eth1", MTU: 1400, Backend: hostnet.Auto, RollbackTimeout: rollback,
			Addressing: hostnet.Addressing{Addresses: []netip.Prefix{netip.MustParsePrefix("10.79.0.8/25")}},
		}
		// As after an import.
		_, err := netinterface.Open(hostnet.Site{Host: h, Fresh: fresh}, "eth1", "eth1", new(owner.Run).Adopt()).Update(t.Context(), want, want)
		return err
	}
	h, err := f.Host(t.Context(), "qemu-ga:///vlan-guest")
	if err != nil {
		t.Fatal(err)
	}
	if err := change(h, func(context.Context) (host.Host, error) { return nil, errors.New("connection refused") }); err == nil || !strings.Contains(err.Error(), "what it had before") {
		t.Fatalf("cut off: %v", err)
	}
	isAsBefore("cut off", 5*time.Second)
	lost := hosttest.NewCutOff(h, "change the network")
	if err := change(lost, func(context.Context) (host.Host, error) { return lost, nil }); err == nil || !strings.Contains(err.Error(), "by itself") {
		t.Fatalf("killed: %v", err)
	}
	isAsBefore("killed", 2*rollback)
	took := time.Since(lost.Ran["arm the rollback"])
	t.Logf("back %s after the change was armed", took.Round(time.Second))
	if took > rollback+5*time.Second { // which the emulated guest may take to be looked at
		t.Errorf("that is more than the rollback_timeout of %s", rollback)
	}

	imports := `
import {
  to = virtcluster_interface.it
  id = "qemu-ga:///vlan-guest#eth1"
}
`
	on := func(attributes string) string {
		return guest + `
resource "virtcluster_interface" "it" {
  host             = "qemu-ga:///${virtcluster_node.guest.name}"
  name             = "eth1"
  rollback_timeout = 120
` + attributes + "}\n"
	}
	has := func(when string, present []string, absent ...string) {
		t.Helper()
		var now string
		gone := func(text string) bool { return !strings.Contains(now, text) }
		for began := time.Now(); ; time.Sleep(time.Second) {
			now = inside(t, lookAtInterface)
			if !slices.ContainsFunc(present, gone) && (len(absent) == 0 || !slices.ContainsFunc(absent, func(text string) bool { return !gone(text) })) {
				return
			}
			if time.Since(began) > 30*time.Second {
				t.Fatalf("%s, want %q and not %q in\n%s", when, present, absent, now)
			}
		}
	}
	first := on(`  addresses   = ["10.79.0.9/25"]
  routes      = [{ cidr = "10.88.0.0/16", via = "10.79.0.10" }]
  nameservers = ["10.79.0.53"]
  mtu         = 1400
`)
	ours := []string{" 10.79.0.9/25 ", "mtu 1400", "10.88.0.0/16 via 10.79.0.10 dev eth1", "10.79.0.53"}
	state.Write(first)
	state.Refused([]string{`the configuration of interface "eth1"`, "import it as"}, "plan")
	state.Apply(first + imports)
	has("after the first change", ours, "10.79.0.6/")
	if out := state.Run("state", "show", "virtcluster_interface.it"); !strings.Contains(out, `active_backend   = "systemd-networkd"`) {
		t.Errorf("kept by another than systemd-networkd:\n%s", out)
	}
	state.Settled()
	startAgain(t)
	guestIsUp(t, "10.79.0.5/24", "10.79.0.9/25")
	has("after a start", ours, "10.79.0.6/")
	state.Settled()
	state.Apply(on("  addresses = [\"10.79.0.7/25\"]\n  mtu = 1300\n"))
	has("after another change", []string{" 10.79.0.7/25 ", "mtu 1300"}, "10.79.0.9/", "10.88.", "10.79.0.53")
	state.Settled()
	state.Apply(guest)
	isAsBefore("given back", 30*time.Second)
}
