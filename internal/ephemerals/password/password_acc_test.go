package password_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy/haproxytest"
)

// config gives the password to the page of HAProxy's statistics.
func config(node, settings string, version int) string {
	return acctest.Provider() + fmt.Sprintf(`
variable "secret" {
  type      = string
  ephemeral = true
  default   = "correct horse"
}
ephemeral "virtcluster_password" "stats" {
%s
}
resource "virtcluster_haproxy" "test" {
  service_node = %q
  stats        = { port = 9101, user = "admin", password_wo = ephemeral.virtcluster_password.stats.result, password_wo_version = %d }
}
`, settings, node, version)
}

func TestAccPassword(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node, ip := haproxytest.Node(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	// ask returns the status of the page.
	ask := func(password string) int {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, "http://"+ip+":9101/stats", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("admin", password)
		client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	const derive = "  secret  = var.secret\n  purpose = \"stats\"\n"
	s.Apply(config(node, derive, 1))
	derived := alloc.Password("correct horse", "stats", 24)
	if got := ask(derived); got != http.StatusOK {
		t.Errorf("with the derived password the page answers %d", got)
	}
	s.Settled()
	// Another one without a secret: it is taken with a new version, once.
	s.Apply(config(node, "  length = 12", 2))
	if got := ask(derived); got != http.StatusUnauthorized {
		t.Errorf("with the password of before the page answers %d", got)
	}
	line := acctest.On(t, "svc-1", "sh", "-c", "grep -o 'admin:.*' /etc/haproxy/haproxy.cfg")
	random := strings.Trim(strings.TrimPrefix(line, "admin:"), `"'`)
	if got := ask(random); got != http.StatusOK || len(random) != 12 {
		t.Errorf("with %q the page answers %d", random, got)
	}
	s.Settled()
	s.Apply(config(node, "  length = 12", 2))
	if got := ask(random); got != http.StatusOK {
		t.Errorf("after an apply of the same version the page answers %d", got)
	}
	for _, name := range []string{"terraform.tfstate", "terraform.tfstate.backup"} {
		state, err := os.ReadFile(filepath.Join(s.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(state), derived) || strings.Contains(string(state), random) || strings.Contains(string(state), "correct horse") {
			t.Errorf("a password is in %s:\n%s", name, state)
		}
	}
	s.Write(config(node, "  length = 7", 2))
	s.Refused([]string{"length"}, "plan")
	s.Write(config(node, "  purpose = \"stats\"", 2))
	s.Refused([]string{"secret"}, "plan")
	s.Write(config(node, derive, 2))
}
