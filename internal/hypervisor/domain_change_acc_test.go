package hypervisor

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"libvirt.org/go/libvirtxml"
)

// TestAccMetadataOfAGuestThatEndedMeanwhile has a domain that is thought to run get metadata when it does not.
func TestAccMetadataOfAGuestThatEndedMeanwhile(t *testing.T) {
	c := sandbox(t)
	id := uuid.NewString()
	err := c.DefineDomain(t.Context(), &libvirtxml.Domain{
		Type: "qemu", Name: "acc-ended", UUID: id, Memory: &libvirtxml.DomainMemory{Value: 32, Unit: "MiB"},
		OS: &libvirtxml.DomainOS{Type: &libvirtxml.DomainOSType{Type: "hvm", Arch: "x86_64"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.UndefineDomain(context.WithoutCancel(t.Context()), id); err != nil {
			t.Error(err)
		}
	})
	if err := c.SetDomainMetadata(t.Context(), id, "app", "urn:app", "<app/>", true); err != nil {
		t.Fatal(err)
	}
	if got := shell(t, "virsh", "metadata", "acc-ended", "urn:app"); !strings.Contains(got, "<app/>") {
		t.Errorf("it has %s", got)
	}
}
