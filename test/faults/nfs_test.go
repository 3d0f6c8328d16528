package faults

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccNFSIsMountedByAnotherMachine has a machine export directories, which another one mounts by NFSv4: the containers' kernel serves no
// NFS. Both are emulated.
func TestAccNFSIsMountedByAnotherMachine(t *testing.T) {
	acctest.InSandbox(t)
	dir := disksOf(t, "nfs", os.Getenv("SANDBOX_IMAGE"))
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	// The image masks what mounts the kernel's files of the server, as containers could not.
	guest := func(name, address string) string {
		return fmt.Sprintf(`
resource "virtcluster_node" %[1]q {
  name               = "nfs-%[1]s"
  type               = "qemu"
  memory_mib         = 512
  shutdown_timeout   = "0s"
  root_disk          = { image = "%[3]s/base.qcow2" }
  network_interfaces = [{ network = virtcluster_network.n.name, name = "eth0", addresses = ["%[2]s/24"] }]
  cloud_init = {
    user_data = "#cloud-config\nusers: [{name: root, ssh_authorized_keys: ['%[4]s']}]\n"
  }
}
`, name, address, dir, publicKey(t))
	}
	machines := acctest.Provider() + `
resource "virtcluster_network" "n" {
  name = "nfs"
  mode = "isolated"
  cidr = "10.79.0.0/24"
}
` + guest("server", "10.79.0.5") + guest("client", "10.79.0.6")
	const server, client = "10.79.0.5", "10.79.0.6"
	on := func(address, script string) string {
		t.Helper()
		out, err := inGuest(t.Context(), address, script)
		if err != nil {
			t.Fatalf("on %s: %s: %v: %s", address, script, err, out)
		}
		return out
	}
	exports := func(options, owner, permissions string) string {
		return machines + fmt.Sprintf(`
resource "virtcluster_service_node" "server" {
  endpoint   = "ssh://root@10.79.0.5"
  services   = ["nfs"]
  depends_on = [virtcluster_node.server]
}
resource "virtcluster_nfs_export" "data" {
  service_node = virtcluster_service_node.server.id
  path         = "/srv/nfs data"
  owner        = %q
  permissions  = %q
  clients      = [{ match = "10.79.0.0/24", options = [%s] }, { match = "*.okd.example" }]
}
output "server" { value = virtcluster_service_node.server.id }
`, owner, permissions, options)
	}
	s.Apply(machines)
	for _, address := range []string{server, client} {
		answers(t, address, "rm -f /etc/systemd/system/proc-fs-nfsd.mount /etc/systemd/system/var-lib-nfs-rpc_pipefs.mount /etc/systemd/system/nfsdcld.service /etc/systemd/system/modprobe@.service; systemctl daemon-reload; modprobe nfsd; modprobe nfs; true")
	}
	on(server, "mkdir -p /srv/person && printf '/srv/person 10.79.0.99(ro)\\n' >/etc/exports")
	// A person exports by hand what is in no file, and has written what is not to be exported yet.
	on(server, "mkdir -p /srv/hand && systemctl start nfs-server && exportfs -o ro 10.79.0.98:/srv/hand && printf '/srv/later 10.79.0.97(ro)\\n' >>/etc/exports && mkdir -p /srv/later")
	persons := func(when string) {
		t.Helper()
		if out := on(server, "exportfs -s"); !strings.Contains(out, "/srv/hand") || !strings.Contains(out, "/srv/person") || strings.Contains(out, "/srv/later") {
			t.Errorf("%s a person's exports are:\n%s", when, out)
		}
	}
	s.Apply(exports(`"rw", "sync"`, "nobody", "0755"))
	s.Settled()
	persons("after a create")
	// It is mounted, by version 4; the client's root is nobody, who may write what is theirs, and not what is root's.
	on(client, "mkdir -p /mnt && mount -t nfs4 '"+server+":/srv/nfs data' /mnt && grep ' /mnt nfs4 ' /proc/mounts && echo hello >/mnt/from-client && cat /mnt/from-client")
	if out := on(server, "stat -c %U '/srv/nfs data/from-client'; echo secret >'/srv/nfs data/of-root'; chmod 600 '/srv/nfs data/of-root'"); out != "nobody" {
		t.Errorf("what the client's root wrote belongs to %s", out)
	}
	if out, err := inGuest(t.Context(), client, "cat /mnt/of-root"); err == nil || !strings.Contains(out, "denied") {
		t.Errorf("the client's root reads what is the server's root's: %s", out)
	}
	// Options change under the mount; everybody as root is warned of.
	s.Write(strings.Replace(exports(`"rw", "no_root_squash"`, "nobody", "0755"), `"*.okd.example"`, `"*", options = ["no_root_squash"]`, 1))
	if out := s.Run("plan"); !strings.Contains(out, "Everybody is root") {
		t.Errorf("the world is root without a warning:\n%s", out)
	}
	s.Apply(exports(`"rw", "no_root_squash"`, "nobody", "0755"))
	if out := on(client, "cat /mnt/of-root"); out != "secret" {
		t.Errorf("no_root_squash has no effect: %s", out)
	}
	persons("after a change")
	// What somebody else changes is seen, and comes back.
	on(server, "chmod 700 '/srv/nfs data'; exportfs -ua; systemctl stop nfs-server")
	if out := s.Run("plan"); !strings.Contains(out, "permissions") || !strings.Contains(out, "serving") {
		t.Errorf("drift does not show:\n%s", out)
	}
	s.Run("apply", "-auto-approve")
	s.Settled()
	on(client, "cat /mnt/of-root")
	id := s.Run("output", "-raw", "server")
	s.Run("state", "rm", "virtcluster_nfs_export.data")
	s.Run("import", "virtcluster_nfs_export.data", id+"#/srv/nfs data")
	s.Settled()
	// What a person exports is refused, and goes on; what another state does, too.
	other := acctest.NewState(t)
	of := func(path string) string {
		return acctest.Provider() + fmt.Sprintf("resource \"virtcluster_nfs_export\" \"x\" {\n  service_node = %q\n  path = %q\n  clients = [{ match = \"*\" }]\n}\n", id, path)
	}
	other.Write(of("/srv/person"))
	other.Refused([]string{"/srv/person is exported by /etc/exports already"}, "apply", "-auto-approve")
	other.Write(of("/srv/nfs data"))
	other.Refused([]string{"belongs to another state"}, "plan")
	// The export ends; what is in the directory stays.
	on(client, "umount /mnt")
	s.Run("destroy", "-auto-approve", "-target=virtcluster_nfs_export.data")
	if out := on(server, "cat '/srv/nfs data/from-client'; ls /etc/exports.d; exportfs -s"); !strings.HasPrefix(out, "hello\n/srv/") || strings.Contains(out, "/srv/nfs") {
		t.Errorf("after the export:\n%s", out)
	}
}
