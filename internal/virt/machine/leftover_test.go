package machine

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/goldentest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// What domains of other programs and people have, as libvirt has it, and no attribute says: of all else there is nothing to be told.
func TestWhatOfADomainIsNotModelledIsListed(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../peer/testdata/*/domains/*.xml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no domain: %v", err)
	}
	files = append(files, "testdata/by-hand.xml", "testdata/everything.xml", "testdata/minimal.xml", "testdata/pc-uefi.xml")
	goldentest.CompareUnmodelled(t, files, func(xml string) ([]service.Unmodelled, error) {
		var d libvirtxml.Domain
		if err := d.Unmarshal(xml); err != nil {
			return nil, err
		}
		return listUnmodelled(&d)
	})
}

// A place in the boot order says nothing beside the order of kinds, unless there are two of a kind.
func TestABootOrderOfTwoOfAKindIsListed(t *testing.T) {
	t.Parallel()
	domain := func(second string) *libvirtxml.Domain {
		var d libvirtxml.Domain
		if err := d.Unmarshal(`<domain type="kvm"><name>a</name><memory unit="MiB">64</memory><vcpu>1</vcpu><os><type machine="pc">hvm</type></os><devices>
<disk type="file" device="disk"><source file="/a"/><target dev="vda" bus="virtio"/><boot order="1"/></disk>
<interface type="network"><mac address="52:54:00:00:00:01"/><source network="n"/><boot order="2"/></interface>
<interface type="network"><mac address="52:54:00:00:00:02"/><source network="n"/>` + second + `</interface></devices></domain>`); err != nil {
			t.Fatal(err)
		}
		return &d
	}
	for second, want := range map[string]bool{"": false, `<boot order="3"/>`: true} {
		t.Run(second, func(t *testing.T) {
			t.Parallel()
			all, err := listUnmodelled(domain(second))
			listed := strings.Contains(fmt.Sprint(all), "boot")
			if err != nil || listed != want {
				t.Errorf("it lists %v, %v", all, err)
			}
		})
	}
}
