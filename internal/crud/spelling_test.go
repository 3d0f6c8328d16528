package crud

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func TestWhatIsReadKeepsItsSpelling(t *testing.T) {
	t.Parallel()
	kept := schema.StringAttribute{Optional: true, PlanModifiers: []planmodifier.String{values.Address.KeepSpelling()}}
	s := schema.Schema{Attributes: map[string]schema.Attribute{
		"kept": kept, "free": schema.StringAttribute{Optional: true},
		"list":    schema.ListAttribute{Optional: true, ElementType: types.StringType, PlanModifiers: []planmodifier.List{values.Each(values.Address).KeepSpelling()}},
		"map":     schema.MapAttribute{Optional: true, ElementType: types.StringType, PlanModifiers: []planmodifier.Map{values.Each(values.Address).KeepElements()}},
		"objects": schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{"inner": kept}}},
	}}
	of := s.Type().TerraformType(t.Context()).(tftypes.Object)
	text := func(v any) tftypes.Value { return tftypes.NewValue(tftypes.String, v) }
	all := func(v string, more ...string) tftypes.Value {
		list, objects := []tftypes.Value{text(v)}, []tftypes.Value{}
		for _, m := range more {
			list = append(list, text(m))
		}
		objectType := of.AttributeTypes["objects"].(tftypes.List).ElementType
		objects = append(objects, tftypes.NewValue(objectType, map[string]tftypes.Value{"inner": text(v)}))
		return tftypes.NewValue(of, map[string]tftypes.Value{
			"kept": text(v), "free": text(v), "list": tftypes.NewValue(of.AttributeTypes["list"], list), "map": tftypes.NewValue(of.AttributeTypes["map"], map[string]tftypes.Value{"k": text(v)}), "objects": tftypes.NewValue(of.AttributeTypes["objects"], objects),
		})
	}
	for name, c := range map[string]struct{ before, kept, free, list, inner string }{
		"the same":       {"FD00::1", "FD00::1", "fd00::1", `["FD00::1","fd00::9"]`, "FD00::1"},
		"something else": {"FD00::2", "fd00::1", "fd00::1", `["fd00::1","fd00::9"]`, "fd00::1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := &tfsdk.State{Schema: s, Raw: all("fd00::1", "fd00::9")}
			if err := restoreEmpty(t.Context(), state, all(c.before), false); err != nil {
				t.Fatal(err)
			}
			var got struct {
				Kept    types.String `tfsdk:"kept"`
				Free    types.String `tfsdk:"free"`
				List    types.List   `tfsdk:"list"`
				Map     types.Map    `tfsdk:"map"`
				Objects []struct {
					Inner types.String `tfsdk:"inner"`
				} `tfsdk:"objects"`
			}
			if diags := state.Get(t.Context(), &got); diags.HasError() {
				t.Fatal(diags)
			}
			if got.Kept.ValueString() != c.kept || got.Free.ValueString() != c.free || got.List.String() != c.list || !got.Map.Elements()["k"].Equal(types.StringValue(c.kept)) || got.Objects[0].Inner.ValueString() != c.inner {
				t.Errorf("read as %+v", got)
			}
		})
	}
}

// Blank lines mean nothing, which is read as null.
func TestABlankTextThatIsReadAsNullStays(t *testing.T) {
	t.Parallel()
	words := values.Free.Same(strings.TrimSpace)
	s := schema.Schema{Attributes: map[string]schema.Attribute{
		"lines": schema.StringAttribute{Optional: true, PlanModifiers: []planmodifier.String{words.KeepSpelling()}},
		"left":  schema.StringAttribute{Optional: true, PlanModifiers: []planmodifier.String{words.KeepSpelling(), LeftOut{}}},
	}}
	of := s.Type().TerraformType(t.Context())
	object := func(v any) tftypes.Value {
		text := tftypes.NewValue(tftypes.String, v)
		return tftypes.NewValue(of, map[string]tftypes.Value{"lines": text, "left": text})
	}
	for name, c := range map[string]struct {
		before string
		want   tftypes.Value
	}{"blank": {" \n", object(" \n")}, "something": {"a", object(nil)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := &tfsdk.State{Schema: s, Raw: object(nil)}
			if err := restoreEmpty(t.Context(), state, object(c.before), false); err != nil || !state.Raw.Equal(c.want) {
				t.Errorf("read as %s, %v", state.Raw, err)
			}
		})
	}
}

