package topology_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// cluster is what the module multi-master is called with in these tests. Masters and one worker are machines of the sandbox that
// exist already.
type cluster struct {
	BaseDomain   string             `json:"base_domain"`
	Domains      []string           `json:"domains"`
	Bootstrap    bool               `json:"bootstrap"`
	VIPs         map[string]string  `json:"vips"`
	External     map[string]string  `json:"external"`
	Machines     map[string]machine `json:"machines"`
	ServiceNodes map[string]service `json:"service_nodes"`
	Node         map[string]any     `json:"node"`
	Key          string             `json:"key"`
}

type machine struct {
	Role   string `json:"role"`
	IP     string `json:"ip"`
	MAC    string `json:"mac,omitempty"`
	Exists bool   `json:"exists"`
	State  string `json:"state,omitempty"`
}

type service struct {
	IP         string `json:"ip"`
	ExternalIP string `json:"external_ip,omitempty"`
	Priority   int    `json:"priority,omitempty"`
	Exists     bool   `json:"exists"`
}

const (
	inside, outside = "10.0.100.250", "10.19.41.160"
	calling         = `
variable "base_domain" {}
variable "domains" { default = null }
variable "bootstrap" {}
variable "vips" {}
variable "external" {}
variable "machines" {}
variable "service_nodes" {}
variable "node" {}
variable "key" {}

provider "virtcluster" {
  ssh = { private_key_file = var.key }
}

module "okd" {
  source = "./multi-master"

  name          = "okd"
  base_domain   = var.base_domain
  domains       = var.domains == null ? [] : var.domains
  bootstrap     = var.bootstrap
  networks      = { machines = { mode = "bridge", bridge = "svcbr0", cidr = "10.0.100.0/24", gateway = "10.0.100.254" } }
  external      = var.external
  vips          = var.vips
  pool          = { name = "okd", path = "/var/lib/libvirt/daytwo" }
  node          = var.node
  machines      = var.machines
  service_nodes = var.service_nodes
}

output "owners" {
  value = module.okd.vip_owner
}
`
)

// serving is a service node of the sandbox.
func serving(number, priority int) service {
	return service{IP: fmt.Sprintf("10.0.100.10%d", number), ExternalIP: fmt.Sprintf("10.19.41.10%d", number), Priority: priority, Exists: true}
}

// state is a state with a call of the module in it, and the programs that its machines run.
type state struct {
	*acctest.State
	cluster
}

// newState has machines that exist answer, each by its name, at the ports of a cluster.
func newState(t *testing.T, nodes int, machines map[string]machine) *state {
	t.Helper()
	acctest.InSandbox(t)
	acctest.KnownServiceNodes(t, nodes)
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		if m := machines[name]; m.Exists {
			acctest.Guest(t, name, m.IP, "10.0.100.254", "tcp:6443", "tcp:22623", "tcp:80", "tcp:443")
		}
	}
	s := &state{State: acctest.NewState(t), cluster: cluster{
		BaseDomain: "example", Machines: machines, VIPs: map[string]string{"inside": inside, "outside": outside}, External: map[string]string{"cidr": "10.19.41.0/24"},
		Node: map[string]any{"image": os.Getenv("SANDBOX_TINY_IMAGE"), "type": "qemu", "memory_mib": 192, "vcpus": 1}, Key: os.Getenv("SANDBOX_SSH_KEY"),
	}}
	if err := os.CopyFS(filepath.Join(s.Dir, "multi-master"), os.DirFS("../../../examples/modules/multi-master")); err != nil {
		t.Fatal(err)
	}
	s.Write(calling)
	s.tell(t)
	s.Run("init")
	s.DestroyAtEnd()
	return s
}

// existing is a machine of the sandbox that is there already, at an address of the service nodes' network.
func existing(role string, number int) machine {
	return machine{Role: role, IP: fmt.Sprintf("10.0.100.%d", number), MAC: fmt.Sprintf("02:00:0a:00:64:%02x", number), Exists: true}
}

