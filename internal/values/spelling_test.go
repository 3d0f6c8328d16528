package values

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

type spelled struct {
	embedded
	Address types.String `tfsdk:"address"`
	Note    types.String `tfsdk:"note"`
	Words   types.Set    `tfsdk:"words"`
	Texts   types.Map    `tfsdk:"texts"`
	Objects types.Map    `tfsdk:"objects"`
	Listed  types.List   `tfsdk:"listed"`
	Plain   types.List   `tfsdk:"plain"`
	Unread  types.String
}

type embedded struct {
	One types.Object `tfsdk:"one"`
}

var (
	inside   = map[string]attr.Type{"address": types.StringType, "n": types.Int64Type}
	anywhere = map[string]schema.Attribute{
		"address": schema.StringAttribute{PlanModifiers: []planmodifier.String{Address.KeepSpelling()}}, "n": schema.Int64Attribute{},
	}
	sortedWords = TextsAs(func(texts []string) []string {
		return slices.Sorted(slices.Values(strings.Fields(strings.ToUpper(strings.Join(texts, " ")))))
	})
	upperCase = Text.Same(strings.ToUpper)
	spelling  = NewSpeller(func(context.Context) schema.Schema {
		return schema.Schema{Attributes: map[string]schema.Attribute{
			"address": anywhere["address"], "note": schema.StringAttribute{},
			"words":   schema.SetAttribute{PlanModifiers: []planmodifier.Set{sortedWords}},
			"texts":   schema.MapAttribute{PlanModifiers: []planmodifier.Map{Each(upperCase).KeepElements()}},
			"objects": schema.MapNestedAttribute{NestedObject: schema.NestedAttributeObject{Attributes: anywhere}},
			"listed":  schema.ListNestedAttribute{NestedObject: schema.NestedAttributeObject{Attributes: anywhere}},
			"one":     schema.SingleNestedAttribute{Attributes: anywhere},
			"plain":   schema.ListAttribute{},
		}}
	})
)

func object(address string, n int64) types.Object {
	return types.ObjectValueMust(inside, map[string]attr.Value{"address": types.StringValue(address), "n": types.Int64Value(n)})
}

func texts(all ...string) (v []attr.Value) {
	for _, s := range all {
		v = append(v, types.StringValue(s))
	}
	return v
}

func textMap(key, value string) types.Map {
	return types.MapValueMust(types.StringType, map[string]attr.Value{key: types.StringValue(value)})
}

func TestWhatIsReadBackIsKeptAsItIsSpelled(t *testing.T) {
	t.Parallel()
	of := types.ObjectType{AttrTypes: inside}
	own := spelled{
		embedded: embedded{object("FD00::1", 1)},
		Address:  types.StringValue("FD00::1"), Note: types.StringValue(""), Unread: types.StringValue("x"),
		Words: types.SetValueMust(types.StringType, texts("b", "A")), Texts: textMap("k", "text"),
		Objects: types.MapValueMust(of, map[string]attr.Value{"a": object("FD00::2", 1), "gone": object("FD00::3", 1)}),
		Listed:  types.ListValueMust(of, []attr.Value{object("FD00::4", 1)}), Plain: types.ListValueMust(types.StringType, nil),
	}
	read := spelled{
		embedded: embedded{object("fd00::1", 2)},
		Address:  types.StringValue("fd00::1"), Note: types.StringNull(), Unread: types.StringValue("y"),
		Words: types.SetValueMust(types.StringType, texts("a", "b")), Texts: textMap("k", "TEXT"),
		Objects: types.MapValueMust(of, map[string]attr.Value{"a": object("fd00::2", 1), "b": object("fd00::9", 1)}),
		Listed:  types.ListValueMust(of, []attr.Value{object("fd00::4", 3), object("fd00::5", 1)}), Plain: types.ListNull(types.StringType),
	}
	got := own
	spelling.Keep(&got, read)
	want := own
	want.One = object("FD00::1", 2)
	want.Objects = types.MapValueMust(of, map[string]attr.Value{"a": object("FD00::2", 1), "b": object("fd00::9", 1)})
	want.Listed = types.ListValueMust(of, []attr.Value{object("FD00::4", 3), object("fd00::5", 1)})
	for name, c := range map[string][2]attr.Value{
		"one": {got.One, want.One}, "address": {got.Address, want.Address}, "note": {got.Note, want.Note}, "unread": {got.Unread, want.Unread},
		"words": {got.Words, want.Words}, "texts": {got.Texts, want.Texts}, "objects": {got.Objects, want.Objects}, "listed": {got.Listed, want.Listed}, "plain": {got.Plain, want.Plain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !c[0].Equal(c[1]) {
				t.Errorf("%s, want %s", c[0], c[1])
			}
		})
	}
}

