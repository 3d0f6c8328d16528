package vip

import (
	"encoding/json"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/vip"
)

func someone(node string) member {
	return member{ServiceNode: types.StringValue(node), Interface: types.StringValue("eth0"), State: types.StringValue("BACKUP")}
}

func named(name string, m member) member {
	m.Name = name
	return m
}

func TestPrioritiesByDefaultStayWhoeverComesAndGoes(t *testing.T) {
	t.Parallel()
	three := []member{named("a", someone("ssh://a")), named("b", someone("ssh://b")), named("c", someone("ssh://c"))}
	of := func(written []member, state *model) map[string]int64 {
		t.Helper()
		var diags diag.Diagnostics
		m := model{Instances: planInstances(t.Context(), written, state, &diags)}
		if diags.HasError() {
			t.Fatal(diags)
		}
		return listPriorities(m.readInstances(t.Context()))
	}
	state := func(priorities map[string]int64, at map[string]int64) *model {
		all := map[string]attr.Value{}
		for name, p := range at {
			m := someone("ssh://" + name)
			m.Priority = types.Int64Value(p)
			all[name] = m.toObject()
		}
		return &model{Instances: types.MapValueMust(memberType, all), Assigned: priorities}
	}
	text := func(v any) string {
		out, _ := json.Marshal(v)
		return string(out)
	}
	stands := map[string]int64{"a": 250, "b": 240, "c": 230}
	renamed := named("first", someone("ssh://a"))
	own := named("a", someone("ssh://a"))
	own.Priority = types.Int64Value(100)
	for name, c := range map[string]struct {
		written []member
		state   *model
		want    string
	}{
		"at the beginning":               {three, nil, `{"a":250,"b":240,"c":230}`},
		"the first one goes":             {three[1:], state(stands, stands), `{"b":240,"c":230}`},
		"it comes back":                  {three, state(map[string]int64{"b": 240, "c": 230}, map[string]int64{"b": 240, "c": 230}), `{"a":220,"b":240,"c":230}`},
		"a machine has another one":      {three, state(stands, map[string]int64{"a": 250, "b": 77, "c": 230}), `{"a":250,"b":240,"c":230}`},
		"a keepalived is stopped":        {three, state(nil, map[string]int64{"a": 250, "b": vip.Stopped, "c": 230}), `{"a":250,"b":220,"c":230}`},
		"a member gets another name":     {append([]member{renamed}, three[1:]...), state(stands, stands), `{"b":240,"c":230,"first":250}`},
		"one is written":                 {append([]member{own}, three[1:]...), nil, `{"a":100,"b":240,"c":230}`},
		"a state without private values": {three, state(nil, stands), `{"a":250,"b":240,"c":230}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := text(of(c.written, c.state)); got != c.want {
				t.Errorf("%s, not %s", got, c.want)
			}
		})
	}
}

func TestMembersAreReadInTheOrderOfTheirNamesAndAsFarAsTheyAreKnown(t *testing.T) {
	t.Parallel()
	full := someone("ssh://a").toObject()
	part := someone("ssh://b")
	part.ServiceNode, part.Priority = types.StringUnknown(), types.Int64Value(7)
	got := readMembers(types.MapValueMust(memberType, map[string]attr.Value{"z": types.ObjectUnknown(memberType.AttrTypes), "y": part.toObject(), "x": full}))
	if len(got) != 3 || got[0].Name+got[1].Name+got[2].Name != "xyz" {
		t.Fatalf("%v are not x, y and z", got)
	}
	if x := got[0]; x.ServiceNode.ValueString() != "ssh://a" || x.Interface.ValueString() != "eth0" || !x.Address.IsNull() || !x.Priority.IsNull() {
		t.Errorf("what is written of a member is %v", x)
	}
	if y := got[1]; !y.ServiceNode.IsUnknown() || y.Interface.ValueString() != "eth0" || y.Priority.ValueInt64() != 7 {
		t.Errorf("of a member whose machine is to be made, %v is known", y)
	}
	if z := got[2]; !z.ServiceNode.IsUnknown() || !z.Interface.IsUnknown() || !z.Address.IsUnknown() || !z.Priority.IsUnknown() || !z.State.IsUnknown() {
		t.Errorf("of a member that is not known, %v is", z)
	}
	if got := readMembers(types.MapUnknown(memberType)); len(got) != 0 {
		t.Errorf("unknown members are %v", got)
	}
}

func TestAMembersServiceNodeIsOneInEverySpelling(t *testing.T) {
	t.Parallel()
	for _, written := range []string{"SHA256%3AuNiVztksCsDhcc0uBhqLEk3eJwMqDnnbHTtJOmoCTvU", "uNiVztksCsDhcc0u"} {
		t.Run(written, func(t *testing.T) {
			t.Parallel()
			all := readMembers(types.MapValueMust(memberType, map[string]attr.Value{"x": someone("ssh://root@a?host_key=" + written).toObject()}))
			if want := "ssh://root@a?host_key=uNiVztksCsDhcc0u"; len(all) != 1 || all[0].ServiceNode.ValueString() != want {
				t.Errorf("it is %v", all)
			}
		})
	}
}

func TestTheOwnerIsKnownWhereNobodyCanTakeTheAddresses(t *testing.T) {
	t.Parallel()
	with := func(node string, priority int64) member {
		m := someone(node)
		m.Priority = types.Int64Value(priority)
		return m
	}
	a, b := with("ssh://a", 250), with("ssh://b", 240)
	before := map[string]member{"a": a, "b": b}
	unknown := with("ssh://c", 0)
	unknown.Priority = types.Int64Unknown()
	for name, c := range map[string]struct {
		owner           string
		after           map[string]member
		preempt, weighs bool
		want            string
	}{
		"nothing changes":                {"a", before, true, true, "a"},
		"it gets another name":           {"a", map[string]member{"first": a, "b": b}, true, false, "first"},
		"one with less comes":            {"a", map[string]member{"a": a, "b": b, "c": with("ssh://c", 230)}, true, false, "a"},
		"one with as much comes":         {"a", map[string]member{"a": a, "b": b, "c": with("ssh://c", 250)}, true, false, "a"},
		"one with more comes":            {"a", map[string]member{"a": a, "b": b, "c": with("ssh://c", 251)}, true, false, ""},
		"nobody knows how much it has":   {"a", map[string]member{"a": a, "b": b, "c": unknown}, true, false, ""},
		"one with more does not preempt": {"a", map[string]member{"a": a, "b": b, "c": with("ssh://c", 251)}, false, false, "a"},
		"tracks weigh more":              {"a", map[string]member{"a": a, "b": b, "c": with("ssh://c", 230)}, true, true, ""},
		"another one gets more":          {"a", map[string]member{"a": a, "b": with("ssh://b", 251)}, true, false, ""},
		"another one gets less":          {"a", map[string]member{"a": a, "b": with("ssh://b", 100)}, true, false, "a"},
		"another one goes":               {"a", map[string]member{"a": a}, true, false, "a"},
		"the better one stays away":      {"b", map[string]member{"a": a, "b": b, "c": with("ssh://c", 230)}, true, false, "b"},
		"it gets less itself":            {"a", map[string]member{"a": with("ssh://a", 230), "b": b}, true, false, ""},
		"it goes":                        {"a", map[string]member{"b": b}, true, false, ""},
		"there is none":                  {"", map[string]member{"a": a}, true, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, _ := findOwnerAfter(c.owner, before, c.after, c.preempt, c.weighs); got != c.want {
				t.Errorf("it is %q, not %q", got, c.want)
			}
		})
	}
}
