package nodes

import (
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestNodesOfSeveralHypervisorsAreEachListedOnce(t *testing.T) {
	t.Parallel()
	on := func(hypervisor, id, name, state string) found {
		return found{ID: id, Name: name, State: state, Hypervisor: types.StringValue(hypervisor)}
	}
	got := mergeNodes([][]found{
		{on("hv-1", "1", "worker-2", "running"), on("hv-1", "2", "worker-1", "shutoff"), on("hv-1", "3", "worker-3", "shutoff")},
		{},
		{on("hv-2", "2", "worker-1", "running"), on("hv-2", "3", "worker-3", "shutoff"), on("hv-2", "4", "worker-1", "paused")},
	})
	var listed []string
	for _, n := range got {
		listed = append(listed, n.Hypervisor.ValueString()+" "+n.ID)
	}
	if want := []string{"hv-2 2", "hv-2 4", "hv-1 1", "hv-1 3"}; !slices.Equal(listed, want) {
		t.Errorf("%q, want %q", listed, want)
	}
}
