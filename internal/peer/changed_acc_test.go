package peer_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
)

// metadata is where this provider notes whose domains and networks are, and others what is theirs.
var metadata = regexp.MustCompile(`(?s) *<metadata>.*?</metadata>\n`)

// spelled is what a change of a network writes in another way and with the same meaning, and libvirt's count of who is in it, which is new
// after a restart of the network.
var spelled = strings.NewReplacer("<dns enable='yes'>", "<dns>", "netmask='255.255.255.0'", "prefix='24'", " connections='5'", "")

// What was moved is changed without anything being lost of what has no attribute here: every domain gets a role, every network another name in
// its DNS, while guests run. A destroy leaves the volumes that were other resources'.
func TestAccMovedThingsKeepWhatIsNotModelled(t *testing.T) {
	acctest.InSandbox(t)
	for _, version := range []string{"0.8.3", "0.9.7"} {
		t.Run(version, func(t *testing.T) {
			offerStandIn(t)
			stage(t, version)
			stageDomains(t, version)
			s := acctest.NewState(t)
			from := readState(t, version, "terraform.tfstate")
			config := acctest.Provider() + configured(t, version, "nodes.tf")
			networks := configured(t, version, "networks.tf")
			moves := ""
			handOver(t, s, from, func(kind, name string) bool {
				to := map[string]string{peer.Domain: "virtcluster_node", peer.Network: "virtcluster_network"}[kind]
				if to != "" {
					moves += moveBlock(kind, to, name)
				}
				return to != ""
			})
			s.Write(config + networks + moves)
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
			got := acctest.Virsh(t, "dumpxml", "db")
			if !strings.Contains(got, `role="moved"`) || version == "0.9.7" && !strings.Contains(got, `<shop:app `) {
				t.Errorf("the change is not made, or takes along what others keep in the metadata:\n%s", got)
			}

			// The volumes are not the nodes' own.
			volumes := acctest.Virsh(t, "vol-list", "cluster")
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
			only("libvirt_network.back")
			gone := acctest.Provider() + "resource \"virtcluster_network\" \"back\" {\n  name = \"backnet\"\n  mode = \"isolated\"\n  cidr = \"10.99.0.0/24\"\n}\n" + moveBlock(peer.Network, "virtcluster_network", "back")
			s.Write(gone)
			s.Refused([]string{"hands over what no hypervisor of the provider has"}, "plan")
			s.Refused([]string{"Cannot plan what a moved block hands over"}, "plan", "-refresh=false")
			if got := acctest.Virsh(t, "net-list", "--all", "--name"); strings.Contains(got, "backnet") {
				t.Errorf("it is made: %s", got)
			}
		})
	}
}
