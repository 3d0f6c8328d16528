package numbertext

import (
	"bytes"
	"math"
	"math/big"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// onWire is a value as it goes to Terraform.
func onWire(t *testing.T, as tftypes.Type, v tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	d, err := tfprotov6.NewDynamicValue(as, v)
	if err != nil {
		t.Fatal(err)
	}
	return &d
}

func TestAValueWithItsNumbersAsTextsIsTheSame(t *testing.T) {
	inner := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"n": tftypes.Number, "text": tftypes.String, "flag": tftypes.Bool}}
	object := tftypes.NewValue(inner, map[string]tftypes.Value{
		"n": tftypes.NewValue(tftypes.Number, 7), "text": tftypes.NewValue(tftypes.String, "7"), "flag": tftypes.NewValue(tftypes.Bool, true),
	})
	many := make([]tftypes.Value, 70000) // more than the short forms of lists have room for
	for i := range many {
		many[i] = tftypes.NewValue(tftypes.Number, i-35000)
	}
	numbers := tftypes.List{ElementType: tftypes.Number}
	values := map[string]tftypes.Value{
		"null": tftypes.NewValue(tftypes.Number, nil), "unknown": tftypes.NewValue(tftypes.Number, tftypes.UnknownValue),
		"zero": tftypes.NewValue(tftypes.Number, 0), "negative": tftypes.NewValue(tftypes.Number, -1), "least": tftypes.NewValue(tftypes.Number, int64(math.MinInt64)),
		"bytes": tftypes.NewValue(tftypes.Number, int64(12638248960)), "most": tftypes.NewValue(tftypes.Number, new(big.Float).SetUint64(math.MaxUint64)),
		"half": tftypes.NewValue(tftypes.Number, 2.5),
		"many": tftypes.NewValue(numbers, many), "object": object,
		"map": tftypes.NewValue(tftypes.Map{ElementType: inner}, map[string]tftypes.Value{"a": object}), "dynamic": object, "nothing": tftypes.NewValue(tftypes.DynamicPseudoType, nil),
	}
	as := tftypes.Object{AttributeTypes: map[string]tftypes.Type{}}
	for name, v := range values {
		as.AttributeTypes[name] = v.Type()
	}
	as.AttributeTypes["dynamic"] = tftypes.DynamicPseudoType
	all := tftypes.NewValue(as, values)
	before := onWire(t, as, all)
	was := bytes.Clone(before.MsgPack)
	after, err := rewritten(before)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before.MsgPack, was) {
		t.Error("the value that was given is another one now")
	}
	got, err := after.Unmarshal(as)
	if err != nil {
		t.Fatal(err)
	}
	if diffs, err := all.Diff(got); err != nil || len(diffs) > 0 {
		t.Errorf("%v, %v", diffs, err)
	}
	again, err := rewritten(after)
	if err != nil || !bytes.Equal(again.MsgPack, after.MsgPack) {
		t.Errorf("something is left to be rewritten: %v", err)
	}
}

// What has no end in binary is written to state files as its shortest text, so that is what it is from then on.
func TestAFractionIsAsAStateFileHasIt(t *testing.T) {
	after, err := rewritten(onWire(t, tftypes.Number, tftypes.NewValue(tftypes.Number, 0.1)))
	if err != nil || string(after.MsgPack) != "\xa30.1" {
		t.Errorf("%q, %v", after.MsgPack, err)
	}
}

func TestWhatIsNoValueIsAnError(t *testing.T) {
	for _, bad := range [][]byte{{0x81}, {0x92, 1}, {0xcd, 1}, {0xa5, 'x'}} {
		if v, err := rewritten(&tfprotov6.DynamicValue{MsgPack: bad}); err == nil {
			t.Errorf("%x becomes %x", bad, v.MsgPack)
		}
	}
	for _, none := range []*tfprotov6.DynamicValue{nil, {}, {JSON: []byte("1")}} {
		if v, err := rewritten(none); v != none || err != nil {
			t.Errorf("%v, %v", v, err)
		}
	}
}