func TestWhatMeansSomethingElseIsReadBack(t *testing.T) {
	t.Parallel()
	of := types.ObjectType{AttrTypes: inside}
	for name, c := range map[string]struct{ own, read spelled }{
		"address":        {spelled{Address: types.StringValue("fd00::1")}, spelled{Address: types.StringValue("fd00::2")}},
		"unknown":        {spelled{Address: types.StringUnknown()}, spelled{Address: types.StringValue("fd00::2")}},
		"gone":           {spelled{Address: types.StringValue("fd00::1")}, spelled{Address: types.StringNull()}},
		"words":          {spelled{Words: types.SetValueMust(types.StringType, texts("a"))}, spelled{Words: types.SetValueMust(types.StringType, texts("b"))}},
		"unknown word":   {spelled{Words: types.SetValueMust(types.StringType, []attr.Value{types.StringUnknown()})}, spelled{Words: types.SetValueMust(types.StringType, texts(""))}},
		"texts":          {spelled{Texts: textMap("k", "a")}, spelled{Texts: textMap("k", "b")}},
		"no object":      {spelled{Objects: types.MapNull(of)}, spelled{Objects: types.MapValueMust(of, map[string]attr.Value{"a": object("fd00::1", 1)})}},
		"no objects now": {spelled{Listed: types.ListValueMust(of, []attr.Value{object("fd00::1", 1)})}, spelled{Listed: types.ListNull(of)}},
		"the one":        {spelled{embedded: embedded{types.ObjectNull(inside)}}, spelled{embedded: embedded{object("fd00::1", 1)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spelling.Keep(&c.own, c.read)
			if got, want := fmt.Sprint(c.own), fmt.Sprint(c.read); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

func TestElementsAndWholeCollectionsAreNotPlannedAnewForTheirSpelling(t *testing.T) {
	t.Parallel()
	var m planmodifier.MapResponse
	planned := types.MapValueMust(types.StringType, map[string]attr.Value{"a": types.StringValue("x"), "b": types.StringValue("y"), "c": types.StringUnknown()})
	state := types.MapValueMust(types.StringType, map[string]attr.Value{"a": types.StringValue("X"), "b": types.StringValue("z"), "c": types.StringValue("c")})
	Each(upperCase).KeepElements().PlanModifyMap(t.Context(), planmodifier.MapRequest{Path: path.Root("texts"), PlanValue: planned, StateValue: state}, &m)
	if e := m.PlanValue.Elements(); !e["a"].Equal(types.StringValue("X")) || !e["b"].Equal(types.StringValue("y")) || !e["c"].IsUnknown() {
		t.Errorf("planned %s", m.PlanValue)
	}
	was := types.SetValueMust(types.StringType, texts("b", "a"))
	for name, planned := range map[string]types.Set{"same": types.SetValueMust(types.StringType, texts("A", "b")), "other": types.SetValueMust(types.StringType, texts("a"))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := planmodifier.SetResponse{PlanValue: planned}
			sortedWords.PlanModifySet(t.Context(), planmodifier.SetRequest{PlanValue: planned, StateValue: was}, &resp)
			if kept := resp.PlanValue.Equal(was); kept != (name == "same") {
				t.Errorf("planned %s", resp.PlanValue)
			}
		})
	}
}
