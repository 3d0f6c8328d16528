package rollout_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// pairVIP is the virtual address of the pair of service nodes.
const pairVIP = "10.0.100.250"

// pairOfNodes is a configuration of two nodes that are the hardware of the service nodes svc-1 and svc-2, and of what these serve: names, the
// time, a server behind HAProxy, and a virtual address.
func pairOfNodes(pool string, hardware map[string]acctest.Hardware, server string) string {
	var machines strings.Builder
	for machine, h := range hardware {
		number := strings.TrimPrefix(machine, "svc-")
		fmt.Fprintf(&machines, "    %s = { ip = %q, mac = %q, user_data = %q, host_key = %q, priority = 12%s }\n", machine, acctest.Address(machine), h.MAC, h.UserData, h.HostKey, number)
	}
	host, port, _ := strings.Cut(server, ":")
	return acctest.Provider() + fmt.Sprintf(`
locals {
  machines = {
%s  }
}

resource "virtcluster_node" "service" {
  for_each           = local.machines
  name               = "acc-${each.key}"
  type               = "qemu"
  memory_mib         = 128
  root_disk          = { size_gib = 1, pool = %q }
  network_interfaces = [{ bridge = "svcbr0", mac = each.value.mac, addresses = ["${each.value.ip}/24"] }]
  cloud_init         = { user_data = each.value.user_data }
  guest_agent        = false
  shutdown_timeout   = "0s"
  allow_restart      = true

  rollout = {
    group        = "service"
    service_node = { endpoint = "ssh://root@${each.value.ip}", host_key = each.value.host_key }
    ready        = { tcp = "${each.value.ip}:9000", interval = "500ms" }
  }
}

resource "virtcluster_service_node" "service" {
  for_each = virtcluster_node.service
  endpoint = "ssh://root@${split("/", each.value.network_interfaces[0].addresses[0])[0]}"
  host_key = local.machines[each.key].host_key
  services = ["bind", "chrony", "haproxy", "keepalived"]
}

resource "virtcluster_time_server" "pair" {
  for_each     = virtcluster_service_node.service
  service_node = each.value.id
  clients      = ["10.0.100.0/24"]
}

resource "virtcluster_dns_view" "all" {
  for_each      = virtcluster_service_node.service
  service_node  = each.value.id
  name          = "all"
  match_clients = ["any"]
}

resource "virtcluster_dns_zone" "pair" {
  for_each     = virtcluster_dns_view.all
  service_node = each.value.service_node
  view         = each.value.name
  name         = "pair.example"
  name_servers = ["ns"]
  records      = { ns = { A = [local.machines[each.key].ip] }, api = { A = [%q] } }
}

resource "virtcluster_haproxy" "base" {
  for_each     = virtcluster_service_node.service
  service_node = each.value.id
  mode         = "tcp"
  stats        = { address = local.machines[each.key].ip, port = 9000 }
}

resource "virtcluster_haproxy_backend" "api" {
  for_each     = virtcluster_haproxy.base
  service_node = each.value.service_node
  name         = "api"
  mode         = "tcp"
  servers      = { server = { address = %q, port = %s, check = true } }
}

resource "virtcluster_haproxy_frontend" "api" {
  for_each        = virtcluster_haproxy_backend.api
  service_node    = each.value.service_node
  name            = "api"
  mode            = "tcp"
  binds           = [{ address = %q, port = 8099 }]
  default_backend = each.value.name
}

resource "virtcluster_vip" "api" {
  name      = "pair"
  addresses = ["%s/24"]
  members = { for machine, node in virtcluster_service_node.service : machine => {
    service_node = node.id, interface = "eth0", address = local.machines[machine].ip, priority = local.machines[machine].priority
  } }
  track      = [{ name = "haproxy", script = "/usr/bin/systemctl is-active --quiet haproxy", fall = 2, rise = 2 }]
  depends_on = [virtcluster_haproxy_frontend.api]
}
`, machines.String(), pool, pairVIP, host, port, pairVIP, pairVIP)
}

// held says what was seen of who holds the virtual address.
type held struct {
	looks, changes int
	// longest is the longest time in which nobody was seen to hold it.
	longest time.Duration
	// course has who was seen to hold it from when on.
	course []string
}

// watchVIP looks ten times a second at which of the machines hold the virtual address. The result ends that.
func watchVIP(machines ...string) (end func() held) {
	stop, done := make(chan struct{}), make(chan held)
	go func() {
		var seen held
		began, last, since := time.Now(), "", time.Now()
		for every := time.NewTicker(100 * time.Millisecond); ; seen.looks++ {
			select {
			case <-stop:
				every.Stop()
				done <- seen
				return
			case <-every.C:
			}
			looked := time.Now()
			holder := findHolder(machines)
			switch {
			case holder == "":
				seen.longest = max(seen.longest, looked.Sub(since))
				continue
			case holder != last:
				seen.changes++
				seen.course = append(seen.course, fmt.Sprintf("%s since %.1fs", holder, time.Since(began).Seconds()))
			}
			last, since = holder, time.Now()
		}
	}()
	return func() held {
		close(stop)
		return <-done
	}
}

