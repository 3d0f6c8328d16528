package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// sources makes a machine one that has a volume group vg0 on its second disk, and a target of iSCSI with a unit of 64 MiB. What was masked is what
// containers cannot have.
const sources = `set -e
rm -f /etc/systemd/system/proc-fs-nfsd.mount /etc/systemd/system/var-lib-nfs-rpc_pipefs.mount /etc/systemd/system/nfsdcld.service /etc/systemd/system/modprobe@.service
rm -f /etc/systemd/system/virtlockd* /etc/systemd/system/virtlogd* /etc/udev/rules.d/55-dm.rules /etc/udev/rules.d/60-persistent-storage-dm.rules /etc/udev/rules.d/95-dm-notify.rules
tar -C / --keep-directory-symlink -xf /root/packages.tar
ldconfig
grep -q ^libvirt-qemu: /etc/passwd || { echo libvirt-qemu:x:64055: >>/etc/group; echo libvirt-qemu:x:64055:64055::/var/lib/libvirt:/usr/sbin/nologin >>/etc/passwd; }
echo InitiatorName=iqn.2013-06.com.example:initiator >/etc/iscsi/initiatorname.iscsi
systemctl daemon-reload
for module in nfsd nfs dm_mod iscsi_tcp; do modprobe $module; done
printf 'security_driver = "none"\nuser = "root"\ngroup = "root"\ncgroup_controllers = [ ]\n' >/etc/libvirt/qemu.conf
udevadm control --reload; systemctl restart libvirtd tgt iscsid
vgcreate --yes vg0 /dev/vdb
lvcreate --yes --name persons --size 16M vg0
truncate -s 64M /srv/unit
tgtadm --lld iscsi --op new --mode target --tid 1 --targetname iqn.2013-06.com.example:a
tgtadm --lld iscsi --op new --mode logicalunit --tid 1 --lun 1 --backing-store /srv/unit
tgtadm --lld iscsi --op bind --mode target --tid 1 --initiator-address ALL
virsh --connect qemu:///system pool-list --all`

