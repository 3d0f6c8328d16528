package hostattr

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestAnIDIsAMachineAndAName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ id, form, machine, name string }{
		{"ssh://root@10.0.0.100?host_key=abc#www", "HOST#NAME", "ssh://root@10.0.0.100?host_key=abc", "www"},
		{"local:#a/b", "HOST#NAME", "local:", "a/b"},
		{"local:#a#b", "HOST#NAME", "local:", "a#b"},
		{"local:#backend/api", "SERVICE_NODE#backend/NAME", "local:", "api"},
		{"local:#frontend/api", "SERVICE_NODE#backend/NAME", "", ""},
		{"local:#backend/", "SERVICE_NODE#backend/NAME", "", ""},
		{"local:#", "HOST#NAME", "", ""},
		{"#www", "HOST#NAME", "", ""},
		{"www", "HOST#NAME", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var machine, name types.String
			err := SplitName(c.id, c.form, &machine, &name)
			if (err == nil) != (c.name != "") || machine.ValueString() != c.machine || name.ValueString() != c.name {
				t.Errorf("%s as %s: %s, %s, %v", c.id, c.form, machine, name, err)
			}
			if err == nil && c.form == "HOST#NAME" && JoinID(machine, name.ValueString()) != c.id {
				t.Errorf("%s is joined to %s", c.id, JoinID(machine, name.ValueString()))
			}
		})
	}
}