// findHolder returns the machine that holds the virtual address; "" for none. Machines are asked one after the other, and then the other way
// round: the address may go from one that was not asked yet to one that was.
func findHolder(machines []string) string {
	reversed := slices.Clone(machines)
	slices.Reverse(reversed)
	for _, machine := range append(slices.Clone(machines), reversed...) {
		// A machine without power has no interfaces, or none that is up.
		out, err := acctest.Try(context.Background(), "hypervisor", "ip", "-n", machine, "-o", "addr", "show", "up", "to", pairVIP)
		if err == nil && strings.Contains(out, pairVIP) {
			return machine
		}
	}
	return ""
}

// TestAccServiceNodesAreReplacedInTurns makes both of a pair of service nodes anew in one apply, and then restarts both in one: what each is made
// of, its services and their configuration comes back within its turn, nobody who asks at the virtual address goes without an answer, and the
// address has a holder all the time.
func TestAccServiceNodesAreReplacedInTurns(t *testing.T) {
	acctest.ServiceNodes(t, 2)
	pool, _, _ := acctest.StageNodes(t, "pair")
	hardware := map[string]acctest.Hardware{"svc-1": acctest.HardwareOf(t, "svc-1"), "svc-2": acctest.HardwareOf(t, "svc-2")}
	listener, err := net.Listen("tcp", "10.0.100.254:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}}
	server.Start()
	t.Cleanup(server.Close)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	config := pairOfNodes(pool, hardware, listener.Addr().String())
	s.Apply(config)
	url := "http://" + net.JoinHostPort(pairVIP, "8099")
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(int) error {
		resp, err := client.Get(url)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}
	acctest.Eventually(t, "nobody serves at the virtual address", func() bool { return ask(0) == nil })
	s.Settled()
	names := map[string]string{}
	for machine := range hardware {
		acctest.On(t, machine, "touch", "/root/was-here")
		names[machine] = acctest.Virsh(t, "domuuid", "acc-"+machine)
	}
	// roll runs an apply under observation.
	roll := func(what string, apply func()) {
		t.Helper()
		watched, asking, began := watchVIP("svc-1", "svc-2"), keepCounting(100*time.Millisecond, ask), time.Now()
		apply()
		time.Sleep(5 * time.Second) // in which one with a higher priority takes the address back
		asked, lost := asking()
		vip := watched()
		t.Logf("%s: %s, %d requests, %d without an answer; the address was looked for %d times, changed its holder %d times and had none for at most %s: %s",
			what, time.Since(began).Round(time.Second), asked, len(lost), vip.looks, vip.changes-1, vip.longest.Round(time.Millisecond), strings.Join(vip.course, ", "))
		if len(lost) > 0 {
			t.Errorf("%s: of %d requests %d had no answer: %v", what, asked, len(lost), lost)
		}
		if vip.longest > time.Second || vip.looks < 20 {
			t.Errorf("%s: in %d looks nobody had the address for %s", what, vip.looks, vip.longest)
		}
		leavesNoTurn(t)
		s.Settled()
	}

	roll("both made anew", func() {
		out := s.Run("apply", "-auto-approve", `-replace=virtcluster_node.service["svc-1"]`, `-replace=virtcluster_node.service["svc-2"]`)
		if !strings.Contains(out, "2 added, 0 changed, 2 destroyed") {
			t.Errorf("it says\n%s", out)
		}
	})
	for machine, uuid := range names {
		if _, err := acctest.Try(t.Context(), machine, "test", "-e", "/root/was-here"); err == nil {
			t.Errorf("%s still has the disk that it had", machine)
		}
		if now := acctest.Virsh(t, "domuuid", "acc-"+machine); now == uuid {
			t.Errorf("acc-%s still is %s", machine, uuid)
		}
		if got := acctest.On(t, "hypervisor", "dig", "+short", "+time=3", "@"+acctest.Address(machine), "api.pair.example"); got != pairVIP {
			t.Errorf("%s says that api.pair.example is %q", machine, got)
		}
	}

	roll("both restarted", func() { s.Apply(withMemory(config, 144)) })
	for machine := range hardware {
		t.Run(machine+" has the memory that it was given", func(t *testing.T) {
			if got := acctest.Virsh(t, "dominfo", "acc-"+machine); !strings.Contains(got, "147456 KiB") {
				t.Error(got)
			}
		})
	}
}
