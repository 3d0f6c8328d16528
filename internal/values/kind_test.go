package values

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestKindsTakeWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of    Kind
		good  []string
		wrong []string
	}{
		{Free, []string{"", "a\nb"}, nil},
		{Text, []string{" ", "a\nb"}, []string{""}},
		{Line, []string{"a b"}, []string{"", " ", "a\nb", "a\x00"}},
		{Word, []string{"a-b"}, []string{"", "a b", "a\tb"}},
		{Name, []string{"a b"}, []string{"", " a", "a ", "a\n"}},
		{Path, []string{"/a b"}, []string{"", "a", "/a\n"}},
		{Address, []string{"10.0.0.1", "2001:DB8::1"}, []string{"", "10.0.0.1/24", "fe80::1%eth0", "010.0.0.1", "a"}},
		{Prefix, []string{"10.0.0.0/24", "::/0"}, []string{"", "10.0.0.1/24", "10.0.0.0", "10.0.0.0/33"}},
		{AddressInPrefix, []string{"10.0.0.1/24"}, []string{"", "10.0.0.1", "10.0.0.1/33", "fe80::1%eth0/64"}},
		{AddressOrPrefix, []string{"10.0.0.1/24", "10.0.0.1"}, []string{"", "10.0.0.1/33", "a"}},
		{UUID, []string{"c2177883-f1bb-47f0-914d-32a22e3a8804"}, []string{"", "abc", "C2177883-F1BB-47F0-914D-32A22E3A8804", "c2177883f1bb47f0914d32a22e3a8804", " c2177883-f1bb-47f0-914d-32a22e3a8804"}},
		{MAC, []string{"52:54:00:aa:6c:01", "52-54-00-AA-6C-01"}, []string{"", "52:54:00:aa:6c", "01:54:00:aa:6c:01", "00:00:00:00:00:00", "52:54:00:aa:6c:01:00:00"}},
		{Device, []string{"eth0", "kiextbr0", "eno1.10", "veth0@if2", "br-lan"}, []string{"", "a b", "a/b", "..", "-1", "\"", "%s", "a;", "é", "eth0:1", strings.Repeat("x", 16)}},
		{HostName, []string{"a", "a.example", "_etcd._tcp.a", "a."}, []string{"", "a..b", "-a", "a b", "é", strings.Repeat("x", 64)}},
		{Endpoint, []string{"ssh://root@10.0.0.1", "local:"}, []string{"", "10.0.0.1", "a\nb", "é"}},
		{OneOf("a", "b"), []string{"a"}, []string{"", "A", "c"}},
		{Duration(time.Second, time.Hour), []string{"1s", "60m"}, []string{"", "0s", "-1s", "61m", "5", "1d"}},
		{Line.OrEmpty(), []string{"", "a"}, []string{"a\nb"}},
	} {
		t.Run(fmt.Sprint(c.of), func(t *testing.T) {
			t.Parallel()
			for _, text := range c.good {
				if d := c.of.Check(path.Root("x"), types.StringValue(text)); d.HasError() {
					t.Errorf("%s: %q: %v", c.of.noun, text, d)
				}
			}
			for _, text := range c.wrong {
				if d := c.of.Check(path.Root("x"), types.StringValue(text)); !d.HasError() {
					t.Errorf("%s takes %q", c.of.noun, text)
				}
			}
			for _, v := range []types.String{types.StringNull(), types.StringUnknown()} {
				if d := c.of.Check(path.Root("x"), v); d.HasError() {
					t.Errorf("%s: %s: %v", c.of.noun, v, d)
				}
			}
		})
	}
}

func TestSpellingsOfOneMeaningAreTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   Kind
		a, b string
	}{
		{Address, "2001:db8::1", "2001:DB8:0::1"}, {MAC, "52:54:00:aa:6c:01", "52-54-00-AA-6C-01"}, {AddressInPrefix, "2001:db8::1/64", "2001:DB8:0::1/64"},
		{Duration(0, time.Hour), "1m", "60s"}, {HostName, "A.example", "a.example"},
	} {
		t.Run(c.a, func(t *testing.T) {
			t.Parallel()
			if c.of.Canonical(c.a) != c.of.Canonical(c.b) {
				t.Errorf("%s: %q and %q are not the same", c.of.noun, c.a, c.b)
			}
			if c.of.Canonical(c.a) == c.of.Canonical("x") {
				t.Errorf("%s: %q and \"x\" are the same", c.of.noun, c.a)
			}
		})
	}
}

