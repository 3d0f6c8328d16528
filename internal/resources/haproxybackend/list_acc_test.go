package haproxybackend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy/haproxytest"
)

// A person's frontend and backend are listed, and the configuration that Terraform generates of them plans nothing but imports.
func TestAccListHAProxy(t *testing.T) {
	acctest.InSandbox(t)
	node, _ := haproxytest.Node(t)
	acctest.On(t, "svc-1", "sh", "-c", `cp -a /etc/haproxy/haproxy.cfg /root/haproxy.before
printf 'frontend byhand\n    mode tcp\n    bind :8443\n    default_backend byhand\n\nbackend byhand\n    mode tcp\n    balance roundrobin\n    server a 10.0.100.9:6443 check\n' >>/etc/haproxy/haproxy.cfg
systemctl start haproxy`)
	t.Cleanup(func() {
		haproxytest.Cleanup(t, "sh", "-c", "systemctl stop haproxy; mv /root/haproxy.before /etc/haproxy/haproxy.cfg")
	})
	s := acctest.NewStateWithActions(t)
	s.Write(acctest.Provider())
	var blocks strings.Builder
	for _, kind := range []string{"haproxy_frontend", "haproxy_backend"} {
		fmt.Fprintf(&blocks, "list \"virtcluster_%s\" \"all\" {\n  provider         = virtcluster\n  include_resource = true\n  config {\n    service_node = %q\n  }\n}\n", kind, node)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "all.tfquery.hcl"), []byte(blocks.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := s.Run("query", "-generate-config-out=generated.tf"); strings.Count(out, "name=byhand") != 2 {
		t.Errorf("listed is:\n%s", out)
	}
	if plan := s.Run("plan"); !strings.Contains(plan, "Plan: 2 to import, 0 to add, 0 to change, 0 to destroy.") {
		text, _ := os.ReadFile(filepath.Join(s.Dir, "generated.tf"))
		t.Errorf("what was generated plans:\n%s\n%s", plan, text)
	}
}
