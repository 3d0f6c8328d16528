package convert

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

type plainPort struct {
	Number int64      `attr:"number"`
	Via    netip.Addr `attr:"via"`
}

type plainBase struct {
	Name string `attr:"name"`
	Off  bool   `attr:"on,not"`
}

type plainThing struct {
	plainBase
	Subnet netip.Prefix         `attr:"subnet"`
	Free   int64                `attr:"free,zero"`
	Lease  *int64               `attr:"lease"`
	Spare  *plainPort           `attr:"spare"`
	Main   plainPort            `attr:"main"`
	Ports  []plainPort          `attr:"ports"`
	ByKey  map[string]plainPort `attr:"by_key,canonical"`
	MACs   []string             `attr:"macs,canonical"`
	Words  []string             `attr:"words"`
	Labels map[string]string    `attr:"labels"`
	Inside string               // of no attribute
}

type modelPort struct {
	Number types.Int64  `tfsdk:"number"`
	Via    types.String `tfsdk:"via"`
}

type modelBase struct {
	Name types.String `tfsdk:"name"`
	On   types.Bool   `tfsdk:"on"`
}

type modelThing struct {
	modelBase
	Subnet types.String         `tfsdk:"subnet"`
	Free   types.Int64          `tfsdk:"free"`
	Lease  types.Int64          `tfsdk:"lease"`
	Spare  types.Object         `tfsdk:"spare"`
	Main   *modelPort           `tfsdk:"main"`
	Ports  types.List           `tfsdk:"ports"`
	ByKey  map[string]modelPort `tfsdk:"by_key"`
	MACs   types.List           `tfsdk:"macs"`
	Words  types.Set            `tfsdk:"words"`
	Labels types.Map            `tfsdk:"labels"`
}

func TestAModelAndItsPlainValuesAreOne(t *testing.T) {
	t.Parallel()
	lease := int64(0)
	port := plainPort{Number: 22, Via: netip.MustParseAddr("10.0.0.1")}
	for name, plain := range map[string]plainThing{
		"nothing":        {},
		"an empty label": {Labels: map[string]string{"a": ""}},
		"all of it": {
			plainBase: plainBase{Name: "a", Off: true}, Subnet: netip.MustParsePrefix("fd00::/64"), Free: 7, Lease: &lease, Spare: &port, Main: port,
			Ports: []plainPort{port, {Number: 23}}, ByKey: map[string]plainPort{"52:54:00:00:00:01": port}, MACs: []string{"52:54:00:00:00:02"}, Labels: map[string]string{"x": "y"},
			Words: []string{"a", "b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var model modelThing
			FromPlain(&plain, &model)
			var back plainThing
			if diags := ToPlain(&model, &back, func(at ...any) { t.Errorf("%v is unknown", at) }); diags.HasError() {
				t.Fatal(diags)
			}
			if !reflect.DeepEqual(back, plain) {
				t.Errorf("%+v, want %+v", back, plain)
			}
		})
	}
	var model modelThing
	FromPlain(&plainThing{}, &model)
	if !model.Lease.IsNull() || !model.Ports.IsNull() || !model.Spare.IsNull() || model.Free.IsNull() || !model.On.ValueBool() || !model.Name.IsNull() {
		t.Errorf("nothing is %+v", model)
	}
	if got := Value([]plainPort{port}).String(); got != `[{"number":22,"via":"10.0.0.1"}]` {
		t.Errorf("a list is %s", got)
	}
}

func TestWhatIsUnknownIsNoted(t *testing.T) {
	t.Parallel()
	kinds := map[string]attr.Type{"number": types.Int64Type, "via": types.StringType}
	known := map[string]attr.Value{"number": types.Int64Value(1), "via": types.StringUnknown()}
	model := modelThing{
		modelBase: modelBase{Name: types.StringUnknown()},
		Main:      &modelPort{Number: types.Int64Unknown()},
		Spare:     types.ObjectUnknown(kinds),
		Ports:     types.ListValueMust(types.ObjectType{AttrTypes: kinds}, []attr.Value{types.ObjectUnknown(kinds), types.ObjectValueMust(kinds, known)}),
		ByKey:     map[string]modelPort{"52-54-00-00-00-01": {Via: types.StringUnknown()}},
		MACs:      types.ListValueMust(types.StringType, []attr.Value{types.StringUnknown(), types.StringValue("52-54-00-AA-6C-B1")}),
		Labels:    types.MapValueMust(types.StringType, map[string]attr.Value{"a": types.StringUnknown(), "b": types.StringValue("c")}),
	}
	var plain plainThing
	var unknown []string
	diags := ToPlain(&model, &plain, func(at ...any) { unknown = append(unknown, fmt.Sprint(at)) })
	slices.Sort(unknown)
	want := []string{"[by_key 52-54-00-00-00-01 via]", "[labels a]", "[macs]", "[main number]", "[name]", "[ports 0]", "[ports 1 via]", "[spare]"}
	if diags.HasError() || !slices.Equal(unknown, want) {
		t.Errorf("unknown are %q, want %q (%v)", unknown, want, diags)
	}
	if len(plain.Ports) != 2 || plain.Ports[1].Number != 1 || !slices.Equal(plain.MACs, []string{"52:54:00:aa:6c:b1"}) || len(plain.Labels) != 1 || plain.Labels["b"] != "c" {
		t.Errorf("what is known of it is %+v", plain)
	}
}