// An object of nothing but options that says nothing is read as null, and stays as it is written.
func TestAnObjectThatSaysNothingStays(t *testing.T) {
	t.Parallel()
	s := schema.Schema{Attributes: LeaveOut(map[string]schema.Attribute{"server": schema.SingleNestedAttribute{Optional: true, Attributes: map[string]schema.Attribute{
		"inter": schema.StringAttribute{Optional: true}, "options": schema.ListAttribute{Optional: true, ElementType: types.StringType},
	}}})}
	of := s.Type().TerraformType(t.Context()).(tftypes.Object)
	server := of.AttributeTypes["server"]
	object := func(inter any, options ...tftypes.Value) tftypes.Value {
		return tftypes.NewValue(of, map[string]tftypes.Value{"server": tftypes.NewValue(server, map[string]tftypes.Value{
			"inter": tftypes.NewValue(tftypes.String, inter), "options": tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, options),
		})})
	}
	null := tftypes.NewValue(of, map[string]tftypes.Value{"server": tftypes.NewValue(server, nil)})
	for name, c := range map[string]struct{ before, want tftypes.Value }{
		"an empty list in it": {object(nil, []tftypes.Value{}...), object(nil, []tftypes.Value{}...)},
		"something in it":     {object("3s", []tftypes.Value{}...), null},
		"an element":          {object(nil, tftypes.NewValue(tftypes.String, "x")), null},
		"none":                {null, null},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := &tfsdk.State{Schema: s, Raw: null}
			if err := restoreEmpty(t.Context(), state, c.before, false); err != nil || !state.Raw.Equal(c.want) {
				t.Errorf("read as %s, %v", state.Raw, err)
			}
		})
	}
}

// TestAnotherSpellingLeavesWhatIsComputed has a plan in which the framework took what is computed for unknown.
func TestAnotherSpellingLeavesWhatIsComputed(t *testing.T) {
	t.Parallel()
	of := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"name": tftypes.String, "size": tftypes.String, "parts": tftypes.List{ElementType: tftypes.String}}}
	const unknown = "?"
	object := func(name, size string, parts ...string) tftypes.Value {
		text := func(v string) tftypes.Value {
			switch v {
			case "":
				return tftypes.NewValue(tftypes.String, nil)
			case unknown:
				return tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
			}
			return tftypes.NewValue(tftypes.String, v)
		}
		list := tftypes.NewValue(of.AttributeTypes["parts"], nil)
		if len(parts) > 0 && parts[0] == unknown {
			list = tftypes.NewValue(of.AttributeTypes["parts"], tftypes.UnknownValue)
		} else if len(parts) > 0 {
			var all []tftypes.Value
			for _, p := range parts {
				all = append(all, text(p))
			}
			list = tftypes.NewValue(of.AttributeTypes["parts"], all)
		}
		return tftypes.NewValue(of, map[string]tftypes.Value{"name": text(name), "size": text(size), "parts": list})
	}
	for name, c := range map[string]struct{ config, state, planned, want tftypes.Value }{
		"nothing changes":            {object("A", ""), object("a", "1", "x"), object("a", unknown, unknown), object("a", "1", "x")},
		"it is new":                  {object("A", ""), tftypes.NewValue(of, nil), object("A", unknown), object("A", unknown)},
		"something changes":          {object("b", ""), object("a", "1", "x"), object("b", unknown, unknown), object("b", unknown, unknown)},
		"what is written is unknown": {object("A", unknown), object("a", "1"), object("a", unknown), object("a", unknown)},
		"an element of it is":        {object("A", "", unknown), object("a", "1", "x"), object("a", unknown, unknown), object("a", unknown, unknown)},
		"what is known stays":        {object("a", ""), object("a", "1", "x"), object("a", "2", "x"), object("a", "2", "x")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := keepUnchanged(c.config, c.state, c.planned); !got.Equal(c.want) {
				t.Errorf("it is %s, want %s", got, c.want)
			}
		})
	}
}
