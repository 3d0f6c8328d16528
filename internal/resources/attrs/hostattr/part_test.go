package hostattr

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

// TestAnIDIsSplitIntoWhatItWasMadeOf has ids of parts be made and split, and others refused.
func TestAnIDIsSplitIntoWhatItWasMadeOf(t *testing.T) {
	t.Parallel()
	type model struct {
		Node types.String `tfsdk:"service_node"`
		Name types.String `tfsdk:"title"`
	}
	for title, c := range map[string]struct {
		kind     PartType[model, struct{}]
		name, id string
		refused  string
	}{
		"a named one":        {PartType[model, struct{}]{Form: "SERVICE_NODE#registry/NAME", Name: "title"}, "images", "ssh://root@n#registry/images", "ssh://root@n#zone/images"},
		"by a name alone":    {PartType[model, struct{}]{Form: "SERVICE_NODE#NAME", Name: "title"}, "images", "ssh://root@n#images", "ssh://root@n#"},
		"by a path":          {PartType[model, struct{}]{Form: "SERVICE_NODE#PATH", Name: "title"}, "/srv/nfs", "ssh://root@n#/srv/nfs", "ssh://root@n"},
		"the only one there": {PartType[model, struct{}]{Form: "SERVICE_NODE#time"}, "", "ssh://root@n#time", "ssh://root@n#boot"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			m := model{types.StringValue("ssh://root@n"), types.StringValue(c.name)}
			if id := c.kind.formatID(&m); id != c.id {
				t.Errorf("the id is %s, want %s", id, c.id)
			}
			var back model
			if err := c.kind.splitID(&back, c.id); err != nil || back.Node.ValueString() != "ssh://root@n" || back.Name.ValueString() != c.name {
				t.Errorf("%v: %+v", err, back)
			}
			if err := c.kind.splitID(&back, c.refused); err == nil {
				t.Errorf("%s is taken", c.refused)
			}
		})
	}
}