// tell writes what the module is called with.
func (s *state) tell(t *testing.T) {
	t.Helper()
	text, err := json.Marshal(s.cluster)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.Dir, "terraform.tfvars.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// set changes one machine.
func (s *state) set(name string, change func(*machine)) {
	m := s.Machines[name]
	change(&m)
	s.Machines[name] = m
}

// plan says what the module is called with, and returns the plan, which apply makes.
func (s *state) plan(t *testing.T, argv ...string) string {
	t.Helper()
	s.tell(t)
	return s.Run(append([]string{"plan", "-out=plan"}, argv...)...)
}

// apply makes what was planned while a client asks at an address, and returns what that was answered: one on the LAN, or, of an
// address inside, a machine there.
func (s *state) apply(t *testing.T, asked string) acctest.Load {
	t.Helper()
	client := "lan-client"
	if strings.HasPrefix(asked, inside) {
		client = "worker-1"
	}
	end := acctest.StartLoad(t, client, asked, 100)
	s.Run("apply", "plan")
	return end()
}

// answers waits until a server of a backend is taken for one that answers, or for one that does not.
func (s *state) answers(t *testing.T, on, backend, server, status string) {
	t.Helper()
	acctest.Eventually(t, fmt.Sprintf("on %s, %s of %s is not %s", on, server, backend, status), func() bool {
		for line := range strings.Lines(acctest.On(t, on, "curl", "-s", "http://127.0.0.1:9000/stats;csv")) {
			if words := strings.Split(line, ","); len(words) > 17 && words[0] == backend && words[1] == server {
				return strings.HasPrefix(words[17], status)
			}
		}
		return false
	})
}

// quoted wants every line of the plan that the guide shows below a heading to be one of the plan's.
func quoted(t *testing.T, heading, plan string) {
	t.Helper()
	guide, err := os.ReadFile("../../../templates/guides/day-two.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, there := strings.Cut(string(guide), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, block, shown := strings.Cut(section, "\n```\n")
	block, _, _ = strings.Cut(block, "\n```\n")
	if !there || !shown {
		t.Errorf("the guide shows no plan below %q; it is\n%s", heading, plan)
		return
	}
	// How many attributes do not change is another number with each new one.
	unchanged := regexp.MustCompile(`^# \(\d+ unchanged`)
	lines := map[string]bool{}
	for line := range strings.Lines(plan) {
		lines[unchanged.ReplaceAllString(strings.TrimSpace(line), "# (some unchanged")] = true
	}
	for line := range strings.Lines(block) {
		if line = strings.TrimSpace(line); line != "" && !lines[unchanged.ReplaceAllString(line, "# (some unchanged")] {
			t.Errorf("below %q the guide has %q, which is not in the plan:\n%s", heading, line, plan)
			return
		}
	}
}

// name is what a service node's outside address answers for a name.
func name(t *testing.T, at, name string) string {
	t.Helper()
	return acctest.On(t, "lan-client", "dig", "+short", "@"+at, name)
}

// TestAccClusterThatStandsIsChanged makes each change of the guide "Change a cluster that stands", in an order in which they might
// come, with clients outside that go on asking.
func TestAccClusterThatStandsIsChanged(t *testing.T) {
	s := newState(t, 3, map[string]machine{
		"master-1": existing("master", 131), "master-2": existing("master", 132), "master-3": existing("master", 133),
		"worker-1": existing("worker", 134), "bootstrap": existing("bootstrap", 139),
	})
	s.Bootstrap = true
	s.ServiceNodes = map[string]service{"service-1": serving(1, 110)}
	s.tell(t)
	s.Run("apply", "-auto-approve")
	s.Settled()
	for _, server := range []string{"master-1", "master-2", "master-3"} {
		s.answers(t, "svc-1", "okd-api", server, "UP")
	}
	const api, ingress = outside + ":6443", outside + ":443"
	// change makes one, and wants no request to fail meanwhile, unless some may.
	change := func(heading, asked string, someMayFail bool, modify func(), argv ...string) {
		t.Helper()
		t.Run(heading, func(t *testing.T) {
			began := time.Now()
			modify()
			quoted(t, heading, s.plan(t, argv...))
			l := s.apply(t, asked)
			t.Logf("%d of %d requests failed; %s", l.Lost, l.Asked, time.Since(began).Round(time.Second))
			if l.Lost > 0 && !someMayFail {
				t.Errorf("%d of %d requests failed, the first: %s", l.Lost, l.Asked, l.First)
			}
		})
	}

	change("Remove the bootstrap", api, false, func() { s.Bootstrap = false })
	change("Grow from one service node to two", api, false, func() { s.ServiceNodes["service-2"] = serving(2, 100) })
	for _, server := range []string{"master-1", "master-2", "master-3"} {
		s.answers(t, "svc-2", "okd-api", server, "UP")
	}
	s.answers(t, "svc-2", "okd-ingress-https", "worker-1", "UP")
	change("Add a worker", ingress, false, func() { s.Machines["worker-2"] = machine{Role: "worker", IP: "10.0.100.135"} })
	change("Drain a worker", ingress, false, func() { s.set("worker-2", func(m *machine) { m.State = "drain" }) })
	s.answers(t, "svc-1", "okd-ingress-https", "worker-2", "D") // down, or drained
	change("Replace a worker", ingress, false, func() {}, `-replace=module.okd.virtcluster_node.machine["worker-2"]`)

	for _, server := range []string{"master-1", "master-2", "master-3"} {
		t.Run("Roll the masters/"+server, func(t *testing.T) {
			s.set(server, func(m *machine) { m.State = "drain" })
			if plan := s.plan(t); server == "master-1" {
				quoted(t, "Roll the masters one at a time", plan)
			}
			drained := s.apply(t, api)
			end := acctest.StartLoad(t, "lan-client", api, 200)
			acctest.On(t, "hypervisor", "ip", "-n", server, "link", "set", "eth0", "down") // it is worked on
			for _, on := range []string{"svc-1", "svc-2"} {
				s.answers(t, on, "okd-api", server, "D")
			}
			acctest.On(t, "hypervisor", "ip", "-n", server, "link", "set", "eth0", "up")
			acctest.On(t, "hypervisor", "ip", "-n", server, "route", "replace", "default", "via", "10.0.100.254")
			away := end()
			s.set(server, func(m *machine) { m.State = "" })
			s.plan(t)
			back := s.apply(t, api)
			for _, on := range []string{"svc-1", "svc-2"} {
				s.answers(t, on, "okd-api", server, "UP")
			}
			t.Logf("%+v, %+v, %+v", drained, away, back)
			if drained.Lost+away.Lost+back.Lost > 0 {
				t.Errorf("requests failed while it was drained (%+v), away (%+v), or came back (%+v)", drained, away, back)
			}
		})
	}

	s.Settled()
	change("Move a virtual address", api, true, func() {
		s.ServiceNodes["service-1"] = serving(1, 90)
	})
	acctest.Eventually(t, "the addresses stay", func() bool {
		s.Run("apply", "-refresh-only", "-auto-approve")
		return strings.Count(s.Run("output", "-json", "owners"), `"service-2"`) == 2
	})
	change("Replace a service node", api, false, func() {
		delete(s.ServiceNodes, "service-1")
		s.ServiceNodes["service-3"] = serving(3, 90)
	})
	s.Settled()
	if got := name(t, "10.19.41.103", "api.okd.example"); got != outside {
		t.Errorf("the new service node says %q", got)
	}
	change("Change the external address", inside+":6443", false, func() { s.VIPs["outside"] = "10.19.41.161" })
	for _, at := range []string{"10.19.41.102", "10.19.41.103"} {
		if got := name(t, at, "api.okd.example"); got != "10.19.41.161" {
			t.Errorf("at %s the name leads to %q", at, got)
		}
	}
	acctest.Eventually(t, "the new address answers", func() bool {
		_, err := acctest.Ask(t, "lan-client", "tcp", "10.19.41.161:6443")
		return err == nil
	})
	const moved = "10.19.41.161:6443"
	both := func(want ...string) {
		t.Helper()
		for i, domain := range []string{"okd.example", "okd.new.example"} {
			if got := name(t, "10.19.41.102", "api."+domain); got != want[i] {
				t.Errorf("api.%s leads to %q, not %q", domain, got, want[i])
			}
		}
	}
	change("Serve two domains for a while", moved, false, func() { s.Domains = []string{"okd.new.example"} })
	both("10.19.41.161", "10.19.41.161")
	t.Run("the first domain is another", func(t *testing.T) {
		s.BaseDomain, s.Domains = "new.example", []string{"okd.example"}
		if plan := s.plan(t); regexp.MustCompile(`dns_zone\.(internal|external).* will be`).MatchString(plan) {
			t.Errorf("zones change:\n%s", plan)
		}
		s.Run("apply", "plan")
		both("10.19.41.161", "10.19.41.161")
		s.Domains = nil
		s.tell(t)
		s.Run("apply", "-auto-approve")
		both("", "10.19.41.161")
		s.Settled()
	})
}

// TestAccClusterOfOneMasterIsReachedThroughItsOnlyServiceNode has no worker, no virtual address and nothing outside: ingress leads to the
// master, by the service node's own address.
func TestAccClusterOfOneMasterIsReachedThroughItsOnlyServiceNode(t *testing.T) {
	s := newState(t, 1, map[string]machine{"master": existing("master", 131)})
	s.VIPs, s.External = map[string]string{}, nil
	s.ServiceNodes = map[string]service{"service": {IP: "10.0.100.101", Exists: true}}
	s.plan(t)
	s.Run("apply", "plan")
	s.Settled()
	for _, name := range []string{"api.okd.example", "api-int.okd.example", "console.apps.okd.example"} {
		if got := acctest.On(t, "hypervisor", "dig", "+short", "@10.0.100.101", name); got != "10.0.100.101" {
			t.Errorf("%s leads to %q", name, got)
		}
	}
	for backend, port := range map[string]string{"okd-api": "6443", "okd-ingress-https": "443"} {
		s.answers(t, "svc-1", backend, "master", "UP")
		// A server counts as up before it was checked, and as down for a moment where a busy machine misses a check.
		acctest.Eventually(t, "the master answers at port "+port, func() bool {
			answer, err := acctest.Ask(t, "hypervisor", "tcp", "10.0.100.101:"+port)
			return err == nil && strings.HasPrefix(answer, "master ")
		})
	}
	if held := acctest.On(t, "svc-1", "sh", "-c", "ls /etc/keepalived/keepalived.conf /etc/systemd/system/keepalived.service.d 2>/dev/null; true"); held != "" {
		t.Errorf("without a virtual address, keepalived has %s", held)
	}
}
