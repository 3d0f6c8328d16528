package haproxybackend_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy/haproxytest"
)

// forms are files as people write them: what of each is imported, or why it cannot be.
var forms = map[string]struct {
	parts   []string
	refused map[string]string
}{
	"default-path.cfg": {parts: []string{"frontend/theirs", "backend/theirs"}},
	"checks.cfg":       {parts: []string{"frontend/theirs", "backend/theirs", "backend/steps"}},
	"disabled.cfg":     {parts: []string{"frontend/up", "frontend/theirs", "backend/theirs"}},
	"binds.cfg":        {parts: []string{"frontend/theirs"}},
	"servers.cfg":      {parts: []string{"frontend/theirs", "backend/theirs"}},
	"conditions.cfg":   {refused: map[string]string{"frontend/theirs": "stands between .if and .endif"}},
}

func TestAccFilesAsPeopleWriteThem(t *testing.T) {
	acctest.InSandbox(t)
	node, ip := haproxytest.Node(t)
	acctest.On(t, "svc-1", "sh", "-c", "cp -p "+config+" /tmp/before.cfg; mkdir -p /etc/haproxy/ids; echo theirs >/etc/haproxy/ids/name")
	t.Cleanup(func() {
		haproxytest.Cleanup(t, "sh", "-c", "cp -p /tmp/before.cfg "+config+"; rm -r /etc/haproxy/ids; systemctl stop haproxy")
	})
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "forms", name))
			if err != nil {
				t.Fatal(err)
			}
			acctest.On(t, "svc-1", "sh", "-c", `printf %s "$1" >`+config+`; chmod 640 `+config+`; chgrp haproxy `+config+`; systemctl restart haproxy`, "sh", string(text))
			serving := func(port string) {
				t.Helper()
				client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
				resp, err := client.Get("http://" + ip + ":" + port + "/up")
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Fatalf("port %s does not serve: %v %v", port, resp, err)
				}
				_ = resp.Body.Close()
			}
			serving("8070")
			s := acctest.NewState(t)
			s.DestroyAtEnd()
			ours := acctest.Provider() + baseOf(node) + backendOf(node, "ours", "") + frontendOf(node, "ours", 8090)
			s.Apply(ours)
			s.Settled()
			serving("8070")
			serving("8090")
			s.Apply(strings.Replace(ours, "8090", "8091", 1))
			s.Settled()
			serving("8070")
			serving("8091")
			s.Write(acctest.Provider() + frontendOf(node, "second", 8070))
			if name != "conditions.cfg" { // where a condition decides who listens
				s.Refused([]string{"which this provider did not write, listens at *:8070 already"}, "plan")
			}
			s.Apply(acctest.Provider())
			if got := acctest.On(t, "svc-1", "sh", "-c", "cat "+config+"; stat -c '%a %G' "+config); got != string(text)+"640 haproxy" {
				t.Errorf("afterwards the file is\n%s", got)
			}
			imported(t, node, form.parts, func() { serving("8070") })
			for part, why := range form.refused {
				s := acctest.NewState(t)
				s.Write(acctest.Provider() + importOf(node, part))
				s.Refused([]string{why}, "plan", "-generate-config-out=generated.tf")
			}
		})
	}
}

func importOf(node, part string) string {
	kind, name, _ := strings.Cut(part, "/")
	return fmt.Sprintf("import {\n  to = virtcluster_haproxy_%s.%s\n  id = %q\n}\n", kind, name, node+"#"+part)
}

// imported imports parts with the configuration that the CLI writes for them, and changes each.
func imported(t *testing.T, node string, parts []string, serving func()) {
	t.Helper()
	if len(parts) == 0 {
		return
	}
	s := acctest.NewState(t)
	blocks := acctest.Provider()
	for _, part := range parts {
		blocks += importOf(node, part)
	}
	s.Write(blocks)
	s.Run("plan", "-generate-config-out=generated.tf")
	if out := s.Run("plan"); !strings.Contains(out, fmt.Sprintf("Plan: %d to import, 0 to add, 0 to change, 0 to destroy.", len(parts))) {
		t.Fatalf("the import changes something:\n%s", out)
	}
	s.Run("apply", "-auto-approve")
	s.Settled()
	generated := filepath.Join(s.Dir, "generated.tf")
	text, err := os.ReadFile(generated)
	if err != nil {
		t.Fatal(err)
	}
	changed := regexp.MustCompile(`(?m)^(  options +=) \[\]$`).ReplaceAllString(string(text), `$1 ["splice-auto"]`)
	if strings.Count(changed, "splice-auto") != len(parts) {
		t.Fatalf("not every part is changed:\n%s", changed)
	}
	if err := os.WriteFile(generated, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := s.Run("apply", "-auto-approve"); !strings.Contains(out, fmt.Sprintf("0 added, %d changed, 0 destroyed", len(parts))) {
		t.Errorf("the change of what was imported:\n%s", out)
	}
	s.Settled()
	serving()
}
