package volume_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// byHandToo is a network with a fixed lease, and an empty disk, that a person makes beside what byHand makes.
func byHandToo(t *testing.T) {
	t.Helper()
	byHand(t)
	acctest.Virsh(t, "vol-create-as", "lookup", "data.qcow2", "1GiB", "--format", "qcow2")
	file := filepath.Join(t.TempDir(), "network.xml")
	network := `<network><name>lookup-net</name><forward mode="nat"/><bridge name="lookupbr0"/><domain name="lab.example"/><ip address="10.77.0.1" netmask="255.255.255.0">` +
		`<dhcp><range start="10.77.0.100" end="10.77.0.150"/><host mac="52:54:00:11:22:33" name="vm1" ip="10.77.0.10"/></dhcp></ip></network>`
	if err := os.WriteFile(file, []byte(network), 0o600); err != nil {
		t.Fatal(err)
	}
	acctest.Virsh(t, "net-define", file)
	t.Cleanup(func() {
		acctest.Virsh(t, "net-undefine", "lookup-net")
		acctest.Virsh(t, "vol-delete", "data.qcow2", "lookup")
	})
}

// list is a list block of a type, with what its config says.
func list(kind, name, config string) string {
	return "list \"virtcluster_" + kind + "\" \"" + name + "\" {\n  provider         = virtcluster\n  include_resource = true\n  config {\n" + config + "  }\n}\n"
}

// writeQuery makes the list blocks of a state's directory.
func writeQuery(t *testing.T, s *acctest.State, blocks ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.Dir, "all.tfquery.hcl"), []byte(strings.Join(blocks, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What a person made on a hypervisor is listed, and the configuration that Terraform generates of it plans nothing but imports. Without the
// whole of it, which costs a look at each, it is named all the same, and there are no more than a list block wants.
func TestAccList(t *testing.T) {
	acctest.InSandbox(t)
	byHandToo(t)
	s := acctest.NewStateWithActions(t)
	s.Write(acctest.Provider())
	const named = "    name_matches = \"^lookup\"\n"
	writeQuery(t, s, list("network", "all", named), list("dhcp_reservation", "all", named), list("node", "all", named), list("storage_pool", "all", named),
		list("volume", "all", named+"    unmanaged = true\n"), list("image", "all", named))
	out := s.Run("query", "-generate-config-out=generated.tf")
	for _, want := range []string{"lookup-net ", "lookup-net/52:54:00:11:22:33", "lookup-vm", "lookup/data.qcow2", "lookup/disk.qcow2", "lookup/base.qcow2", "name=lookup "} {
		if strings.Count(out, want) == 0 {
			t.Errorf("%q is not listed:\n%s", want, out)
		}
	}
	if plan := s.Run("plan"); !strings.Contains(plan, "Plan: 7 to import, 0 to add, 0 to change, 0 to destroy.") {
		text, _ := os.ReadFile(filepath.Join(s.Dir, "generated.tf"))
		t.Errorf("what was generated plans:\n%s\n%s", plan, text)
	}

	for meta, want := range map[string]int{"": 2, "  limit    = 1\n": 1, "  limit    = 5\n  include_resource = true\n": 2} {
		t.Run("with "+meta, func(t *testing.T) {
			s := s.For(t)
			writeQuery(t, s, "list \"virtcluster_volume\" \"some\" {\n  provider = virtcluster\n"+meta+"  config {\n"+named+"  }\n}\n")
			if out := s.Run("query"); strings.Count(out, "list.virtcluster_volume.some") != want {
				t.Errorf("there are not %d of the two volumes:\n%s", want, out)
			}
		})
	}
}

// What a state has is told from what a person made, and stays as it is.
func TestAccListUnmanaged(t *testing.T) {
	acctest.InSandbox(t)
	byHandToo(t)
	s := acctest.NewStateWithActions(t)
	s.DestroyAtEnd()
	s.Apply(config("  size_gib = 1\n"))
	writeQuery(t, s, list("volume", "all", ""), list("storage_pool", "all", ""))
	if out := s.Run("query"); !strings.Contains(out, "volumes/v") || !strings.Contains(out, "lookup/data.qcow2") || strings.Contains(out, ".virtcluster-") {
		t.Errorf("of what a state and a person have, this is listed:\n%s", out)
	}
	writeQuery(t, s, list("volume", "all", "    unmanaged = true\n"), list("storage_pool", "all", "    unmanaged = true\n"))
	if out := s.Run("query"); strings.Contains(out, "volumes") || !strings.Contains(out, "lookup/data.qcow2") {
		t.Errorf("of what nobody manages, this is listed:\n%s", out)
	}
	s.Settled()
	for name, c := range map[string]struct {
		blocks []string
		want   string
	}{
		"two of one name": {[]string{list("volume", "all", ""), list("volume", "all", "")}, "Duplicate"},
		"no expression":   {[]string{list("volume", "all", "    name_matches = \"(\"\n")}, "Invalid regular expression"},
		"no hypervisor":   {[]string{list("volume", "all", "    hypervisor = \"x\"\n")}, `no hypervisor "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.For(t)
			writeQuery(t, s, c.blocks...)
			s.Refused([]string{c.want}, "query")
		})
	}
}
