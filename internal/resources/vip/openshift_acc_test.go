package vip_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// status has the example's VIPs tell what their members say.
const status = `
data "virtcluster_vip_status" "seen" {
  for_each = virtcluster_vip.openshift
  vip      = each.value.id
}
output "priorities" {
  value = { for role, seen in data.virtcluster_vip_status.seen : role => [for m in seen.members : m.effective_priority] }
}
output "states" {
  value = { for role, seen in data.virtcluster_vip_status.seen : role => [for m in seen.members : m.state] }
}
output "holders" {
  value = { for role, seen in data.virtcluster_vip_status.seen : role => seen.owner }
}
output "held" {
  value = { for role, seen in data.virtcluster_vip_status.seen : role => flatten([for m in seen.members : m.held_addresses]) }
}
output "moved" {
  value = alltrue(flatten([for seen in data.virtcluster_vip_status.seen : [for m in seen.members : timecmp(m.last_transition, "2020-01-01T00:00:00Z") > 0]]))
}
`

// TestAccTheOpenShiftExampleIsOpenShifts applies the example as its reader would, with the program itself.
func TestAccTheOpenShiftExampleIsOpenShifts(t *testing.T) {
	acctest.InSandbox(t)
	machines(t, 2)
	const api, ingress = "10.0.100.250", "10.0.100.251"
	for _, machine := range []string{"svc-1", "svc-2"} {
		answer(t, machine, "api", 6443, "/readyz", true)
		answer(t, machine, "balancer", 9445, "/readyz", true)
		answer(t, machine, "ingress", 1936, "/healthz", false)
		t.Cleanup(func() { clean(t, machine) })
	}
	run := program(t, "../../../examples/openshift-vips")
	defer func() {
		run(t.Context(), "destroy", "-auto-approve")
		if err := nothingLeft(t, "svc-1", "svc-2"); err != nil {
			t.Error(err)
		}
	}()
	seen := func() (out struct {
		IDs        map[string]int
		Priorities map[string][]int
		States     map[string][]string
		Holders    map[string]string
		Held       map[string][]string
		Moved      bool
	}) {
		run(t.Context(), "apply", "-auto-approve")
		var raw map[string]struct{ Value json.RawMessage }
		if err := json.Unmarshal([]byte(run(t.Context(), "output", "-json")), &raw); err != nil {
			t.Fatal(err)
		}
		read := func(name string, into any) {
			if err := json.Unmarshal(raw[name].Value, into); err != nil {
				t.Fatalf("output %s: %v", name, err)
			}
		}
		var vips map[string]struct{ ID int }
		read("vips", &vips)
		read("priorities", &out.Priorities)
		read("states", &out.States)
		read("holders", &out.Holders)
		read("held", &out.Held)
		read("moved", &out.Moved)
		out.IDs = map[string]int{"api": vips["api"].ID, "ingress": vips["ingress"].ID}
		return out
	}
	want := func(after string, api, ingress []int, owners [2]string) {
		t.Helper()
		got := seen()
		wantRole := func(role string, priorities []int, owner string) {
			t.Helper()
			if fmt.Sprint(got.Priorities[role]) != fmt.Sprint(priorities) {
				t.Errorf("%s: the priorities of %s are %v, not %v", after, role, got.Priorities[role], priorities)
			}
			if got.Holders[role] != owner || len(got.Held[role]) != 1 {
				t.Errorf("%s: %s is held by %q (%v), not by %s", after, role, got.Holders[role], got.Held[role], owner)
			}
		}
		wantRole("api", api, owners[0])
		wantRole("ingress", ingress, owners[1])
		if !got.Moved {
			t.Errorf("%s: a member does not tell when it became what it is", after)
		}
		if got.IDs["api"] != 222 || got.IDs["ingress"] != 61 {
			t.Errorf("%s: the virtual router ids are %v, OpenShift's are 222 and 61", after, got.IDs)
		}
	}
	run(t.Context(), "apply", "-auto-approve") // makes the VIPs; their checks run from then on
	acctest.Eventually(t, "the checks do not succeed", func() bool { p := seen().Priorities; return fmt.Sprint(p) == "map[api:[90 90] ingress:[90 90]]" })
	want("after its creation", []int{90, 90}, []int{90, 90}, [2]string{"two", "two"})
	for _, role := range []string{"api", "ingress"} {
		content := acctest.On(t, "svc-1", "cat", conf)
		for _, line := range []string{"state BACKUP", "priority 40", "advert_int 1", "auth_type PASS", "auth_pass ocp4_" + role[:3], "weight 50", "unicast_src_ip 10.0.100.101"} {
			if !strings.Contains(content, line) {
				t.Errorf("svc-1 lacks %q:\n%s", line, content)
			}
		}
	}
	run(t.Context(), "plan", "-detailed-exitcode")

	stop := func(machine, role string) { acctest.On(t, machine, "sh", "-c", "kill $(cat /run/fake-"+role+".pid)") }
	stop("svc-2", "balancer") // the second half of the check
	comesTo(t, api, "svc-1")
	answer(t, "svc-2", "balancer", 9445, "/readyz", true)
	acctest.Eventually(t, "the whole check on svc-2 does not succeed again", func() bool { return fmt.Sprint(seen().Priorities["api"]) == "[90 90]" })
	stop("svc-1", "api")
	comesTo(t, api, "svc-2")
	answer(t, "svc-1", "api", 6443, "/readyz", true)
	acctest.Eventually(t, "the check on svc-1 does not succeed again", func() bool { return fmt.Sprint(seen().Priorities["api"]) == "[90 90]" })
	stop("svc-2", "api")
	comesTo(t, api, "svc-1")
	if holder(t, ingress) != "svc-2" {
		t.Error("the ingress address moved with the API's")
	}
	want("after the API server on svc-2 failed", []int{90, 40}, []int{90, 90}, [2]string{"one", "two"})
	stop("svc-2", "ingress")
	comesTo(t, ingress, "svc-1")
	answer(t, "svc-2", "api", 6443, "/readyz", true)
	acctest.Eventually(t, "the check on svc-2 does not succeed again", func() bool { return fmt.Sprint(seen().Priorities["api"]) == "[90 90]" })
	if holder(t, api) != "svc-1" {
		t.Error("the API's address went back, which OpenShift's does not")
	}
	run(t.Context(), "plan", "-detailed-exitcode")
}

