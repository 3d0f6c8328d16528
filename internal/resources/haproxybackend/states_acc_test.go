package haproxybackend_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy/haproxytest"
)

const config = "/etc/haproxy/haproxy.cfg"

// backendOf is a backend of one server.
func backendOf(node, name, more string) string {
	return fmt.Sprintf(`
resource "virtcluster_haproxy_backend" %[2]q {
  service_node = %[1]q
  name         = %[2]q
  mode         = "http"
  servers      = { a = { address = "192.0.2.1", port = 80 } }
  %[3]s
}
`, node, name, more)
}

func frontendOf(node, name string, port int) string {
	return fmt.Sprintf(`
resource "virtcluster_haproxy_frontend" %[2]q {
  service_node = %[1]q
  name         = %[2]q
  mode         = "http"
  binds        = [{ port = %[3]d }]
  monitor_uri  = "/up"
}
`, node, name, port)
}

func baseOf(node string) string {
	return fmt.Sprintf("resource \"virtcluster_haproxy\" \"base\" { service_node = %q }\n", node)
}

// refused wants a plan of a configuration to fail and to say every one of words.
func refused(t *testing.T, s *acctest.State, config string, words ...string) {
	t.Helper()
	s.Write(acctest.Provider() + config)
	s.Refused(words, "plan")
}

