package hypervisor_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccEveryTransport reaches one libvirtd in every way there is, in one apply, and sends it data: calls and streams
// have connections of their own.
func TestAccEveryTransport(t *testing.T) {
	s := startSecond(t)
	sshToSecond(t, s)
	file := filepath.Join(t.TempDir(), "image.raw")
	sh(t, `head -c 3000000 /dev/urandom >"$0"`, file)
	uris := map[string]string{
		"unix":   "qemu+unix:///system?socket=" + s.socket,
		"plain":  "qemu:///system?socket=" + s.socket,
		"tcp":    "qemu+tcp://" + s.tcp + "/system",
		"tls":    "qemu+tls://" + s.tls + "/system?pkipath=" + s.pki,
		"ssh":    "qemu+ssh://behind/system",
		"tester": "test:///default",
	}
	var named, by strings.Builder
	var checks []resource.TestCheckFunc
	want := sh(t, `sha256sum <"$0"`, file)
	for way, uri := range uris {
		fmt.Fprintf(&named, "    %s = { uri = %q }\n", way, uri)
		if way == "tester" {
			continue
		}
		fmt.Fprintf(&by, `
data "virtcluster_hypervisor" "%[1]s" { hypervisor = "%[1]s" }

resource "virtcluster_storage_pool" "%[1]s" {
  hypervisor = "%[1]s"
  name       = "by-%[1]s"
  path       = "/var/lib/libvirt/by-%[1]s"
}

resource "virtcluster_image" "%[1]s" {
  hypervisor = "%[1]s"
  pool       = virtcluster_storage_pool.%[1]s.name
  name       = "image.raw"
  source     = %[2]q
}
`, way, file)
		checks = append(checks,
			resource.TestCheckResourceAttr("data.virtcluster_hypervisor."+way, "uri", uri),
			resource.TestCheckResourceAttr("data.virtcluster_hypervisor."+way, "hostname", "hypervisor"),
			func(*terraform.State) error {
				copied := filepath.Join(t.TempDir(), way)
				if out, err := s.virsh(t.Context(), "vol-download", "--pool", "by-"+way, "image.raw", copied); err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
				if got := sh(t, `sha256sum <"$0"`, copied); got != want {
					return fmt.Errorf("what arrived by %s is not what was sent", way)
				}
				return nil
			})
	}
	config := fmt.Sprintf(`
provider "virtcluster" {
  hypervisors = {
%s  }
}

data "virtcluster_hypervisor" "tester" { hypervisor = "tester" }

data "virtcluster_nodes" "tester" { hypervisor = "tester" }

data "virtcluster_network" "tester" {
  hypervisor = "tester"
  name       = "default"
}
%s`, named.String(), by.String())
	checks = append(checks, resource.TestCheckResourceAttr("data.virtcluster_network.tester", "cidr", "192.168.122.0/24"),
		resource.TestCheckResourceAttr("data.virtcluster_hypervisor.tester", "nested", "false"),
		resource.TestCheckResourceAttr("data.virtcluster_nodes.tester", "nodes.#", "0"))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps:                    []resource.TestStep{{Config: config, Check: resource.ComposeTestCheckFunc(checks...)}},
		CheckDestroy: func(*terraform.State) error {
			if out, err := s.virsh(t.Context(), "pool-list", "--all"); err != nil || out != "" {
				return fmt.Errorf("%w: pools are left: %s", err, out)
			}
			return nil
		},
	})
}

// sshToSecond makes the second libvirtd be found on a machine "behind", as the socket of a modular daemon. Only
// ~/.ssh/config says where that is; it cannot be reached but through svc-1, the agent alone has the key, and known_hosts
// the keys of both machines.
func sshToSecond(t *testing.T, s second) {
	t.Helper()
	nodes := acctest.ServiceNodes(t, 2)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("SSH_AUTH_SOCK", filepath.Join(s.pki, "agent"))
	agent := exec.Command("ssh-agent", "-D", "-a", os.Getenv("SSH_AUTH_SOCK"))
	start(t, agent)
	await(t, "the SSH agent", func() bool {
		return exec.CommandContext(t.Context(), "ssh-add", "-q", os.Getenv("SANDBOX_SSH_KEY")).Run() == nil
	})

	const behind = "192.0.2.2" // RFC 5737: nobody has it, and the sandbox's hypervisor has no way there
	acctest.On(t, "svc-2", "ip", "addr", "add", behind+"/32", "dev", "lo")
	acctest.On(t, "svc-1", "ip", "route", "add", behind, "via", nodes[1])
	acctest.On(t, "svc-2", "mkdir", "-p", "/run/libvirt")
	t.Cleanup(func() {
		ctx := context.Background() // the test's own has ended
		for _, undo := range []string{"svc-2 rm -rf /run/libvirt", "svc-1 ip route del " + behind, "svc-2 ip addr del " + behind + "/32 dev lo"} {
			machine, command, _ := strings.Cut(undo, " ")
			if out, err := acctest.Try(ctx, machine, strings.Fields(command)...); err != nil {
				t.Errorf("%s: %v: %s", undo, err, out)
			}
		}
	})
	sh(t, `mkdir -m 700 "$0/.ssh"
		cat >"$0/.ssh/config" <<-EOF
			Host jump
			    HostName $1
			Host behind
			    HostName $3
			    ProxyJump jump
			Host *
			    User root
		EOF
		key() { ssh-keyscan -t ed25519 "$1" 2>/dev/null | sed "s/^[^ ]*/$2/"; }
		{ key "$1" "$1" && key "$2" "$2" && key "$2" "$3"; } >"$0/.ssh/known_hosts"`, home, nodes[0], nodes[1], behind)
	start(t, exec.Command("ssh", "-N", "-o", "UserKnownHostsFile="+home+"/.ssh/known_hosts", "-R", "/run/libvirt/virtqemud-sock:"+s.socket, "root@"+nodes[1]))
	await(t, "the socket on svc-2", func() bool {
		_, err := acctest.Try(t.Context(), "svc-2", "test", "-S", "/run/libvirt/virtqemud-sock")
		return err == nil
	})
}

// start starts a program that ends with the test.
func start(t *testing.T, program *exec.Cmd) {
	t.Helper()
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Process.Kill(); _ = program.Wait() })
}
