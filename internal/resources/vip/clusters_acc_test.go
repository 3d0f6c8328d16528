package vip_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccTwoClustersOnOnePairOfMachines applies the example as its reader would: the module of the machines once, and that of a
// cluster twice.
func TestAccTwoClustersOnOnePairOfMachines(t *testing.T) {
	acctest.InSandbox(t)
	machines(t, 2)
	s := acctest.NewState(t)
	if err := os.CopyFS(s.Dir, os.DirFS("../../../examples/clusters")); err != nil {
		t.Fatal(err)
	}
	type vips struct {
		Inside  string `json:"inside"`
		Outside string `json:"outside"`
	}
	type cluster struct {
		CIDR    string            `json:"cidr"`
		VIPs    vips              `json:"vips"`
		Masters map[string]string `json:"masters"`
	}
	blue := cluster{"10.60.0.0/24", vips{"10.0.100.240", "10.19.41.240"}, map[string]string{"master-1": "10.60.0.11"}}
	green := cluster{"10.61.0.0/24", vips{"10.0.100.241", "10.19.41.241"}, map[string]string{"master-1": "10.61.0.11"}}
	variables := func(clusters map[string]cluster) {
		t.Helper()
		text, err := json.Marshal(map[string]any{
			"ssh_private_key_file": os.Getenv("SANDBOX_SSH_KEY"), "node_image": os.Getenv("SANDBOX_TINY_IMAGE"), "node_type": "qemu", "clusters": clusters,
		})
		if err == nil {
			err = os.WriteFile(filepath.Join(s.Dir, "terraform.tfvars.json"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	both := map[string]cluster{"blue": blue, "green": green}
	variables(both)
	s.Run("init")
	s.DestroyAtEnd()
	s.Run("apply", "-auto-approve")
	s.Settled()
	for name, c := range both {
		t.Run(name, func(t *testing.T) {
			acctest.Eventually(t, "nobody listens for the API of "+name, func() bool {
				conn, err := net.DialTimeout("tcp", c.VIPs.Inside+":6443", time.Second)
				if err != nil {
					return false
				}
				return conn.Close() == nil
			})
			for at, want := range map[string]string{"10.0.100.101": c.VIPs.Inside, "10.0.100.102": c.VIPs.Inside, "10.19.41.102": c.VIPs.Outside} {
				if got := acctest.On(t, "hypervisor", "dig", "+short", "@"+at, "api."+name+".example"); got != want {
					t.Errorf("at %s, api.%s.example is %q, not %s", at, name, got, want)
				}
			}
		})
	}
	if out := s.Run("output"); strings.Count(out, `"inside" = "svc-1"`) != 2 || strings.Count(out, `"outside" = "svc-1"`) != 2 {
		t.Errorf("not every address is held by svc-1:\n%s", out)
	}
	// One goes, and the other one stays as it is.
	variables(map[string]cluster{"green": green})
	if out := s.Run("apply", "-auto-approve"); !strings.Contains(out, "0 added, 0 changed") {
		t.Errorf("taking one cluster away changes the other:\n%s", out)
	}
	s.Settled()
	if got := acctest.On(t, "hypervisor", "dig", "+short", "@10.0.100.102", "api.green.example"); got != green.VIPs.Inside {
		t.Errorf("the name of the other cluster is %q", got)
	}
	s.Run("destroy", "-auto-approve")
	if err := nothingLeft(t, "svc-1", "svc-2"); err != nil {
		t.Error(err)
	}
}
