package storagepool

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"
)

func TestAnImportIDWithoutAHypervisorBeforeItsSlashIsRefused(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]struct {
		ok               bool
		hypervisor, name string
	}{
		"okd": {true, "", "okd"}, "kvm2/okd": {true, "kvm2", "okd"}, "/okd": {},
	} {
		t.Run(id, func(t *testing.T) {
			var m model
			err := splitID(&m, id)
			if (err == nil) != want.ok || want.ok && (m.Hypervisor.ValueString() != want.hypervisor || m.Name.ValueString() != want.name) {
				t.Errorf("%q is %s on %s: %v", id, m.Name, m.Hypervisor, err)
			}
		})
	}
}

// A pool is found by its UUID: a person gives it another name, and its resource is the same one.
func TestTheIdentityOfAPoolMayChange(t *testing.T) {
	t.Parallel()
	var resp resource.MetadataResponse
	New().Metadata(t.Context(), resource.MetadataRequest{}, &resp)
	if !resp.ResourceBehavior.MutableIdentity {
		t.Error("a read of a pool with another name would be an error")
	}
}