func has(t *testing.T, lines ...string) {
	t.Helper()
	text := acctest.On(t, "svc-1", "cat", config)
	for _, line := range lines {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
}

func TestAccStatesShareAMachineAndNothingElse(t *testing.T) {
	acctest.InSandbox(t)
	node, _ := haproxytest.Node(t)
	one, two := acctest.NewState(t), acctest.NewState(t)
	one.DestroyAtEnd()
	two.DestroyAtEnd()
	ones := baseOf(node) + backendOf(node, "api", "") + frontendOf(node, "api", 8080)
	one.Apply(acctest.Provider() + ones)
	one.Settled()

	// What one has, two may not have.
	refused(t, two, backendOf(node, "api", ""), `HAProxy backend "api"`, "belongs to another state", `import it as "`+node+`#backend/api"`)
	refused(t, two, frontendOf(node, "api", 8081), `HAProxy frontend "api"`, `import it as "`+node+`#frontend/api"`)
	refused(t, two, frontendOf(node, "other", 8080), `Frontend "api"`, "another state's", "listens at *:8080 already")
	refused(t, two, baseOf(node), "Two base configurations", `import it as "`+node+`#haproxy"`)
	one.Settled()

	// Each has its own beside the other's.
	twos := backendOf(node, "web", "") + frontendOf(node, "web", 8082)
	two.Apply(acctest.Provider() + twos)
	two.Settled()
	one.Settled()
	has(t, "backend api", "backend web", "frontend api", "frontend web")

	// An import takes over knowingly, and from the first change on it is not the other's any more.
	two.Write(acctest.Provider() + twos + backendOf(node, "api", "") + fmt.Sprintf("import {\n  to = virtcluster_haproxy_backend.api\n  id = %q\n}\n", node+"#backend/api"))
	if out := two.Run("apply", "-auto-approve"); !strings.Contains(out, "1 imported, 0 added, 0 changed, 0 destroyed") {
		t.Errorf("the import is no import only:\n%s", out)
	}
	two.Settled()
	two.Apply(acctest.Provider() + twos + backendOf(node, "api", `balance = "leastconn"`))
	two.Settled()
	if out := one.Run("plan"); !strings.Contains(out, `HAProxy backend "api" is not this resource's any more`) {
		t.Errorf("the plan of the state that lost it:\n%s", out)
	}
	refused(t, one, baseOf(node)+backendOf(node, "api", `balance = "random"`)+frontendOf(node, "api", 8080), "belongs to another state", `import it as "`+node+`#backend/api"`)

	// The destroy of one leaves what is two's.
	one.Run("destroy", "-auto-approve")
	has(t, "backend api", "    balance leastconn", "backend web", "frontend web")
	two.Settled()
	if text := acctest.On(t, "svc-1", "cat", config); strings.Contains(text, "frontend api") || strings.Contains(text, "# virtcluster: defaults") {
		t.Errorf("what was the first state's is still there:\n%s", text)
	}
}

// TestAccProviderBlocksLeaveEachOthersBackendsAlone has two provider blocks, each a process of its own, name one backend, and a state
// that is lost.
func TestAccProviderBlocksLeaveEachOthersBackendsAlone(t *testing.T) {
	acctest.InSandbox(t)
	node, _ := haproxytest.Node(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	block := acctest.Provider()
	first := block + backendOf(node, "api", "")
	second := strings.Replace(strings.Replace(backendOf(node, "api", `balance = "leastconn"`), `"api" {`, `"other" {`, 1), "{\n",
		"{\n  provider = virtcluster.other\n  depends_on = [virtcluster_haproxy_backend.api]\n", 1)
	both := first + strings.Replace(block, "{\n", "{\n  alias = \"other\"\n", 1) + second
	out := []string{"finished in this workspace by another resource, of another provider block", `import it as "` + node + `#backend/api"`}
	s.Write(both)
	s.Refused(out, "apply", "-auto-approve")
	has(t, "backend api")
	if warned := s.Run("plan"); !strings.Contains(warned, "is there already") || !strings.Contains(warned, "The apply refuses") {
		t.Errorf("a plan of both says nothing of it:\n%s", warned)
	}
	s.Apply(first)
	s.Settled()
	if text := acctest.On(t, "svc-1", "cat", config); strings.Contains(text, "leastconn") || strings.Contains(text, "creating=") {
		t.Errorf("the other block changed it, or it stays marked as unfinished:\n%s", text)
	}
	s.Forget()
	s.Refused(out, "apply", "-auto-approve")
	s.Run("import", "virtcluster_haproxy_backend.api", node+"#backend/api")
	s.Settled()
}

// TestAccKilledCreateConvergesInItsOwnDirectoryOnly kills Terraform and the provider when the backend is on the machine, its create has
// not come to its end, and no state knows of it yet.
func TestAccKilledCreateConvergesInItsOwnDirectoryOnly(t *testing.T) {
	acctest.InSandbox(t)
	node, _ := haproxytest.Node(t)
	one, two := acctest.NewState(t), acctest.NewState(t)
	one.DestroyAtEnd()
	one.Write(acctest.Provider() + backendOf(node, "api", ""))
	// What follows the swap of the file waits, so that the provider is there to be found.
	acctest.On(t, "svc-1", "sh", "-c", `touch /run/held /run/unfinished
cat >/usr/local/sbin/systemctl <<'END'
#!/bin/sh
while [ -e /run/held ] && grep -q "^backend api" `+config+`; do sleep 0.1; done
while [ -e /run/unfinished ] && [ ! -e /var/lib/virtcluster/haproxy/journal.json ] && grep -q creating= `+config+`; do sleep 0.1; done
exec /usr/bin/systemctl "$@"
END
chmod 0755 /usr/local/sbin/systemctl`)
	t.Cleanup(func() {
		haproxytest.Cleanup(t, "rm", "-f", "/run/held", "/run/unfinished", "/usr/local/sbin/systemctl")
	})
	apply := one.Start("apply", "-auto-approve")
	acctest.Eventually(t, "for the swap", func() bool {
		_, err := acctest.Try(t.Context(), "svc-1", "grep", "-q", "^backend api", config)
		return err == nil
	})
	if err := apply.Process.Signal(syscall.SIGSTOP); err != nil { // now it cannot save what the provider is about to say
		t.Fatal(err)
	}
	provider := acctest.ProviderOf(t, apply.Process.Pid)
	acctest.On(t, "svc-1", "sh", "-c", `rm /run/held; while [ -e /var/lib/virtcluster/haproxy/journal.json ]; do :; done`)
	for _, pid := range []int{provider, apply.Process.Pid} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if err := apply.Wait(); err == nil {
		t.Fatalf("the apply was not killed:\n%s", apply.Out.String())
	}
	if state, err := os.ReadFile(one.Dir + "/terraform.tfstate"); err == nil && strings.Contains(string(state), "haproxy_backend") {
		t.Fatalf("the state knows of it already:\n%s", state)
	}
	has(t, "backend api")
	if text := acctest.On(t, "svc-1", "sh", "-c", "rm /run/unfinished; cat "+config); !strings.Contains(text, "creating=") {
		t.Errorf("it is not marked as unfinished:\n%s", text)
	}
	refused(t, two, backendOf(node, "api", ""), `HAProxy backend "api"`, "belongs to another state", `import it as "`+node+`#backend/api"`)
	if out := one.Run("apply", "-auto-approve"); !strings.Contains(out, "1 added, 0 changed, 0 destroyed") {
		t.Errorf("the next apply:\n%s", out)
	}
	one.Settled()
	if text := acctest.On(t, "svc-1", "cat", config); strings.Contains(text, "creating=") {
		t.Errorf("it stays marked as unfinished:\n%s", text)
	}
}

// TestAccWhatHAProxyRefusesIsRefusedByThePlan plans what only HAProxy itself knows to be wrong, beside what is right.
func TestAccWhatHAProxyRefusesIsRefusedByThePlan(t *testing.T) {
	acctest.InSandbox(t)
	node, _ := haproxytest.Node(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(acctest.Provider() + baseOf(node) + backendOf(node, "web", ""))
	more := baseOf(node) + backendOf(node, "web", "")
	before := acctest.On(t, "svc-1", "cat", config)
	to := func(name, mode, backend, more string) string {
		return fmt.Sprintf("resource \"virtcluster_haproxy_frontend\" %[2]q {\n service_node = %[1]q\n name = %[2]q\n mode = %[3]q\n binds = [{ port = 8081 }]\n default_backend = %[4]s\n %[5]s\n}\n",
			node, name, mode, backend, more)
	}
	for name, c := range map[string]struct {
		config string
		says   []string
	}{
		"a word nobody knows":          {backendOf(node, "bad", `extra_config = "nonsense"`), []string{"HAProxy refuses what is planned", "unknown keyword 'nonsense'", `in backend "bad"`}},
		"an http frontend, a tcp side": {strings.Replace(backendOf(node, "side", ""), `"http"`, `"tcp"`, 1) + to("f", "http", "virtcluster_haproxy_backend.side.name", ""), []string{"Modes that do not fit", `backend "side"`}},
		"check_ssl without verify":     {backendOf(node, "tls", `default_server = { check = true, check_ssl = true }`), []string{"No CA to verify by", "verify"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.For(t)
			s.Write(acctest.Provider() + more + backendOf(node, "good", "") + c.config)
			out, err := s.Try("plan")
			flat := strings.Join(strings.Fields(strings.ReplaceAll(out, "│", " ")), " ")
			for _, word := range c.says {
				if err == nil || !strings.Contains(flat, word) || strings.Count(out, "Error: ") != 1 {
					t.Errorf("%v, not one error with %q:\n%s", err, word, out)
				}
			}
		})
	}
	// What something else of the apply may bring is no error, and what is not known yet is asked about by the apply.
	s.Write(acctest.Provider() + more + backendOf(node, "file", `extra_config = "errorfile 503 /srv/none.http"`))
	if out := s.Run("plan"); !strings.Contains(out, "Warning: HAProxy refuses what is planned") {
		t.Errorf("no warning of a file that is not there:\n%s", out)
	}
	s.Write(acctest.Provider() + more + "resource \"terraform_data\" \"line\" { input = \"nonsense\" }\n" + backendOf(node, "later", "extra_config = terraform_data.line.output"))
	s.Run("plan")
	if after := acctest.On(t, "svc-1", "cat", config); after != before {
		t.Errorf("a plan changed the configuration:\n%s", after)
	}
	if left := acctest.On(t, "svc-1", "sh", "-c", "ls -d /run/virtcluster-plan 2>/dev/null || true"); left != "" {
		t.Errorf("a plan left %s behind", left)
	}
}

// TestAccATaintedBackendThatBecameAnothersStays has Terraform replace a backend of which it hands the provider no claim.
func TestAccATaintedBackendThatBecameAnothersStays(t *testing.T) {
	acctest.InSandbox(t)
	node, _ := haproxytest.Node(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	made := acctest.Provider() + backendOf(node, "api", "")
	before := acctest.On(t, "svc-1", "cat", config)
	for whose, edit := range map[string]string{"another state's": "s/owner=[^ ]* workspace=[^ ]*/owner=theirs workspace=elsewhere/", "a person's": "/owner=/d"} {
		if !t.Run(whose, func(t *testing.T) {
			s := s.For(t)
			s.ReplaceTainted("virtcluster_haproxy_backend.api", acctest.Provider()+backendOf(node, "api", acctest.HalfMade), made, func() {
				acctest.On(t, "svc-1", "sed", "-i", edit, config)
			}, `HAProxy backend "api" stays`, "Name taken")
			has(t, "backend api", "    mode http")
			if t.Failed() {
				t.FailNow()
			}
			s.Run("import", "virtcluster_haproxy_backend.api", node+"#backend/api")
			s.Run("destroy", "-auto-approve")
			if after := acctest.On(t, "svc-1", "cat", config); after != before {
				t.Errorf("the file from before became\n%s", after)
			}
		}) {
			return
		}
	}
	// A destroy is told what the state keeps: it removes its own wherever it was written from.
	s.Apply(made)
	s.Run("taint", "virtcluster_haproxy_backend.api")
	acctest.On(t, "svc-1", "sed", "-i", "s/workspace=[^ ]*/workspace=elsewhere/", config)
	s.Run("destroy", "-auto-approve")
	if after := acctest.On(t, "svc-1", "cat", config); after != before {
		t.Errorf("after the destroy of a tainted backend:\n%s", after)
	}
}

// TestAccWhatCannotBeReloadedIsDestroyedAllTheSame has a person write an address that the machine does not have, which HAProxy's
// checker cannot see and its reload fails at.
func TestAccWhatCannotBeReloadedIsDestroyedAllTheSame(t *testing.T) {
	acctest.InSandbox(t)
	_, ip := haproxytest.Node(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	const person = "\nfrontend person\n\tbind 203.0.113.9:8099\n\tmode http\n\ttimeout client 5s\n"
	before := acctest.On(t, "svc-1", "sh", "-c", "cp -p "+config+" /tmp/before.cfg; cat "+config)
	t.Cleanup(func() { haproxytest.Cleanup(t, "mv", "/tmp/before.cfg", config) })
	node := fmt.Sprintf("\nresource \"virtcluster_service_node\" \"n\" {\n  endpoint = \"ssh://root@%s\"\n  services = [\"haproxy\"]\n}\n", ip)
	of := func(text string) string { return strings.ReplaceAll(text, `"NODE"`, "virtcluster_service_node.n.id") }
	s.Apply(acctest.Provider() + node + of(backendOf("NODE", "api", "")+frontendOf("NODE", "web", 8080)))
	acctest.On(t, "svc-1", "sh", "-c", `printf "$1" >>`+config, "sh", person)
	if out := s.Run("destroy", "-auto-approve"); !strings.Contains(out, "cannot be told") || !strings.Contains(out, "203.0.113.9") {
		t.Errorf("the destroy of all says nothing of what was not reloaded:\n%s", out)
	}
	if after := acctest.On(t, "svc-1", "cat", config); after != strings.TrimSpace(before+"\n"+person) {
		t.Errorf("the file became\n%s", after)
	}
}
