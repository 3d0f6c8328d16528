package haproxybackend_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy/haproxytest"
)

// TestAccAnImportPlansWhatNoFileHasWordsFor imports into a second state what is written in other words than HAProxy's file has, or
// as empty.
func TestAccAnImportPlansWhatNoFileHasWordsFor(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node, _ := haproxytest.Node(t)
	parts := acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_haproxy" "base" {
  service_node = %[1]q
  options      = ["httplog  clf"]
  timeouts     = {}
  log          = "/dev/log   local0"
  extra_config = ""
}
resource "virtcluster_haproxy_backend" "api" {
  service_node   = %[1]q
  name           = "api"
  mode           = "http"
  balance        = "uri   depth  2"
  options        = ["forwardfor  except   127.0.0.0/8"]
  timeouts       = {}
  default_server = {}
  drain_timeout  = "45s"
  servers        = { a = { address = "192.0.2.1", port = 80, maxconn = 5, options = ["on-marked-down   shutdown-sessions"] } }
}
resource "virtcluster_haproxy_backend" "none" {
  service_node  = %[1]q
  name          = "none"
  mode          = "http"
  options       = []
  servers       = {}
  drain_timeout = "0s"
}
resource "virtcluster_haproxy_frontend" "api" {
  service_node = %[1]q
  name         = "api"
  mode         = "http"
  binds        = [{ port = 8080, options = ["maxconn   50"] }]
  acls         = { a = "path_beg   /a" }
  rules        = []
  timeouts     = {}
  options      = []
  extra_config = ""
}
`, node)
	one, two := acctest.NewState(t), acctest.NewState(t)
	one.DestroyAtEnd()
	one.Apply(parts)
	one.Settled()
	imports := ""
	for to, part := range map[string]string{".base": "haproxy", "_backend.api": "backend/api", "_backend.none": "backend/none", "_frontend.api": "frontend/api"} {
		imports += fmt.Sprintf("import {\n  to = virtcluster_haproxy%s\n  id = %q\n}\n", to, node+"#"+part)
	}
	// Texts and objects written empty are the one change after an import, which leaves them null.
	two.Write(regexp.MustCompile(`(?m)^ +\w+ += (\{\}|"")\n`).ReplaceAllStringFunc(parts, func(line string) string {
		if strings.Contains(line, "servers") { // a collection, which an import makes empty
			return line
		}
		return ""
	}) + imports)
	if out := two.Run("plan"); !strings.Contains(out, "Plan: 4 to import, 0 to add, 0 to change, 0 to destroy.") {
		t.Errorf("the import changes something:\n%s", out)
	}
	two.Write(parts + imports)
	want := map[string]string{
		"virtcluster_haproxy.base": "extra_config", "virtcluster_haproxy_backend.api": "default_server timeouts",
		"virtcluster_haproxy_backend.none": "", "virtcluster_haproxy_frontend.api": "extra_config timeouts",
	}
	if diff := cmp.Diff(want, planned(t, two)); diff != "" {
		t.Errorf("the import changes other than texts and objects that are written empty (-want +got):\n%s", diff)
	}
	refused(t, two, strings.Replace(frontendOf(node, "x", 8081), "monitor_uri", "maxconn = 0\n  monitor_uri", 1), "Number out of bounds", "write a number from 1 to 2147483647, not 0")
	refused(t, two, backendOf(node, "x", `timeouts = { server = "25d" }`), "24 days 20 hours")
}

// planned are the attributes that a plan changes, by resource. The programs show a plan each in its own way, and leave out what is
// empty, but mean the same by it.
func planned(t *testing.T, s *acctest.State) map[string]string {
	t.Helper()
	s.Run("plan", "-out=planned")
	var plan struct {
		Changes []struct {
			Address string
			Change  struct{ Before, After map[string]any }
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal([]byte(s.Run("show", "-json", "planned")), &plan); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, c := range plan.Changes {
		var names []string
		for _, name := range slices.Sorted(maps.Keys(c.Change.After)) {
			if !reflect.DeepEqual(c.Change.Before[name], c.Change.After[name]) {
				names = append(names, name)
			}
		}
		all[c.Address] = strings.Join(names, " ")
	}
	return all
}
