package largemap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"pgregory.net/rapid"
)

var (
	list = tftypes.List{ElementType: tftypes.String}
	sets = tftypes.Map{ElementType: list}
	all  = tftypes.Map{ElementType: sets}
	// seen is the object as Terraform has it, hidden as the framework has it.
	seen   = object(all)
	hidden = object(tftypes.String)
	own    = names{"records": true}
)

func object(records tftypes.Type) tftypes.Object {
	return tftypes.Object{AttributeTypes: map[string]tftypes.Type{"name": tftypes.String, "records": records, "ttl": tftypes.Number}}
}

func wire(t rapid.TB, of tftypes.Object, records tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	v, err := tfprotov6.NewDynamicValue(of, tftypes.NewValue(of, map[string]tftypes.Value{
		"name": tftypes.NewValue(tftypes.String, tftypes.UnknownValue), "records": records, "ttl": tftypes.NewValue(tftypes.Number, 300),
	}))
	if err != nil {
		t.Fatal(err)
	}
	return &v
}

func unmarshal(t rapid.TB, v *tfprotov6.DynamicValue, as tftypes.Type) tftypes.Value {
	t.Helper()
	got, err := v.Unmarshal(as)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func text(s any) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }

func values(v ...tftypes.Value) tftypes.Value { return tftypes.NewValue(list, v) }

func records(set tftypes.Value) tftypes.Value {
	return tftypes.NewValue(all, map[string]tftypes.Value{"api": tftypes.NewValue(sets, map[string]tftypes.Value{"A": set})})
}

func TestTheFrameworkSeesText(t *testing.T) {
	many := make([]tftypes.Value, 70000) // beyond 16 bits of length
	for i := range many {
		many[i] = text(fmt.Sprint(i))
	}
	for name, c := range map[string]struct {
		records tftypes.Value
		text    any // nil where it does not matter
	}{
		"values":         {records(values(text("10.0.0.1"), text("10.0.0.2"))), `{"api":{"A":["10.0.0.1","10.0.0.2"]}}`},
		"other alphabet": {records(values(text("<ü> & \"\\\n\x00"))), `{"api":{"A":["<ü> & \"\\\n\u0000"]}}`},
		"empty":          {tftypes.NewValue(all, map[string]tftypes.Value{}), `{}`},
		"empty list":     {records(values()), `{"api":{"A":[]}}`},
		"null inside":    {records(values(text(nil))), `{"api":{"A":[null]}}`},
		"null list":      {records(tftypes.NewValue(list, nil)), `{"api":{"A":null}}`},
		"unknown value":  {records(values(text("a"), text(tftypes.UnknownValue))), `{"api":{"A":["a",false]}}`},
		"unknown list":   {records(tftypes.NewValue(list, tftypes.UnknownValue)), `{"api":{"A":false}}`},
		"many":           {records(values(many...)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			sent := wire(t, seen, c.records)
			packed, err := own.packObject(sent)
			if err != nil {
				t.Fatal(err)
			}
			if got := unmarshal(t, packed, hidden); c.text != nil && !got.Equal(unmarshal(t, wire(t, hidden, text(c.text)), hidden)) {
				t.Errorf("the framework sees %s, want %s", got, c.text)
			}
			back, err := own.unpackObject(packed)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := unmarshal(t, back, seen), unmarshal(t, sent, seen); !got.Equal(want) {
				t.Errorf("Terraform gets back %s, want %s", got, want)
			}
		})
	}
}

func TestNullAndUnknownStayWhatTheyAre(t *testing.T) {
	for name, c := range map[string]struct{ records, text tftypes.Value }{
		"null":    {tftypes.NewValue(all, nil), text(nil)},
		"unknown": {tftypes.NewValue(all, tftypes.UnknownValue), text(tftypes.UnknownValue)},
	} {
		packed, err := own.packObject(wire(t, seen, c.records))
		if err != nil {
			t.Fatal(err)
		}
		if got := unmarshal(t, packed, hidden); !got.Equal(unmarshal(t, wire(t, hidden, c.text), hidden)) {
			t.Errorf("%s: the framework sees %s", name, got)
		}
	}
	// Terraform may say more of an unknown map, here that it is not null, which no text has a place for.
	sent, plain, refined := wire(t, seen, tftypes.NewValue(all, tftypes.UnknownValue)), "records\xd4\x00\x00", "records\xc7\x03\x0c\x81\x01\xc2"
	if sent.MsgPack = bytes.Replace(sent.MsgPack, []byte(plain), []byte(refined), 1); !bytes.Contains(sent.MsgPack, []byte(refined)) {
		t.Fatal("nothing is refined")
	}
	if packed, err := own.packObject(sent); err != nil || !bytes.Contains(packed.MsgPack, []byte(plain)) {
		t.Errorf("refined unknown: the framework sees %x, %v", packed.MsgPack, err)
	}
	for _, whole := range []any{nil, tftypes.UnknownValue} {
		v, err := tfprotov6.NewDynamicValue(seen, tftypes.NewValue(seen, whole))
		if err != nil {
			t.Fatal(err)
		}
		if packed, err := own.packObject(&v); err != nil || string(packed.MsgPack) != string(v.MsgPack) {
			t.Errorf("the object %v becomes %x, %v", whole, packed.MsgPack, err)
		}
	}
}

func TestAnythingComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		element := rapid.OneOf(rapid.Map(rapid.String(), func(s string) any { return s }), rapid.Just[any](nil), rapid.Just[any](tftypes.UnknownValue))
		content := map[string]tftypes.Value{}
		for _, owner := range rapid.SliceOfN(rapid.String(), 0, 40).Draw(t, "owners") {
			drawn := rapid.SliceOfN(element, 0, 40).Draw(t, "values")
			of := make([]tftypes.Value, len(drawn))
			for i, e := range drawn {
				of[i] = text(e)
			}
			content[owner] = tftypes.NewValue(sets, map[string]tftypes.Value{"TXT": values(of...)})
		}
		sent := wire(t, seen, tftypes.NewValue(all, content))
		packed, err := own.packObject(sent)
		if err != nil {
			t.Fatal(err)
		}
		back, err := own.unpackObject(packed)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := unmarshal(t, back, seen), unmarshal(t, sent, seen); !got.Equal(want) {
			t.Errorf("%s became %s", want, got)
		}
	})
}

// The framework compares texts, so what it reads from a stored state must be the text that it planned.
func TestAStoredStateIsTheSameText(t *testing.T) {
	packed, err := own.packState(&tfprotov6.RawState{JSON: []byte(`{"name": "x", "records": {"b": {"TXT": ["<&>"]}, "a": {"A": []}}, "ttl": 300}`)})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(packed.JSON, &got); err != nil {
		t.Fatal(err)
	}
	want := Pack(map[string]any{"a": map[string]any{"A": []any{}}, "b": map[string]any{"TXT": []any{"<&>"}}}).ValueString()
	if got["records"] != want || got["name"] != "x" || got["ttl"] != 300.0 {
		t.Errorf("got %v, want records %s", got, want)
	}
	for _, untouched := range []string{`{"name":"x","records":null}`, `{"name":"x"}`} {
		packed, err := own.packState(&tfprotov6.RawState{JSON: []byte(untouched)})
		if err != nil || string(packed.JSON) != untouched {
			t.Errorf("%s became %s, %v", untouched, packed.JSON, err)
		}
	}
}

func TestWhatIsNotStringsIsRefused(t *testing.T) {
	of := object(tftypes.Map{ElementType: tftypes.Number})
	sent := wire(t, of, tftypes.NewValue(of.AttributeTypes["records"], map[string]tftypes.Value{"a": tftypes.NewValue(tftypes.Number, 1)}))
	if packed, err := own.packObject(sent); err == nil {
		t.Errorf("a number became %x", packed.MsgPack)
	}
	for _, state := range []string{`{"records": {"a": 1}}`, `{"records": {"a": true}}`, `{"records": `} {
		if _, err := own.packState(&tfprotov6.RawState{JSON: []byte(state)}); err == nil {
			t.Errorf("%s is taken", state)
		}
	}
}

func TestKnownAt(t *testing.T) {
	v := Pack(map[string]any{
		"known":   map[string]any{"A": []any{"10.0.0.1", nil}},
		"partly":  map[string]any{"A": []any{"10.0.0.1", Unknown{}}, "TXT": []any{"x"}},
		"unknown": Unknown{},
	})
	for _, c := range []struct {
		steps []any
		known bool
	}{
		{nil, false},
		{[]any{"known"}, true},
		{[]any{"known", "A", 1}, true},
		{[]any{"partly"}, false},
		{[]any{"partly", "TXT"}, true},
		{[]any{"partly", "A", 0}, true},
		{[]any{"partly", "A", 1}, false},
		{[]any{"partly", "A", 7}, false},
		{[]any{"unknown", "A"}, false},
		{[]any{"missing"}, false},
	} {
		if got := v.KnownAt(c.steps...); got != c.known {
			t.Errorf("%v: known is %v", c.steps, got)
		}
	}
	if !Pack(nil).KnownAt() || Pack(Unknown{}).KnownAt() {
		t.Error("null is known, unknown is not")
	}
}
