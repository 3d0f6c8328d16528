package crud

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestPlacesAreNamesOrIDsWithAndWithoutTheirHypervisor(t *testing.T) {
	t.Parallel()
	isID := func(text string) bool { return text == "AB12" }
	for text, want := range map[string]struct {
		ok                   bool
		hypervisor, id, name string
	}{
		"okd": {true, "", "", "okd"}, "kvm2/okd": {true, "kvm2", "", "okd"}, "AB12": {true, "", "ab12", ""}, "kvm2/AB12": {true, "kvm2", "ab12", ""},
		"": {}, "/okd": {}, "/AB12": {}, "kvm2/": {hypervisor: "kvm2"}, "a/b/c": {hypervisor: "a"},
	} {
		t.Run(text, func(t *testing.T) {
			var hypervisor, id, name types.String
			ok := SplitPlace(text, isID, &hypervisor, &id, &name)
			if ok != want.ok || hypervisor.ValueString() != want.hypervisor || id.ValueString() != want.id || name.ValueString() != want.name {
				t.Errorf("%q: %v, %s, %s, %s", text, ok, hypervisor, id, name)
			}
		})
	}
}
