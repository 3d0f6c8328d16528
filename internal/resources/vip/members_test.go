package vip

import (
	"encoding/json"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func someone(node string) member {
	return member{ServiceNode: types.StringValue(node), Interface: types.StringValue("eth0"), State: types.StringValue("BACKUP")}
}

func named(name string, m member) member {
	m.Name = name
	return m
}

func TestAListOfMembersIsToldHowItIsWrittenAsAMap(t *testing.T) {
	unknown := someone("")
	unknown.ServiceNode = types.StringUnknown()
	for name, c := range map[string]struct {
		first member
		want  string
	}{
		"a machine that is known": {someone("ssh://root@edge-1"), "edge-1"},
		"one that is to be made":  {unknown, "svc-1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := exampleKey([]member{c.first, someone("ssh://b")}); got != c.want {
				t.Errorf("a key is %q, want %q", got, c.want)
			}
		})
	}
}

func TestPrioritiesByDefaultStayWhoeverComesAndGoes(t *testing.T) {
	three := []member{named("a", someone("ssh://a")), named("b", someone("ssh://b")), named("c", someone("ssh://c"))}
	of := func(written []member, list bool, state *model) map[string]int64 {
		t.Helper()
		var diags diag.Diagnostics
		m := model{Instances: planInstances(t.Context(), written, list, state, &diags)}
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
		list    bool
		state   *model
		want    string
	}{
		"at the beginning":               {three, false, nil, `{"a":250,"b":240,"c":230}`},
		"the first one goes":             {three[1:], false, state(stands, stands), `{"b":240,"c":230}`},
		"it comes back":                  {three, false, state(map[string]int64{"b": 240, "c": 230}, map[string]int64{"b": 240, "c": 230}), `{"a":220,"b":240,"c":230}`},
		"a machine has another one":      {three, false, state(stands, map[string]int64{"a": 250, "b": 77, "c": 230}), `{"a":250,"b":240,"c":230}`},
		"a keepalived is stopped":        {three, false, state(nil, map[string]int64{"a": 250, "b": stopped, "c": 230}), `{"a":250,"b":220,"c":230}`},
		"a member gets another name":     {append([]member{renamed}, three[1:]...), false, state(stands, stands), `{"b":240,"c":230,"first":250}`},
		"one is written":                 {append([]member{own}, three[1:]...), false, nil, `{"a":100,"b":240,"c":230}`},
		"in a list the place decides":    {[]member{someone("ssh://b"), someone("ssh://a")}, true, state(stands, stands), `{"a":240,"b":250}`},
		"a state without private values": {three, false, state(nil, stands), `{"a":250,"b":240,"c":230}`},
	} {
		if got := text(of(c.written, c.list, c.state)); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}

func TestMembersInEveryForm(t *testing.T) {
	full := someone("ssh://a").toObject()
	short := types.ObjectValueMust(map[string]attr.Type{"service_node": types.StringType, "interface": types.StringType, "priority": types.StringType},
		map[string]attr.Value{"service_node": types.StringUnknown(), "interface": types.StringValue("eth0"), "priority": types.StringValue("7")})
	kinds := map[string]attr.Type{"x": memberType, "y": short.Type(t.Context())}
	for name, c := range map[string]struct {
		value attr.Value
		list  bool
		names string
	}{
		"an object of unlike objects": {types.ObjectValueMust(kinds, map[string]attr.Value{"y": short, "x": full}), false, "x y"},
		"a map":                       {types.MapValueMust(memberType, map[string]attr.Value{"y": full, "x": full}), false, "x y"},
		"a tuple":                     {types.TupleValueMust([]attr.Type{short.Type(t.Context()), memberType}, []attr.Value{short, full}), true, " "},
		"a list":                      {types.ListValueMust(memberType, []attr.Value{full, full}), true, " "},
	} {
		got, list, err := readMembers(types.DynamicValue(c.value))
		if err != nil || list != c.list || len(got) != 2 || got[0].Name+" "+got[1].Name != c.names {
			t.Errorf("%s: %v %v %v", name, got, list, err)
		}
	}
	if got, _, err := readMembers(types.DynamicUnknown()); got != nil || err != nil {
		t.Errorf("unknown members are %v, %v", got, err)
	}
}

func TestAMembersServiceNodeIsOneInEverySpelling(t *testing.T) {
	for _, written := range []string{"SHA256%3AuNiVztksCsDhcc0uBhqLEk3eJwMqDnnbHTtJOmoCTvU", "uNiVztksCsDhcc0u"} {
		all, _, err := readMembers(types.DynamicValue(types.MapValueMust(memberType, map[string]attr.Value{"x": someone("ssh://root@a?host_key=" + written).toObject()})))
		if want := "ssh://root@a?host_key=uNiVztksCsDhcc0u"; err != nil || len(all) != 1 || all[0].ServiceNode.ValueString() != want {
			t.Errorf("%s is %v, %v", written, all, err)
		}
	}
}

func TestTheOwnerIsKnownWhereNobodyCanTakeTheAddresses(t *testing.T) {
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
		if got, _ := findOwnerAfter(c.owner, before, c.after, c.preempt, c.weighs); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}
