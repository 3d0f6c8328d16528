package node

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
)

func TestAnotherSpellingOfAnInterfaceIsNoChange(t *testing.T) {
	t.Parallel()
	plug := interfaceAttributes()
	nested := func(list string) map[string]schema.Attribute {
		return plug[list].(schema.ListNestedAttribute).NestedObject.Attributes
	}
	for name, c := range map[string]struct {
		of                  schema.Attribute
		written, was, other string
	}{
		"mac":               {plug["mac"], "52:54:00:aa:6c:b1", "52-54-00-AA-6C-B1", "52:54:00:aa:6c:b2"},
		"ip":                {plug["ip"], "10.0.0.1", "::ffff:10.0.0.1", "10.0.0.2"},
		"ipv6":              {plug["ipv6"], "fd00::1", "FD00:0::1", "fd00::2"},
		"gateway":           {plug["gateway"], "fd00::1", "fd00:0:0::1", "fd00::2"},
		"addresses":         {plug["addresses"], "fd00::1/64", "FD00::1/64", "fd00::1/65"},
		"nameservers":       {plug["nameservers"], "fd00::1", "FD00::1", "fd00::2"},
		"allowed addresses": {plug["allowed_addresses"], "fd00::/64", "FD00::/64", "fd00::"},
		"cidr of a route":   {nested("routes")["cidr"], "fd00::/64", "FD00::/64", "fd00::/65"},
		"via of a route":    {nested("routes")["via"], "fd00::1", "FD00::1", "fd00::2"},
		"remote of a rule":  {nested("security_rules")["remote"], "fd00::1", "FD00::1", "node-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := func(config string) string {
				switch a := c.of.(type) {
				case schema.StringAttribute:
					req := planmodifier.StringRequest{ConfigValue: text(config), PlanValue: text(config), StateValue: text(c.was)}
					resp := planmodifier.StringResponse{PlanValue: req.PlanValue}
					for _, m := range a.PlanModifiers {
						m.PlanModifyString(t.Context(), req, &resp)
					}
					return resp.PlanValue.ValueString()
				case schema.ListAttribute:
					list := func(one string) types.List { return convert.List([]string{one}) }
					req := planmodifier.ListRequest{ConfigValue: list(config), PlanValue: list(config), StateValue: list(c.was)}
					resp := planmodifier.ListResponse{PlanValue: req.PlanValue}
					for _, m := range a.PlanModifiers {
						m.PlanModifyList(t.Context(), req, &resp)
					}
					return convert.Texts(resp.PlanValue)[0]
				}
				return ""
			}
			if got := plan(c.written); got != c.was {
				t.Errorf("%s is planned as %s where the state has %s", c.written, got, c.was)
			}
			if got := plan(c.other); got != c.other {
				t.Errorf("%s is planned as %s", c.other, got)
			}
		})
	}
}