func TestTextsThatAreNoAddressesAreRefusedAtTheirPlace(t *testing.T) {
	t.Parallel()
	kinds := map[string]attr.Type{"number": types.Int64Type, "via": types.StringType}
	port := func(via string) attr.Value {
		return types.ObjectValueMust(kinds, map[string]attr.Value{"number": types.Int64Null(), "via": types.StringValue(via)})
	}
	ports := func(via ...string) types.List {
		var all []attr.Value
		for _, v := range via {
			all = append(all, port(v))
		}
		return types.ListValueMust(types.ObjectType{AttrTypes: kinds}, all)
	}
	for name, c := range map[string]struct {
		model modelThing
		want  string
	}{
		"subnet":  {modelThing{Subnet: types.StringValue("10.0.0.0")}, `write an address and a prefix length such as 10.0.0.0/24, not "10.0.0.0"`},
		"address": {modelThing{Ports: ports("::1", "fe80::1%eth0")}, `ports[1].via: write an IP address such as 10.0.0.254, not "fe80::1%eth0"`},
		"empty":   {modelThing{Subnet: types.StringValue("")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if diags := ToPlain(&c.model, &plainThing{}, func(...any) {}); diags.HasError() {
				got = diags[0].Detail()
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	twice := struct {
		ByKey types.Map `tfsdk:"by_key"`
	}{types.MapValueMust(types.ObjectType{AttrTypes: kinds}, map[string]attr.Value{"52:54:00:00:00:01": port("::1"), "52-54-00-00-00-01": port("::1")})}
	if diags := ToPlain(&twice, &plainThing{}, func(...any) {}); !diags.HasError() || diags[0].Summary() != "MAC address written twice" {
		t.Errorf("one MAC address is a key twice: %v", diags)
	}
}

// TestWhatMeansTheSameKeepsItsSpelling has a system say what a model means, and something else.
func TestWhatMeansTheSameKeepsItsSpelling(t *testing.T) {
	t.Parallel()
	type plain struct {
		Name  string               `attr:"name,canonical"`
		Off   bool                 `attr:"off"`
		Size  uint16               `attr:"size"`
		Ports map[string]plainPort `attr:"ports,canonical"`
		Words []string             `attr:"words"`
	}
	type model struct {
		Name  types.String `tfsdk:"name"`
		Off   types.Bool   `tfsdk:"off"`
		Size  types.Int64  `tfsdk:"size"`
		Ports types.Map    `tfsdk:"ports"`
		Words types.List   `tfsdk:"words"`
	}
	ports := func(mac string) types.Map {
		return types.MapValueMust(typeOf(reflect.TypeFor[plainPort]()), map[string]attr.Value{mac: Value(&plainPort{Number: 22})})
	}
	words := types.ListValueMust(types.StringType, nil)
	written := model{types.StringValue("FD00::1"), types.BoolNull(), types.Int64Value(7), ports("52-54-00-AA-00-01"), words}
	means := plain{Name: "fd00::1", Size: 7, Ports: map[string]plainPort{"52:54:00:aa:00:01": {Number: 22}}}
	other := plain{Name: "fd00::2", Off: true, Size: 8, Ports: map[string]plainPort{"52:54:00:aa:00:02": {Number: 22}}, Words: []string{"a"}}
	for name, c := range map[string]struct {
		from model
		is   plain
		want model
	}{
		"the same": {written, means, model{written.Name, types.BoolValue(false), written.Size, written.Ports, words}},
		"something else": {written, other, model{
			types.StringValue("fd00::2"), types.BoolValue(true), types.Int64Value(8), ports("52:54:00:aa:00:02"), types.ListValueMust(types.StringType, []attr.Value{types.StringValue("a")}),
		}},
		"what was unknown": {
			model{types.StringUnknown(), types.BoolUnknown(), types.Int64Unknown(), types.MapUnknown(written.Ports.ElementType(t.Context())), types.ListUnknown(types.StringType)}, plain{},
			model{types.StringNull(), types.BoolValue(false), types.Int64Null(), types.MapNull(written.Ports.ElementType(t.Context())), types.ListNull(types.StringType)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var was plain
			m := c.from
			if diags := ToPlain(&m, &was, func(...any) {}); diags.HasError() {
				t.Fatal(diags)
			}
			if FillModel(&was, &c.is, &m); !reflect.DeepEqual(m, c.want) {
				t.Errorf("it is %+v, want %+v", m, c.want)
			}
		})
	}
}

type plainLine struct {
	Words string   `attr:"words,words"`
	Other string   `attr:"other"`
	Texts []string `attr:"texts,canonical"`
}

// SplitWords has a word that begins with a dash stand with the one after it.
func (plainLine) SplitWords(text string) (elements []string) {
	for _, word := range strings.Fields(text) {
		if last := len(elements) - 1; last >= 0 && strings.HasPrefix(elements[last], "-") && !strings.Contains(elements[last], " ") {
			elements[last] += " " + word
			continue
		}
		elements = append(elements, word)
	}
	return elements
}

// TestWhatIsInAnAttributeKeepsItsSpelling has a system say of one part of an attribute what the model means, and of another part something else.
func TestWhatIsInAnAttributeKeepsItsSpelling(t *testing.T) {
	t.Parallel()
	type plain struct {
		Line  *plainLine           `attr:"line"`
		Lines []plainLine          `attr:"lines"`
		Named map[string]plainLine `attr:"named"`
	}
	type model struct {
		Line  types.Object `tfsdk:"line"`
		Lines types.List   `tfsdk:"lines"`
		Named types.Map    `tfsdk:"named"`
	}
	of := typeOf(reflect.TypeFor[plainLine]()).(types.ObjectType)
	line := func(other string, texts types.List, words ...string) types.Object {
		return types.ObjectValueMust(of.AttrTypes, map[string]attr.Value{"other": types.StringValue(other), "words": List(words), "texts": texts})
	}
	lines := func(all ...attr.Value) types.List { return types.ListValueMust(of, all) }
	named := func(all map[string]attr.Value) types.Map { return types.MapValueMust(of, all) }
	none, spelled := List([]string{}), List([]string{"FD00::1", "FD00::2"})
	m := model{
		line("a", none, "-f", "y"), lines(line("a", spelled, "-f y", "z"), line("b", none, "-f", "y")), named(map[string]attr.Value{"k": line("a", spelled, "x", "-f"), "gone": line("a", none)}),
	}
	var was plain
	if diags := ToPlain(&m, &was, func(...any) {}); diags.HasError() || was.Line.Words != "-f y" {
		t.Fatalf("%+v %v", was.Line, diags)
	}
	is := plain{
		&plainLine{"-f y", "other", nil}, []plainLine{{"z", "a", []string{"fd00::1", "fd00::3"}}, {"-f y", "c", nil}, {"x -f y", "new", nil}},
		map[string]plainLine{"k": {"x -f", "b", []string{"fd00::1", "fd00::2"}}, "new": {"-f y", "a", nil}},
	}
	FillModel(&was, &is, &m)
	null := types.ListNull(types.StringType)
	want := model{
		line("other", none, "-f", "y"), lines(line("a", List([]string{"FD00::1", "fd00::3"}), "z"), line("c", none, "-f", "y"), line("new", null, "x", "-f y")),
		named(map[string]attr.Value{"k": line("b", spelled, "x", "-f"), "new": line("a", null, "-f y")}),
	}
	if !m.Line.Equal(want.Line) || !m.Lines.Equal(want.Lines) || !m.Named.Equal(want.Named) {
		t.Errorf("it is\n%s\nwant\n%s", m, want)
	}
}

func TestNothingIsNotNullWhereItHasAMeaning(t *testing.T) {
	t.Parallel()
	got := Value(struct {
		Text   string            `attr:"text,zero"`
		Number int64             `attr:"number,zero"`
		List   []plainPort       `attr:"list,zero"`
		Map    map[string]string `attr:"map,zero"`
	}{}).String()
	if want := `{"list":[],"map":{},"number":0,"text":""}`; got != want {
		t.Errorf("nothing is %s, want %s", got, want)
	}
}
