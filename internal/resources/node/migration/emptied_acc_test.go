package migration_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// callModule calls the module multi-master with networks of two hypervisors in one subnet, or of the first one alone, with what is said of these, and
// with a network that two of three machines are in.
func callModule(address, hypervisors, networks, home string) string {
	return migrantProvider() + fmt.Sprintf(`
locals {
  networks = {
    one = { mode = "bridge", bridge = "migrlan", cidr = "10.19.41.0/24", gateway = "10.19.41.254", hypervisor = "one" }
    two = { mode = "bridge", bridge = "migrlan", cidr = "10.19.41.0/24", gateway = "10.19.41.254", hypervisor = "two" }
  }
}

module "okd" {
  source = "./multi-master"

  name        = "okd"
  base_domain = "example"
  hypervisors = %s
  networks    = { for name, n in local.networks : name => n if contains(%[2]s, name) }
  pool        = { name = "migrants" }
  node        = { type = "qemu", image = %[3]q, memory_mib = 128, vcpus = 1 }
  machines = {
    m1 = { role = "master", ip = "10.19.41.71", network = "one" }
    m2 = { role = "master", ip = "10.19.41.72", network = %[5]q, mac = "52:54:00:aa:77:01" }
    m3 = { role = "master", ip = "10.19.41.73", network = %[5]q }
  }
  service_nodes = { a = { ip = "10.19.41.101", network = "one", endpoint = %[4]q, exists = true } }
}
`, hypervisors, networks, os.Getenv("SANDBOX_TINY_IMAGE"), "ssh://root@"+address, home)
}

// TestAccHypervisorIsEmptied has the module's variable empty a hypervisor in one apply: its machines leave it one at a time, and serve meanwhile. Then
// the hypervisor goes.
func TestAccHypervisorIsEmptied(t *testing.T) {
	stageMigration(t)
	address := acctest.KnownServiceNodes(t, 1)[0]
	s := acctest.NewState(t)
	if err := os.CopyFS(filepath.Join(s.Dir, "multi-master"), os.DirFS("../../../../examples/modules/multi-master")); err != nil {
		t.Fatal(err)
	}
	const both = `["one", "two"]`
	s.Write(callModule(address, "{}", both, "two"))
	s.Run("init")
	s.DestroyAtEnd()
	s.Run("apply", "-auto-approve")
	s.Settled()
	uptime, _ := guestState(t)

	s.Write(callModule(address, "{ two = { schedulable = false } }", both, "two"))
	s.Run("plan", "-out=plan")
	var plan struct {
		Changes []struct {
			Address string
			Change  struct{ Actions []string }
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal([]byte(s.Run("show", "-json", "plan")), &plan); err != nil {
		t.Fatal(err)
	}
	for _, c := range plan.Changes {
		if is := strings.Join(c.Change.Actions, "+"); strings.Contains(c.Address, "virtcluster_node.") && is != "update" && is != "no-op" {
			t.Errorf("the plan says %s of %s", is, c.Address)
		}
	}
	end := countPings(t)
	emptied := s.Start("apply", "plan")
	ended := make(chan error, 1)
	go func() { ended <- emptied.Wait() }()
	most := 0
	for len(ended) == 0 {
		out, err := acctest.Try(t.Context(), "hv-1", "sh", "-c", "virsh -q list --name --transient | grep -c .")
		if n, convert := strconv.Atoi(strings.TrimSpace(out)); err == nil && convert == nil {
			most = max(most, n)
		}
	}
	if err := <-ended; err != nil || most > 1 {
		t.Fatalf("%v: %d were on their way at one time:\n%s", err, most, emptied.Out.String())
	}
	answered, sent, gap := end()
	t.Logf("%d of %d pings were answered, %d in a row were not", answered, sent, gap)
	if gap > 19 { // of 50 ms
		t.Errorf("the machine was away for %d ms", gap*50)
	}
	s.Settled()
	for _, left := range strings.Fields(leftOn(t, "hv-2")) {
		if !strings.HasPrefix(left, "okd-cluster") { // the image, and its mark
			t.Errorf("hv-2 has %s", left)
		}
	}
	if now, _ := guestState(t); now <= uptime {
		t.Errorf("the guest runs for %f s now, and did for %f before", now, uptime)
	}
	if out := acctest.On(t, "hv-1", "virsh", "-q", "list", "--name"); len(strings.Fields(out)) != 3 {
		t.Errorf("hv-1 runs %s", out)
	}

	// Another network of each has them leave too: the image goes after what is made of it.
	s.Apply(callModule(address, "{}", both, "two"))
	s.Apply(callModule(address, "{}", both, "one"))
	s.Settled()

	s.Apply(callModule(address, "{}", `["one"]`, "one"))
	s.Settled()
	wantNothing(t, "hv-2")
}
