package rollout_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// guestsWithAgents is a configuration of two nodes that are the hardware of the service nodes svc-1 and svc-2, and say nothing of that: a turn knows
// them by their guest agents only.
func guestsWithAgents(image, network string, hardware map[string]acctest.Hardware) string {
	var machines strings.Builder
	for machine, h := range hardware {
		fmt.Fprintf(&machines, "    %s = { ip = %q, mac = %q, user_data = %q }\n", machine, acctest.Address(machine), h.MAC, h.UserData)
	}
	return acctest.Provider() + fmt.Sprintf(`
locals {
  machines = {
%s  }
}

resource "virtcluster_node" "n" {
  for_each           = local.machines
  name               = "acc-${each.key}"
  type               = "qemu"
  memory_mib         = 128
  root_disk          = { image = %q }
  network_interfaces = [{ network = %q, mac = each.value.mac, ip = "10.77.0.${split("-", each.key)[1]}" }]
  cloud_init         = { user_data = each.value.user_data }
  shutdown_timeout   = "0s"
  allow_restart      = true

  rollout = {
    group = "guests"
    ready = { tcp = "${each.value.ip}:22", interval = "500ms" }
  }
}
`, machines.String(), image, network)
}

// vipOfGuests is a configuration of their virtual address, by other ways and in another state. Who has it keeps it.
func vipOfGuests(hardware map[string]acctest.Hardware) string {
	var members strings.Builder
	for machine, h := range hardware {
		fmt.Fprintf(&members, "    %s = { ip = %q, host_key = %q, priority = 12%s }\n", machine, acctest.Address(machine), h.HostKey, strings.TrimPrefix(machine, "svc-"))
	}
	return acctest.Provider() + fmt.Sprintf(`
locals {
  members = {
%s  }
}

resource "virtcluster_service_node" "n" {
  for_each = local.members
  endpoint = "ssh://root@${each.value.ip}"
  host_key = each.value.host_key
  services = ["keepalived"]
}

resource "virtcluster_vip" "api" {
  name      = "guests"
  addresses = ["%s/24"]
  preempt   = false
  members = { for machine, node in virtcluster_service_node.n : machine => {
    service_node = node.id, interface = "eth0", address = local.members[machine].ip, priority = local.members[machine].priority
  } }
}
`, members.String(), pairVIP)
}

// leadAgentTo has the guest agent of a domain be that of the machine whose hardware it is: Debian's own, which the domain's guest leads to.
func leadAgentTo(t *testing.T, machine string) {
	t.Helper()
	acctest.On(t, machine, "systemd-run", "--quiet", "--unit=acc-agent", "qemu-ga", "--method=unix-listen", "--path=/run/acc-agent.sock", "--statedir=/run")
	acctest.On(t, machine, "systemd-run", "--quiet", "--unit=acc-agent-port", "socat", "TCP-LISTEN:4444,fork,reuseaddr", "UNIX-CONNECT:/run/acc-agent.sock")
	domain := "acc-" + machine
	acctest.RunInGuest(t, domain, fmt.Sprintf(`/bin/busybox setsid /bin/busybox sh -c '
/bin/busybox sleep 1
while :; do
  /bin/busybox killall -9 qemu-ga
  /bin/busybox sleep 0.3 # one process has the port at a time
  (exec 3<>/dev/virtio-ports/org.qemu.guest_agent.0
  /bin/busybox sleep 2 # libvirt opens its end
  exec /bin/busybox nc %s 4444 <&3 >&3)
done' </dev/null >/dev/null 2>&1 &`, acctest.Address(machine)))
	time.Sleep(4 * time.Second)
	acctest.Eventually(t, "the guest agent of "+machine, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		out, err := acctest.InGuest(ctx, domain, "systemctl is-active keepalived")
		return err == nil && strings.TrimSpace(out) == "active"
	})
}

// turnOfHolder is what was seen of a domain that went down.
type turnOfHolder struct {
	domain string
	// held says that it held the virtual address while the turns lasted, and keeper is who had it as the domain went down.
	held   bool
	keeper string
}

