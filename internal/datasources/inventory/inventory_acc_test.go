package inventory_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestMain(m *testing.M) { acctest.RunTests(m) }

// define makes a libvirt object of XML as a person does.
func define(t *testing.T, command, xml string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "object.xml")
	if err := os.WriteFile(file, []byte(xml), 0o600); err != nil {
		t.Fatal(err)
	}
	acctest.Virsh(t, command, file)
}

// cluster is what a person has built by hand on the hypervisor: a network with a fixed lease, a pool with an image, a disk that lies upon
// it and an empty one, a pool that is stopped, and two machines.
func cluster(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // libvirt's daemon reads it as another user
		t.Fatal(err)
	}
	acctest.Virsh(t, "pool-define-as", "byhand", "dir", "--target", dir)
	acctest.Run(t, "cp", os.Getenv("SANDBOX_TINY_IMAGE"), dir+"/base.qcow2")
	acctest.Virsh(t, "pool-start", "byhand")
	acctest.Virsh(t, "vol-create-as", "byhand", "disk.qcow2", "3GiB", "--format", "qcow2", "--backing-vol", "base.qcow2", "--backing-vol-format", "qcow2")
	acctest.Virsh(t, "vol-create-as", "byhand", "data.raw", "1GiB", "--format", "raw")
	acctest.Virsh(t, "pool-define-as", "byhand-stopped", "dir", "--target", dir+"/stopped")
	define(t, "net-define", `<network><name>byhand-net</name><forward mode="nat" dev="eno1"><nat><port start="2000" end="3000"/></nat></forward><bridge name="byhandbr0" stp="off"/><domain name="lab.example"/>
  <dns><txt name="motd" value="hello"/><host ip="10.78.0.2"><hostname>gw</hostname></host></dns>
  <ip address="10.78.0.1" netmask="255.255.255.0"><dhcp><range start="10.78.0.100" end="10.78.0.150"/><host mac="52:54:00:11:22:33" name="vm1" ip="10.78.0.10"/>
  <host mac="52:54:00:11:22:44" name="printer" ip="10.78.0.11"/></dhcp></ip></network>`)
	acctest.Virsh(t, "net-start", "byhand-net")
	define(t, "define", `<domain type="qemu"><name>byhand-vm</name><title>the first one</title><memory unit="MiB">96</memory><vcpu>2</vcpu><os><type machine="q35">hvm</type></os>
<devices><disk type="file" device="disk"><driver name="qemu" type="qcow2" cache="none"/><source file="`+dir+`/disk.qcow2"/><target dev="vda" bus="virtio"/></disk>
<disk type="file" device="disk"><driver name="qemu" type="raw"/><source file="`+dir+`/data.raw"/><target dev="vdb" bus="virtio"/></disk>
<interface type="network"><mac address="52:54:00:11:22:33"/><source network="byhand-net"/><model type="virtio"/></interface>
<serial type="pty"/><console type="pty"/><watchdog model="i6300esb" action="reset"/><sound model="ich9"/></devices></domain>`)
	define(t, "define", `<domain type="qemu"><name>byhand-iron</name><memory unit="MiB">64</memory><vcpu>1</vcpu><os><type machine="q35">hvm</type></os>
<devices><disk type="block" device="disk"><driver name="qemu" type="raw"/><source dev="/dev/byhand-root"/><target dev="vda" bus="virtio"/></disk>
<disk type="block" device="disk"><driver name="qemu" type="raw"/><source dev="/dev/byhand-data"/><target dev="vdb" bus="virtio"/></disk>
<interface type="direct" trustGuestRxFilters="yes"><mac address="52:54:00:11:22:55"/><source dev="eno1" mode="private"/><model type="virtio"/></interface></devices></domain>`)
	t.Cleanup(func() {
		for _, argv := range [][]string{
			{"undefine", "byhand-vm"}, {"undefine", "byhand-iron"}, {"net-destroy", "byhand-net"}, {"net-undefine", "byhand-net"},
			{"pool-destroy", "byhand"}, {"pool-undefine", "byhand"}, {"pool-undefine", "byhand-stopped"},
		} {
			acctest.Virsh(t, argv...)
		}
	})
}

// network is a network of a state.
func network(name, cidr string) string {
	return "resource \"virtcluster_network\" \"" + name + "\" {\n  name = \"" + name + "\"\n  cidr = \"" + cidr + "\"\n}\n"
}

// inventory is a data source that a state has, and its outputs.
func inventory(config string) string {
	return "data \"virtcluster_inventory\" \"all\" {\n" + config + "}\n" + `
output "all" { value = data.virtcluster_inventory.all }
output "blocks" { value = data.virtcluster_inventory.all.import_blocks }
output "configuration" { value = data.virtcluster_inventory.all.configuration }
`
}

// result is what an inventory says.
type result struct {
	Items []struct {
		Type, Name, ID, Owner, Place, Address string
	}
	Unmodelled    []struct{ Place, What string }
	ImportBlocks  string `json:"import_blocks"`
	Configuration string
}