// program copies a configuration, adds status to it, and returns what runs the tested program on it.
func program(t *testing.T, example string) func(ctx context.Context, args ...string) string {
	directory := t.TempDir()
	if err := os.CopyFS(directory, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	variables := fmt.Sprintf("machines = { one = \"10.0.100.101\", two = \"10.0.100.102\" }\napi_vip = \"10.0.100.250\"\ningress_vip = \"10.0.100.251\"\nssh_private_key_file = %q\n", os.Getenv("SANDBOX_SSH_KEY"))
	for name, content := range map[string]string{"terraform.tfvars": variables, "status.tf": status} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(ctx context.Context, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Getenv("TF_ACC_TERRAFORM_PATH"), args...)
		cmd.Dir = directory
		cmd.Env = append(os.Environ(), "TF_IN_AUTOMATION=1", "TF_CLI_ARGS=-no-color")
		var complaints strings.Builder
		cmd.Stderr = &complaints
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out, complaints.String())
		}
		return string(out)
	}
}

// answer has a machine answer a health check, as the API server or the router would: HAProxy stands in for them.
func answer(t *testing.T, machine, role string, port int, path string, tls bool) {
	t.Helper()
	bind := fmt.Sprintf("bind 127.0.0.1:%d", port)
	if tls {
		bind += " ssl crt /run/fake.pem"
		acctest.On(t, machine, "sh", "-c", `printf %s "$1" >/run/fake.pem`, "sh", selfSigned(t))
	}
	file := fmt.Sprintf("defaults\n mode http\n timeout client 5s\n timeout connect 5s\n timeout server 5s\nfrontend fake\n %s\n monitor-uri %s\n", bind, path)
	acctest.On(t, machine, "sh", "-c", `printf %s "$1" >"/run/fake-$2.cfg" && haproxy -D -p "/run/fake-$2.pid" -f "/run/fake-$2.cfg"`, "sh", file, role)
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), machine, "sh", "-c", "kill $(cat /run/fake-"+role+".pid); rm -f /run/fake*"+role+"*")
	})
}

// selfSigned is a certificate with its key; nobody verifies it.
func selfSigned(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})) + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}
