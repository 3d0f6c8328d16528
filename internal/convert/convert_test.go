package convert

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestAnObjectThatIsUnknownIsSpreadAsUnknownAttributes(t *testing.T) {
	t.Parallel()
	of := map[string]attr.Type{"a": types.StringType, "b": types.ListType{ElemType: types.Int64Type}}
	object := types.ObjectType{AttrTypes: of}
	known := types.ObjectValueMust(of, map[string]attr.Value{"a": types.StringValue("x"), "b": types.ListNull(types.Int64Type)})
	spread := types.ObjectValueMust(of, map[string]attr.Value{"a": types.StringUnknown(), "b": types.ListUnknown(types.Int64Type)})
	for name, c := range map[string]struct{ v, want attr.Value }{
		"list": {types.ListValueMust(object, []attr.Value{known, types.ObjectUnknown(of)}), types.ListValueMust(object, []attr.Value{known, spread})},
		"map":  {types.MapValueMust(object, map[string]attr.Value{"k": types.ObjectUnknown(of)}), types.MapValueMust(object, map[string]attr.Value{"k": spread})},
		"null": {types.ListNull(object), types.ListNull(object)}, "unknown": {types.MapUnknown(object), types.MapUnknown(object)},
		"texts": {types.ListValueMust(types.StringType, []attr.Value{types.StringUnknown()}), types.ListValueMust(types.StringType, []attr.Value{types.StringUnknown()})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := SpreadUnknowns(c.v); !got.Equal(c.want) {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		})
	}
}

func TestWhatIsWrittenInBracketsIsOneSequence(t *testing.T) {
	t.Parallel()
	elements := []attr.Value{types.StringValue("a"), types.StringUnknown(), types.StringNull(), types.StringValue("b")}
	kinds := []attr.Type{types.StringType, types.StringType, types.StringType, types.StringType}
	for name, v := range map[string]attr.Value{
		"tuple": types.TupleValueMust(kinds, elements), "list": types.ListValueMust(types.StringType, elements), "set": types.SetValueMust(types.StringType, elements),
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := SequenceElements(v); !ok || len(got) != len(elements) {
				t.Errorf("%s: %v, %t", name, got, ok)
			}
		})
	}
	for name, v := range map[string]attr.Value{"nothing": nil, "text": types.StringValue("a"), "map": Map(map[string]string{"a": "b"})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, ok := SequenceElements(v); ok {
				t.Errorf("%s is %v", name, got)
			}
		})
	}
	if got := KnownTexts(types.ListValueMust(types.StringType, elements)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("known texts: %q", got)
	}
	if got := KnownTexts(types.SetNull(types.StringType)); got != nil {
		t.Errorf("a null set has %q", got)
	}
}

func TestValuesAreSpelledInAList(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]types.List{
		`["10.0.0.1","::1"]`: SpellList([]netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.IPv6Loopback()}), "[]": SpellList([]netip.Addr(nil)),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if got.String() != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}