// owners lists what there is of a type: NAME, and its owner in parentheses.
func (r result) owners(kind string) (all []string) {
	for _, i := range r.Items {
		if i.Type == "virtcluster_"+kind {
			all = append(all, strings.TrimSuffix(i.Name+" ("+i.Owner+")", " ()"))
		}
	}
	return all
}

// leftover returns what is said of a place that ends so; "" for nothing.
func (r result) leftover(place string) string {
	for _, u := range r.Unmodelled {
		if strings.HasSuffix(u.Place, place) {
			return u.What
		}
	}
	return ""
}

// read applies a state's configuration, and returns what its inventory says.
func read(t *testing.T, s *acctest.State, config string) (r result) {
	t.Helper()
	s.Apply(config)
	if err := json.Unmarshal([]byte(s.Run("output", "-json", "all")), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// adopt wants that a new state takes what an inventory has written, with nothing to change, and lets go of it again.
func adopt(t *testing.T, r result, imports string) {
	t.Helper()
	s := acctest.NewState(t)
	s.Write(acctest.Provider() + r.ImportBlocks + "\n" + r.Configuration)
	if plan := s.Run("plan"); !strings.Contains(plan, "Plan: "+imports+" to import, 0 to add, 0 to change, 0 to destroy.") {
		t.Errorf("what the inventory wrote plans:\n%s\n%s\n%s", plan, r.ImportBlocks, r.Configuration)
	}
	s.Run("apply", "-auto-approve")
	s.Settled()
	s.Forget()
}

// What a person built becomes configuration that plans nothing but imports; what this state and another one have is told, and not offered.
func TestAccInventoryOfAHypervisor(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	cluster(t)
	other := acctest.NewState(t)
	other.DestroyAtEnd()
	other.Apply(acctest.Provider() + network("theirs", "10.79.0.0/24"))
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	mine := acctest.Provider() + network("mine", "10.80.0.0/24")
	s.Apply(mine)

	r := read(t, s, mine+inventory(""))
	networks := r.owners("network")
	if !slices.Contains(networks, "byhand-net") || !slices.Contains(networks, "mine (this state)") || len(networks) != 3 {
		t.Errorf("the networks are %q", networks)
	}
	for kind, want := range map[string]string{"node": "byhand-vm", "storage_pool": "byhand", "image": "byhand/base.qcow2", "volume": "byhand/data.raw", "dhcp_reservation": "byhand-net/52:54:00:11:22:44"} {
		t.Run(kind, func(t *testing.T) {
			if all := r.owners(kind); !slices.Contains(all, want) {
				t.Errorf("there is %q", all)
			}
		})
	}
	for place, want := range map[string]string{
		"/network/dns/txt": "motd", "/network/forward/@dev": "eno1", "/network/forward/nat/port/@start": "2000", `storage pool "byhand-stopped"`: "virsh pool-start byhand-stopped", "/domain/title": "the first one", "/domain/devices/sound": "ich9",
	} {
		t.Run(place, func(t *testing.T) {
			if said := r.leftover(place); !strings.Contains(said, want) {
				t.Errorf("it says %q, and all that it says is not modelled is:\n%v", said, r.Unmodelled)
			}
		})
	}
	if strings.Contains(r.ImportBlocks+r.Configuration, "theirs") || strings.Contains(r.Configuration, "mine") {
		t.Errorf("what states have is offered:\n%s\n%s", r.ImportBlocks, r.Configuration)
	}
	for _, want := range []string{"virtcluster_network.byhand-net.name", "virtcluster_storage_pool.byhand.name", "virtcluster_image.byhand_base_qcow2.id", "virtcluster_volume.byhand_data_raw.id", `"/dev/byhand-root"`, `"/dev/byhand-data"`, `"private"`} {
		if !strings.Contains(r.Configuration, want) {
			t.Errorf("nothing says %s:\n%s", want, r.Configuration)
		}
	}
	adopt(t, r, "9")

	if r := read(t, s, mine+inventory("  include = [\"others\"]\n  types = [\"virtcluster_network\"]\n")); len(r.Items) != 1 || r.Items[0].Name != "theirs" || r.Configuration != "" {
		t.Errorf("of others there is %+v", r)
	}
	lost := read(t, s, mine+inventory("  include = [\"this\"]\n  types = [\"virtcluster_network\"]\n"))
	if len(lost.Items) != 1 || !strings.Contains(lost.Configuration, `"mine"`) || len(lost.Unmodelled) != 0 || !strings.Contains(lost.ImportBlocks, "virtcluster_network.mine") {
		t.Errorf("for a state that was lost there is %+v", lost)
	}
	s.Write(mine + inventory("  hypervisor = \"x\"\n"))
	s.Refused([]string{`no hypervisor "x"`}, "plan")
	s.Write(mine + inventory("  types = [\"virtcluster_cloud\"]\n"))
	s.Refused([]string{"virtcluster_cloud"}, "plan")
	s.Write(mine)
}