// watchHolders looks twenty times a second at which of the machines has the virtual address, and at which of their domains run. The result ends
// that.
func watchHolders(t *testing.T, machines ...string) (end func() []turnOfHolder) {
	stop, done := make(chan struct{}), make(chan []turnOfHolder)
	go func() {
		var turns []turnOfHolder
		holder, held, runs := "", map[string]bool{}, map[string]bool{}
		began := time.Now()
		for every := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-stop:
				every.Stop()
				done <- turns
				return
			case <-t.Context().Done():
				every.Stop()
				return
			case <-every.C:
			}
			for _, machine := range machines {
				_, err := os.Stat("/run/libvirt/qemu/acc-" + machine + ".pid")
				if runs[machine] && err != nil {
					t.Logf("%.2fs: acc-%s goes down", time.Since(began).Seconds(), machine)
					turns = append(turns, turnOfHolder{machine, held[machine], holder})
				}
				runs[machine] = err == nil
			}
			now := findHolder(machines)
			if now != holder {
				t.Logf("%.2fs: the address is at %q", time.Since(began).Seconds(), now)
			}
			holder = now
			held[now] = true
		}
	}()
	return func() []turnOfHolder {
		close(stop)
		return <-done
	}
}

// TestAccGuestsHandVirtualAddressesOverByTheirAgents changes the memory of two guests with a virtual address, of which their configuration knows
// nothing but their agents: who holds it is taken down once the other one has it, although a guest that is switched off like that tells nobody.
func TestAccGuestsHandVirtualAddressesOverByTheirAgents(t *testing.T) {
	acctest.ServiceNodes(t, 2)
	_, network, image := acctest.StageNodes(t, "agentturns")
	hardware := map[string]acctest.Hardware{"svc-1": acctest.HardwareOf(t, "svc-1"), "svc-2": acctest.HardwareOf(t, "svc-2")}
	nodes := acctest.NewState(t)
	nodes.DestroyAtEnd()
	config := guestsWithAgents(image, network, hardware)
	nodes.Apply(config)
	services := acctest.NewState(t)
	services.DestroyAtEnd()
	services.Apply(vipOfGuests(hardware))
	for machine := range hardware {
		leadAgentTo(t, machine)
	}
	nodes.Settled()

	ping := func(int) error {
		out, err := acctest.Try(context.Background(), "hypervisor", "ping", "-n", "-c1", "-W1", pairVIP)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	acctest.Eventually(t, "nobody has the virtual address", func() bool { return ping(0) == nil })
	watched, longest, pinging := watchHolders(t, "svc-1", "svc-2"), watchVIP("svc-1", "svc-2"), keepCounting(100*time.Millisecond, ping)
	nodes.Write(withMemory(config, 144))
	said := acctest.JoinLines(nodes.Run("apply", "-auto-approve"))
	pings, lost := pinging()
	seen := longest()
	turns := watched()
	t.Logf("%d pings, %d lost; in %d looks the address had no owner for at most %s: %s", pings, len(lost), seen.looks, seen.longest.Round(time.Millisecond), strings.Join(seen.course, ", "))
	if !strings.Contains(said, "virtual addresses that it holds go to another machine, where its guest agent answers") {
		t.Errorf("the plan says nothing of virtual addresses:\n%s", said)
	}
	handedOver := 0
	for _, turn := range turns {
		if turn.keeper == turn.domain || turn.keeper == "" {
			t.Errorf("as acc-%s went down, %q had the address", turn.domain, turn.keeper)
		}
		if turn.held {
			handedOver++
		}
	}
	if len(turns) != 2 || handedOver == 0 {
		t.Errorf("the turns were %+v", turns)
	}
	if seen.longest > 2*time.Second {
		t.Errorf("nobody had the address for %s, and the pings that were lost are %v", seen.longest, lost)
	}
	leavesNoTurn(t)
	nodes.Settled()
	services.Settled()
}
