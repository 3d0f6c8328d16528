package network_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// Warnings are seen by a person only, so this test runs the program itself.
func TestAccNetworkWarnsOfReservationsThatKeepItsDHCP(t *testing.T) {
	acctest.InSandbox(t)
	dir := t.TempDir()
	run := func(dhcp string, args ...string) string {
		t.Helper()
		config := "terraform {\n  required_providers {\n    virtcluster = { source = \"virtcluster/virtcluster\" }\n  }\n}\n" +
			"resource \"virtcluster_network\" \"n\" {\n" + management + dhcp + "\n}\n"
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(cmp.Or(os.Getenv("TF_ACC_TERRAFORM_PATH"), "terraform"), append(args, "-no-color")...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	t.Cleanup(func() { run("", "destroy", "-auto-approve") })
	// DHCP for reservations alone is told from none, although libvirt has no place for it.
	run("dhcp = {}", "apply", "-auto-approve")
	if out := run("dhcp = {}", "plan", "-detailed-exitcode"); !strings.Contains(out, "No changes") {
		t.Error(out)
	}
	const warning = "Warning: Network with reservations"
	if out := run("", "plan"); strings.Contains(out, warning) || !strings.Contains(out, "1 to change") {
		t.Errorf("without a reservation:\n%s", out)
	}
	const persons = "<host mac='52:54:00:00:00:07' ip='10.91.0.7'/>"
	shell(t, "virsh", "net-update", "acc0", "add", "ip-dhcp-host", persons, "--live", "--config")
	// A network is not destroyed under a person's reservation.
	t.Cleanup(func() {
		shell(t, "virsh", "net-update", "acc0", "delete", "ip-dhcp-host", persons, "--live", "--config")
	})
	if out := run("", "plan"); !strings.Contains(out, warning) || !spaced("keeps 10.91.0.7 for 52:54:00:00:00:07").MatchString(out) {
		t.Errorf("with a reservation:\n%s", out)
	}
}