func TestCollectionsSayWhatMayBeInThem(t *testing.T) {
	t.Parallel()
	texts := func(all ...attr.Value) types.List { return types.ListValueMust(types.StringType, all) }
	one, null := types.StringValue("2001:db8::1"), types.StringNull()
	for name, c := range map[string]struct {
		of    Collection
		v     attr.Value
		place string
	}{
		"null is left out":       {Each(Address).Some(), types.ListNull(types.StringType), ""},
		"unknown is not wrong":   {Each(Address).Some(), types.ListUnknown(types.StringType), ""},
		"good":                   {Each(Address).Distinct(), texts(one), ""},
		"unknown element":        {Each(Address), texts(types.StringUnknown()), ""},
		"null element":           {Each(Address), texts(one, null), "x[1]"},
		"empty text":             {Each(Address), texts(types.StringValue("")), "x[0]"},
		"empty":                  {Each(Address), texts(), ""},
		"empty, and must not be": {Each(Address).Some(), texts(), "x"},
		"twice":                  {Each(Address), texts(one, one), ""},
		"twice, and must not be": {Each(Address).Distinct(), texts(one, types.StringValue("2001:DB8::1")), "x[1]"},
		"null in a map":          {Each(Free), types.MapValueMust(types.StringType, map[string]attr.Value{"k": null}), `x["k"]`},
		"empty key":              {Each(Free).Keys(Word), types.MapValueMust(types.StringType, map[string]attr.Value{"": one}), `x[""]`},
		"null in a set":          {Each(Free), types.SetValueMust(types.StringType, []attr.Value{null}), `x[Value(<null>)]`},
		"null object":            {Objects(), types.ListValueMust(types.ObjectType{}, []attr.Value{types.ObjectNull(nil)}), "x[0]"},
		"deep":                   {Each(Each(Word)), types.MapValueMust(types.ListType{ElemType: types.StringType}, map[string]attr.Value{"k": texts(null)}), `x["k"][0]`},
	} {
		t.Run(name, func(t *testing.T) {
			diags := c.of.Check(path.Root("x"), c.v)
			if diags.HasError() != (c.place != "") {
				t.Fatalf("%v", diags)
			}
			if !diags.HasError() {
				return
			}
			if got := placeOf(diags[0]); got != c.place {
				t.Errorf("it is at %s, not %s", got, c.place)
			}
		})
	}
}

func placeOf(d any) string {
	if at, ok := d.(interface{ Path() path.Path }); ok {
		return at.Path().String()
	}
	return ""
}

func TestListsKeepTheSpellingOfTheState(t *testing.T) {
	t.Parallel()
	texts := func(all ...string) types.List {
		l, _ := types.ListValueFrom(t.Context(), types.StringType, all)
		return l
	}
	for name, c := range map[string]struct{ config, state, want types.List }{
		"another spelling": {texts("2001:DB8:0::1", "10.0.0.1"), texts("2001:db8::1", "10.0.0.1"), texts("2001:db8::1", "10.0.0.1")},
		"another address":  {texts("10.0.0.2"), texts("10.0.0.1"), texts("10.0.0.2")},
		"one more":         {texts("10.0.0.1", "10.0.0.2"), texts("10.0.0.1"), texts("10.0.0.1", "10.0.0.2")},
		"new":              {texts("10.0.0.1"), types.ListNull(types.StringType), texts("10.0.0.1")},
	} {
		t.Run(name, func(t *testing.T) {
			resp := planmodifier.ListResponse{PlanValue: c.config}
			Each(Address).KeepSpelling().PlanModifyList(t.Context(), planmodifier.ListRequest{ConfigValue: c.config, PlanValue: c.config, StateValue: c.state}, &resp)
			if !resp.PlanValue.Equal(c.want) {
				t.Errorf("%s: %s, want %s", name, resp.PlanValue, c.want)
			}
		})
	}
}

func TestNumbersHaveBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of    Number
		v     attr.Value
		wrong bool
	}{
		{Port(), types.Int64Value(0), true}, {Port(), types.Int64Value(65535), false}, {Port(), types.Int64Value(65536), true},
		{MiB(16), types.Int64Value(MostMiB), false}, {MiB(16), types.Int64Value(MostMiB + 1), true}, {MiB(16), types.Int64Value(math.MaxInt64), true},
		{Seconds(120).OrZero(), types.Int64Value(0), false}, {Seconds(120).OrZero(), types.Int64Value(1), true}, {Seconds(1), types.Int64Null(), false},
		{Between(0, 255), types.Float64Value(0.5), false}, {Between(0, 255), types.Float64Value(255.5), true}, {Between(0, 255), types.Float64Unknown(), false},
	} {
		t.Run(fmt.Sprint(c.of), func(t *testing.T) {
			t.Parallel()
			if got := c.of.Check(path.Root("x"), c.v).HasError(); got != c.wrong {
				t.Errorf("%s: %s: refused is %v", c.of.describeBounds(), c.v, got)
			}
		})
	}
}

func TestMessagesNameThePlaceInAnAttribute(t *testing.T) {
	t.Parallel()
	services := path.Root("services")
	for want, at := range map[string]path.Path{
		"wrong":                       services,
		"services: wrong":             services.AtSetValue(types.StringNull()),
		"services[1]: wrong":          services.AtListIndex(1),
		"binds: wrong":                path.Root("binds").AtSetValue(types.StringValue("a")).AtName("port"),
		`records["a"]["A"][0]: wrong`: path.Root("records").AtMapKey("a").AtMapKey("A").AtListIndex(0),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if got := DetailAt(at, "wrong"); got != want {
				t.Errorf("%s: %q, want %q", at, got, want)
			}
		})
	}
}
