package peer_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// metadata is where this provider notes whose domains and networks are, and others what is theirs.
var metadata = regexp.MustCompile(`(?s) *<metadata>.*?</metadata>\n`)

// spelled is what a change of a network writes in another way and with the same meaning, and libvirt's count of who is in it, which is new
// after a restart of the network.
var spelled = strings.NewReplacer("<dns enable='yes'>", "<dns>", "netmask='255.255.255.0'", "prefix='24'", " connections='5'", "")

// special gives a network what has no attribute here: how its bridge is a switch, and which ports NAT has.
func special(t *testing.T, network string) {
	t.Helper()
	xml := forwardsByNAT.ReplaceAllString(acctest.Virsh(t, "net-dumpxml", "--inactive", network), "<forward mode='nat'><nat><port start='2000' end='3000'/></nat></forward>")
	file := filepath.Join(t.TempDir(), network+".xml")
	if err := os.WriteFile(file, []byte(strings.Replace(xml, "stp='on' delay='0'", "stp='off' delay='2'", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	acctest.Virsh(t, "net-define", file)
	acctest.Virsh(t, "net-destroy", network)
	acctest.Virsh(t, "net-start", network)
}

var forwardsByNAT = regexp.MustCompile(`(?s)<forward mode='nat'/>|<forward mode='nat'>.*?</forward>`)

// The whole state of the other provider is moved at once, with what has no counterpart here taken out of it. What was moved is changed then without
// anything being lost of what has no attribute here: every domain gets a role, every network another name in its DNS, while guests run. A
// destroy leaves the volumes that are other resources', and what was taken out of the state is there still.
func TestAccMovedThingsKeepWhatIsNotModelled(t *testing.T) {
	acctest.InSandbox(t)
	for _, version := range []string{"0.8.3", "0.9.7"} {
		t.Run(version, func(t *testing.T) {
			offerStandIn(t)
			stage(t, version)
			special(t, "k8snet")
			stageDomains(t, version)
			s := acctest.NewState(t)
			volumes := acctest.Virsh(t, "vol-list", "cluster")
			config := acctest.Provider() + configured(t, version, "pools.tf") + configured(t, version, "volumes.tf") + configured(t, version, "images.tf") + configured(t, version, "nodes.tf")
			networks := configured(t, version, "networks.tf")
			s.Write(config + networks + handOverEverything(t, s, version, config+networks))
			settle(t, s)

			before := spelled.Replace(metadata.ReplaceAllString(look(t), ""))
			config = strings.ReplaceAll(config, "  type  ", "  role = \"moved\"\n  type  ")
			networks = strings.Replace(networks, `["registry"]`, `["registry", "mirror"]`, 1)
			s.Apply(config + networks)
			s.Settled()
			after := spelled.Replace(metadata.ReplaceAllString(look(t), ""))
			after = strings.ReplaceAll(after, "      <hostname>mirror</hostname>\n", "")
			if after != before {
				t.Errorf("a change takes something along: %s", cmp.Diff(before, after))
			}
			for _, kept := range []string{"stp='off' delay='2'", "<port start='2000' end='3000'/>"} {
				if !strings.Contains(after, kept) {
					t.Errorf("no network has %s", kept)
				}
			}
			got := acctest.Virsh(t, "dumpxml", "db")
			if !strings.Contains(got, `role="moved"`) || version == "0.9.7" && !strings.Contains(got, `<shop:app `) {
				t.Errorf("the change is not made, or takes along what others keep in the metadata:\n%s", got)
			}

			// The volumes are not the nodes' own.
			s.Run("destroy", "-auto-approve", "-target=virtcluster_node.plain", "-target=virtcluster_node.worker")
			if got := acctest.Virsh(t, "vol-list", "cluster"); got != volumes {
				t.Errorf("volumes went with the nodes: %s", cmp.Diff(volumes, got))
			}
			for _, name := range []string{"plain", "worker-blue", "worker-green"} {
				if slices.Contains(strings.Fields(acctest.Virsh(t, "list", "--all", "--name")), name) {
					t.Errorf("domain %s is there", name)
				}
				define(t, version, name)
			}
		})
	}
}

// A move is refused that cannot be made, before anything is.
func TestAccMovesThatCannotBeMade(t *testing.T) {
	acctest.InSandbox(t)
	offerStandIn(t)
	acctest.Virsh(t, "pool-define-as", "cluster", "dir", "--target", "/var/lib/libvirt/moved-cluster")
	acctest.Virsh(t, "pool-build", "cluster")
	acctest.Virsh(t, "pool-start", "cluster")
	t.Cleanup(func() {
		acctest.Virsh(t, "pool-destroy", "cluster")
		acctest.Virsh(t, "pool-delete", "cluster")
		acctest.Virsh(t, "pool-undefine", "cluster")
	})
	const gone = "hands over what no hypervisor of the provider has"
	for _, program := range programs {
		t.Run(program, func(t *testing.T) {
			t.Setenv("TF_ACC_TERRAFORM_PATH", program)
			s := acctest.NewState(t)
			from := readState(t, "0.9.7", "terraform.tfstate")
			only := func(want string) {
				handOver(t, s, from, func(kind, name string) bool { return kind+"."+name == want })
			}
			only("libvirt_cloudinit_disk.common")
			s.Write(acctest.Provider() + "resource \"virtcluster_image\" \"i\" {\n  name = \"i\"\n  pool = \"default\"\n  source = \"/i\"\n}\nmoved {\n  from = libvirt_cloudinit_disk.common\n  to = virtcluster_image.i\n}\n")
			s.Refused([]string{"Cannot move libvirt_cloudinit_disk to virtcluster_image", "removed { from = libvirt_cloudinit_disk.NAME } with lifecycle { destroy = false }"}, "plan")
			only("libvirt_ignition.worker")
			s.Write(acctest.Provider() + "resource \"virtcluster_volume\" \"i\" {\n  name = \"i\"\n  pool = \"default\"\n  size_gib = 1\n}\nmoved {\n  from = libvirt_ignition.worker\n  to = virtcluster_volume.i\n}\n")
			s.Refused([]string{"Cannot move libvirt_ignition to virtcluster_volume", "a node that is made anew writes it as its ignition"}, "plan")
			for what, c := range map[string]struct{ config, want string }{
				"libvirt_network.back": {"resource \"virtcluster_network\" \"back\" {\n  name = \"backnet\"\n  mode = \"isolated\"\n  cidr = \"10.99.0.0/24\"\n}\n", gone},
				"libvirt_domain.plain": {"resource \"virtcluster_node\" \"plain\" {\n  name = \"plain\"\n  type = \"qemu\"\n  root_disk = { volume = \"/srv/gone/plain.qcow2\" }\n}\n", gone},
				"libvirt_pool.data":    {"resource \"virtcluster_storage_pool\" \"data\" {\n  name = \"data\"\n  path = \"/srv/gone\"\n}\n", gone},
				"libvirt_volume.base":  {"resource \"virtcluster_image\" \"base\" {\n  name = \"tiny-base.qcow2\"\n  pool = \"cluster\"\n  source = \"" + os.Getenv("SANDBOX_TINY_IMAGE") + "\"\n}\n", gone},
				// With its pool a volume is not proven to be gone.
				"libvirt_volume.db_wal": {"resource \"virtcluster_volume\" \"db_wal\" {\n  name = \"db-wal.raw\"\n  pool = \"data\"\n  format = \"raw\"\n  size_gib = 1\n}\n", "Its storage pool is gone"},
			} {
				t.Run(what, func(t *testing.T) {
					s := s.For(t)
					handOver(t, s, from, func(kind, name string) bool { return kind+"."+name == what })
					kind, name, _ := strings.Cut(what, ".")
					to := becomes[kind][slices.IndexFunc(becomes[kind], func(to string) bool { return hasResource(c.config, to, name) })]
					s.Write(acctest.Provider() + c.config + moveBlock(kind, to, name))
					s.Refused([]string{c.want}, "plan")
					s.Refused([]string{"Cannot plan what a moved block hands over"}, "plan", "-refresh=false")
				})
			}
			for list, name := range map[string]string{"net-list": "backnet", "list": "plain", "pool-list": "data"} {
				if got := acctest.Virsh(t, list, "--all", "--name"); slices.Contains(strings.Fields(got), name) {
					t.Errorf("it is made: %s", got)
				}
			}
		})
	}
}
