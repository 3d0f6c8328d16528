// Package acctest is what all acceptance tests start from. They run in the sandbox (test/sandbox/enter),
// against its libvirtd and its service nodes, with terraform-plugin-testing.
package acctest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

// Providers serves the provider in the test's process: resource.TestCase.ProtoV6ProviderFactories.
var Providers = map[string]func() (tfprotov6.ProviderServer, error){
	"virtcluster": func() (tfprotov6.ProviderServer, error) { return provider.Server("acctest"), nil },
}

// InSandbox skips a test unless TF_ACC is set, and fails it outside the sandbox: it would change the
// machine it runs on.
func InSandbox(t *testing.T) {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("acceptance tests run where TF_ACC is set")
	}
	if os.Getenv("SANDBOX_STATE") == "" {
		t.Fatal("acceptance tests change the machine: run them by test/sandbox/enter")
	}
	hastenPrograms()
}

// hastenPrograms has the programs that a test begins, Terraform thousands of times, neither collect garbage nor spread over processors:
// each of them lives a second, beside others. The test itself has read its own settings by now.
var hastenPrograms = sync.OnceFunc(func() {
	for name, value := range map[string]string{"GOGC": "off", "GOMAXPROCS": "1"} {
		if os.Getenv(name) == "" {
			_ = os.Setenv(name, value)
		}
	}
})

// ServiceNodes returns the addresses of n of the sandbox's service nodes.
func ServiceNodes(t *testing.T, n int) []string {
	t.Helper()
	InSandbox(t)
	nodes := strings.Fields(os.Getenv("SANDBOX_SERVICE_NODES"))
	if len(nodes) < n {
		t.Fatalf("this test takes %d service nodes: run it by test/sandbox/enter --service-nodes %d", n, n)
	}
	return nodes[:n]
}

// Provider is a provider block with the sandbox's SSH key. Host keys are pinned on first use.
func Provider() string {
	return fmt.Sprintf("provider \"virtcluster\" {\n  ssh = { private_key_file = %q }\n}\n", os.Getenv("SANDBOX_SSH_KEY"))
}

// On runs a command on a machine of the sandbox ("svc-1", "lan-client", "hypervisor") and returns what it
// printed, trimmed; a failure ends the test.
func On(t *testing.T, machine string, argv ...string) string {
	t.Helper()
	out, err := Try(t.Context(), machine, argv...)
	if err != nil {
		t.Fatalf("%s on %s: %v: %s", strings.Join(argv, " "), machine, err, out)
	}
	return out
}

// Try is On for commands that may fail.
func Try(ctx context.Context, machine string, argv ...string) (string, error) {
	return runWithin(ctx, commandTime, append([]string{sandboxScript("on"), machine}, argv...)...)
}

// Reboot reboots a service node ("svc-1") and returns when it answers SSH again: its disk is as it was, and of what was
// only in memory (processes, addresses, bridges, routes) nothing is left.
func Reboot(t *testing.T, machine string) {
	t.Helper()
	if out, err := runWithin(t.Context(), 2*commandTime, sandboxScript("reboot"), machine); err != nil {
		t.Fatalf("reboot of %s: %v: %s", machine, err, out)
	}
}

// sandboxScript is the path of a script in test/sandbox.
func sandboxScript(name string) string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "../../test/sandbox", name)
}