// TestAccPoolsOfRealSources has a machine whose kernel has all that the sandbox's lacks be a hypervisor, and pools of it made from a volume group,
// from a directory that a service node exports, and from a target of iSCSI.
func TestAccPoolsOfRealSources(t *testing.T) {
	acctest.InSandbox(t)
	packages, err := exec.Command("./pool-packages").Output()
	if err != nil {
		t.Fatalf("the packages are downloaded outside of the sandbox, by test/faults/pool-packages: %v", err)
	}
	const address = "10.76.0.9"
	dir := disksOf(t, "sources", os.Getenv("SANDBOX_IMAGE"))
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	machine := strings.Replace(serviceGuest(t, "sources", dir, address), "  shutdown_timeout ", "  disks              = { group = { size_gib = 3 } }\n  shutdown_timeout ", 1)
	s.Apply(machine)
	answers(t, address, "systemctl is-system-running --wait || true")
	on := func(script string) string {
		t.Helper()
		out, err := inGuest(t.Context(), address, script)
		if err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
		return out
	}
	copied := exec.Command("sh", "-c", `ssh -i "$SANDBOX_SSH_KEY" -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR root@"$2" 'cat >/root/packages.tar' <"$1"`, "copy", strings.TrimSpace(string(packages)), address)
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("copy the packages: %v: %s", err, out)
	}
	t.Log(on(sources))

	exported := machine + fmt.Sprintf(`
resource "virtcluster_service_node" "s" {
  endpoint   = "ssh://root@%s"
  services   = ["nfs"]
  depends_on = [virtcluster_node.guest]
}
resource "virtcluster_nfs_export" "images" {
  service_node = virtcluster_service_node.s.id
  path         = "/srv/images"
  clients      = [{ match = "%[1]s", options = ["rw", "no_root_squash"] }]
}
`, address)
	s.Apply(exported)

	knownHosts := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(knownHosts, []byte(address+" "+on("cat /etc/ssh/ssh_host_ed25519_key.pub")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pools := acctest.NewState(t)
	config := func(more string) string {
		return fmt.Sprintf(`
provider "virtcluster" {
  uri = "qemu+ssh://root@%[1]s/system"
  ssh = { private_key_file = %[2]q, known_hosts_file = %[3]q }
}
resource "virtcluster_storage_pool" "group" {
  name   = "group"
  type   = "logical"
  source = { name = "vg0" }
}
resource "virtcluster_storage_pool" "export" {
  name   = "export"
  type   = "netfs"
  path   = "/var/lib/libvirt/export"
  source = { hosts = [%[1]q], path = "/srv/images", format = "nfs" }
}
resource "virtcluster_storage_pool" "target" {
  name   = "target"
  type   = "iscsi"
  source = { hosts = [%[1]q], target = "iqn.2013-06.com.example:a" }
}
`, address, os.Getenv("SANDBOX_SSH_KEY"), knownHosts) + more
	}
	const volumes = `
resource "virtcluster_volume" "file" {
  name     = "file.raw"
  pool     = virtcluster_storage_pool.export.name
  size_gib = 1
  format   = "raw"
}
`
	whole := config(volumes)
	// A person is logged in to the target: stopping the pool would log them out.
	on("iscsiadm -m discovery -t sendtargets -p " + address + " && iscsiadm -m node --login && udevadm settle")
	pools.Write(whole)
	pools.Refused([]string{"Logged in already", "logged in to the target iqn.2013-06.com.example:a"}, "plan")
	on("iscsiadm -m node --logout && iscsiadm -m node -o delete && udevadm settle")
	pools.Apply(whole)
	pools.Settled()
	for what, want := range map[string]string{
		"virsh -c qemu:///system vol-list group":        "/dev/vg0/persons",
		"grep ' /var/lib/libvirt/export ' /proc/mounts": address + ":/srv/images /var/lib/libvirt/export nfs4",
		"stat -c %s /srv/images/file.raw":               "1073741824",
		"iscsiadm -m session":                           "iqn.2013-06.com.example:a",
		"virsh -c qemu:///system vol-list target":       "unit:0:0:1",
	} {
		t.Run(what, func(t *testing.T) {
			if said, err := inGuest(t.Context(), address, what); err != nil || !strings.Contains(said, want) {
				t.Errorf("it says nothing of %q: %v\n%s", want, err, said)
			}
		})
	}
	pools.Write(strings.Replace(whole, "virtcluster_storage_pool.export.name", "virtcluster_storage_pool.group.name", 1))
	pools.Refused([]string{"need a pool of files"}, "plan")
	// The hypervisor itself has a volume mounted, and a domain that is off has one by another name than the pool's, as another one has the target's unit:
	// none of them is taken away.
	on(`mkfs.ext4 -q /dev/vg0/persons && mkdir -p /srv/persons && mount /dev/vg0/persons /srv/persons && lvcreate --yes --name guests --size 16M vg0
unit=$(readlink -f /dev/disk/by-path/*-iscsi-*-lun-1)
for link in /dev/disk/by-id/*; do if [ "$(readlink -f "$link")" = "$unit" ]; then by_id=$link; fi; done
for disk in group:/dev/mapper/vg0-guests target:$by_id; do
  echo "<domain type='qemu'><name>has-${disk%%:*}</name><memory unit='MiB'>16</memory><os><type arch='x86_64'>hvm</type></os><devices><disk type='block'><source dev='${disk#*:}'/><target dev='vda' bus='virtio'/></disk></devices></domain>" >/run/domain.xml
  virsh -c qemu:///system define /run/domain.xml
done`)
	for name, users := range map[string][]string{"group": {`the domain "has-group"`, "the hypervisor itself (/dev/mapper/vg0-persons"}, "target": {`the domain "has-target"`}} {
		t.Run(name, func(t *testing.T) {
			pools := pools.For(t)
			for _, user := range users {
				pools.Refused([]string{"is needed by", user, "terraform state rm"}, "destroy", "-auto-approve", "-target=virtcluster_storage_pool."+name)
			}
		})
	}
	stopped := strings.Replace(whole, "  type   = \"logical\"\n", "  type   = \"logical\"\n  active = false\n", 1)
	pools.Write(stopped)
	pools.Refused([]string{"is needed by", "the hypervisor itself (/dev/mapper/vg0-persons"}, "apply", "-auto-approve")
	on("mountpoint /srv/persons && test -e /dev/vg0/guests && iscsiadm -m session && umount /srv/persons && for d in group target; do virsh -c qemu:///system undefine has-$d; done && lvremove --yes vg0/guests")
	pools.Write(whole)
	// Drift: stopped by hand, which takes the volume group out of use, unmounts the directory and logs out.
	on("for p in group export target; do virsh -c qemu:///system pool-destroy $p; done; ! iscsiadm -m session; ! grep ' /var/lib/libvirt/export ' /proc/mounts; ! test -e /dev/vg0/persons")
	pools.Apply(whole)
	pools.Settled()
	on("test -e /dev/vg0/persons && iscsiadm -m session && grep ' /var/lib/libvirt/export ' /proc/mounts")
	// Imports plan nothing.
	for _, name := range []string{"group", "export", "target"} {
		pools.Run("state", "rm", "virtcluster_storage_pool."+name)
		pools.Run("import", "virtcluster_storage_pool."+name, name)
	}
	pools.Settled()
	pools.Run("destroy", "-auto-approve")
	// What the pools were made from is there still, with what was in it before.
	if said := on("lvs --noheadings -o lv_name vg0; ls /srv/images; virsh -c qemu:///system pool-list --all --name; iscsiadm -m session 2>&1 || true"); strings.Join(strings.Fields(said), " ") != "persons iscsiadm: No active sessions." {
		t.Errorf("after the destroy:\n%s", said)
	}
}
