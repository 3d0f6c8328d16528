package machine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// No mark stands beside a volume of a volume group: the domain says of each whether it was made. What a killed create made is its own, and what it
// did not come to is a person's who made it since. The sandbox's kernel has no LVM, so libvirt's test driver keeps the pool.
func TestAccVolumesOfAGroupThatAKilledCreateMade(t *testing.T) {
	acctest.InSandbox(t)
	c, err := hypervisor.New("test:///default", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	pools := &storage.PoolStore{Client: c, Name: "acc-group", Owner: new(owner.Run).New()}
	if _, err := pools.Create(t.Context(), storage.Pool{Type: storage.Logical, Name: "acc-group", Path: "/dev/vg0", Source: &storage.PoolSource{Name: "vg0"}, Active: true}); err != nil {
		t.Fatal(err)
	}
	pool, err := c.Pool(t.Context(), "acc-group")
	if err != nil {
		t.Fatal(err)
	}
	const uuid = "6f2c8e1a-5e0b-4a66-9c7e-0d6f0a2b9f11"
	mark := owner.Mark{ID: "abc", Workspace: owner.Workspace(), Creating: "1.gone"}
	disk := func(key string) string {
		return fmt.Sprintf(`<virtcluster:disk key=%q pool="acc-group" volume="acc-%[1]s" making="true"/>`, key)
	}
	domain := &libvirtxml.Domain{
		Type: "test", Name: "acc", UUID: uuid, Memory: &libvirtxml.DomainMemory{Value: 64, Unit: "MiB"}, OS: &libvirtxml.DomainOS{Type: &libvirtxml.DomainOSType{Type: "hvm"}},
		Metadata: &libvirtxml.DomainMetadata{XML: fmt.Sprintf(`<virtcluster:node xmlns:virtcluster=%q owner="abc" workspace=%q creating=%q>%s%s</virtcluster:node>`,
			metadata.Machine, mark.Workspace, mark.Creating, disk("root"), disk("data"))},
	}
	if err := c.DefineDomain(t.Context(), domain); err != nil {
		t.Fatal(err)
	}
	store := func() *machine.Store {
		return machine.NewStore(c, &machine.HypervisorCache{}, nil, &machine.Spec{Name: "acc", UUID: uuid}, owner.BeginRun().New().Of(mark))
	}
	if err := machine.MakeVolume(t.Context(), store(), pool, "acc-root"); err != nil {
		t.Fatal(err)
	}
	d, err := c.Domain(t.Context(), uuid)
	if err != nil {
		t.Fatal(err)
	}
	if says := d.Config.Metadata.XML; strings.Count(says, "making=") != 1 || !strings.Contains(says, "creating=") {
		t.Errorf("the domain says %s", says)
	}
	if _, err := c.CreateVolume(t.Context(), "acc-group", storage.NewMarkedVolume("acc-data", "raw", 1<<20)); err != nil { // a person's
		t.Fatal(err)
	}
	own, others, err := machine.SortVolumes(t.Context(), store(), d)
	if err != nil || !slices.Equal(own, []machine.VolumeRef{{Pool: "acc-group", Name: "acc-root"}}) || !slices.Equal(others, []machine.VolumeRef{{Pool: "acc-group", Name: "acc-data"}}) {
		t.Errorf("its own are %v, and others' %v: %v", own, others, err)
	}
}
