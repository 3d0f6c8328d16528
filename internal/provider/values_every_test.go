package provider

import (
	"context"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// may is what an attribute takes although others do not, as its rule says.
type may struct{ beEmpty, beZero, haveEmptyElements bool }

// mays are those of all attributes, by their paths.
func mays(t *testing.T) map[string]may {
	t.Helper()
	all := map[string]may{}
	eachAttribute(t, func(path string, a reflect.Value) {
		validators := a.FieldByName("Validators")
		for i := range lengthOf(validators) {
			switch rule := validators.Index(i).Elem().Interface().(type) {
			case values.Kind:
				all[path] = may{beEmpty: rule.TakesEmpty(), beZero: rule.TakesZero()}
			case values.Collection:
				all[path] = may{haveEmptyElements: rule.TakesEmptyElements()}
			}
		}
	})
	return all
}

func lengthOf(list reflect.Value) int {
	if !list.IsValid() {
		return 0
	}
	return list.Len()
}

// check asks the provider whether a configuration of something is valid.
type check func(t *testing.T, config *tfprotov6.DynamicValue) []*tfprotov6.Diagnostic

// Null elements, empty texts, numbers that overflow and timeouts of nothing are refused at their place before anything is planned, in
// every attribute that a configuration sets, and in what is in it. Only a rule that says so takes the empty text or no time: there is no
// list of exceptions.
func TestEveryAttributeRefusesNullElementsEmptyTextsOverflowsAndNoTime(t *testing.T) {
	t.Parallel()
	server := Server("test")
	all, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	w := wrongs{mays: mays(t)}
	for kind, s := range all.ResourceSchemas {
		w.of(t, kind, s, func(t *testing.T, config *tfprotov6.DynamicValue) []*tfprotov6.Diagnostic {
			t.Helper()
			resp, err := server.ValidateResourceConfig(context.Background(), &tfprotov6.ValidateResourceConfigRequest{
				TypeName: kind, Config: config, ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true},
			})
			if err != nil {
				t.Fatal(err)
			}
			return resp.Diagnostics
		})
	}
	for kind, s := range all.ActionSchemas {
		w.of(t, "action "+kind, s.Schema, func(t *testing.T, config *tfprotov6.DynamicValue) []*tfprotov6.Diagnostic {
			t.Helper()
			resp, err := server.(tfprotov6.ActionServer).ValidateActionConfig(context.Background(), &tfprotov6.ValidateActionConfigRequest{ActionType: kind, Config: config})
			if err != nil {
				t.Fatal(err)
			}
			return resp.Diagnostics
		})
	}
	for kind, s := range all.EphemeralResourceSchemas {
		w.of(t, "ephemeral "+kind, s, func(t *testing.T, config *tfprotov6.DynamicValue) []*tfprotov6.Diagnostic {
			t.Helper()
			resp, err := server.ValidateEphemeralResourceConfig(context.Background(), &tfprotov6.ValidateEphemeralResourceConfigRequest{TypeName: kind, Config: config})
			if err != nil {
				t.Fatal(err)
			}
			return resp.Diagnostics
		})
	}
	for kind, s := range all.DataSourceSchemas {
		w.of(t, "data "+kind, s, func(t *testing.T, config *tfprotov6.DynamicValue) []*tfprotov6.Diagnostic {
			t.Helper()
			resp, err := server.ValidateDataResourceConfig(context.Background(), &tfprotov6.ValidateDataResourceConfigRequest{TypeName: kind, Config: config})
			if err != nil {
				t.Fatal(err)
			}
			return resp.Diagnostics
		})
	}
	w.of(t, "provider", all.Provider, func(t *testing.T, config *tfprotov6.DynamicValue) []*tfprotov6.Diagnostic {
		t.Helper()
		resp, err := server.ValidateProviderConfig(context.Background(), &tfprotov6.ValidateProviderConfigRequest{Config: config})
		if err != nil {
			t.Fatal(err)
		}
		return resp.Diagnostics
	})
	if w.tried < 700 {
		t.Errorf("only %d values were tried", w.tried)
	}
}

// anyKey stands for a key of a map, and keys are those that are tried: some maps are by MAC address, and some by address.
const anyKey = "k"

var keys = []string{anyKey, "52:54:00:aa:6c:01", "192.0.2.1"}

// wrongs tries what no attribute takes.
type wrongs struct {
	mays  map[string]may
	tried int
}

func (w *wrongs) of(t *testing.T, kind string, s *tfprotov6.Schema, ask check) {
	t.Helper()
	whole := s.ValueType()
	w.attributes(kind, s.Block.Attributes, tftypes.NewAttributePath(), func(at *tftypes.AttributePath, v tftypes.Value) {
		w.tried++
		for _, key := range keys {
			config, err := tfprotov6.NewDynamicValue(whole, with(whole, at.Steps(), key, v))
			if err != nil {
				t.Fatal(err)
			}
			place := strings.ReplaceAll(at.String(), `"`+anyKey+`"`, `"`+key+`"`)
			for _, d := range ask(t, &config) {
				if d.Severity != tfprotov6.DiagnosticSeverityError || d.Attribute == nil {
					continue
				}
				// The framework refuses a number that no int64 holds at the outermost attribute, before any validator sees it.
				unread := strings.Contains(d.Detail, "cannot be represented as a 64-bit integer") && d.Attribute.Steps()[0].Equal(at.Steps()[0])
				if unread || strings.HasPrefix(d.Attribute.String(), place) {
					return
				}
			}
		}
		t.Errorf("%s takes %s at %s", kind, v, at)
	})
}

// attributes visits what is wrong in each of some attributes, and in those that are nested in it.
func (w *wrongs) attributes(above string, all []*tfprotov6.SchemaAttribute, at *tftypes.AttributePath, visit func(*tftypes.AttributePath, tftypes.Value)) {
	for _, a := range all {
		if !a.Optional && !a.Required {
			continue
		}
		path, here := above+"."+a.Name, at.WithAttributeName(a.Name)
		if a.NestedType == nil {
			for _, v := range w.wrong(path, a.Type, w.mays[path].beEmpty) {
				visit(here, v)
			}
			continue
		}
		switch of := a.ValueType().(type) {
		case tftypes.List:
			visit(here, tftypes.NewValue(of, []tftypes.Value{tftypes.NewValue(of.ElementType, nil)}))
			here = here.WithElementKeyInt(0)
		case tftypes.Map:
			visit(here, tftypes.NewValue(of, map[string]tftypes.Value{"k": tftypes.NewValue(of.ElementType, nil)}))
			here = here.WithElementKeyString(anyKey)
		}
		w.attributes(path, a.NestedType.Attributes, here, visit)
	}
}

// wrong are values of a type that no attribute takes, and those with one of them as an element.
func (w *wrongs) wrong(path string, of tftypes.Type, mayBeEmpty bool) []tftypes.Value {
	var all []tftypes.Value
	text := func(v string) { all = append(all, tftypes.NewValue(tftypes.String, v)) }
	switch {
	case of.Is(tftypes.String):
		if !mayBeEmpty {
			text("")
		}
		if _, name, _ := strings.Cut(path, "."); strings.Contains(name, "timeout") {
			text("-1s")
			if !w.mays[path].beZero {
				text("0s")
				text("0")
			}
		}
	case of.Is(tftypes.Number):
		for _, n := range []*big.Float{big.NewFloat(1e30), big.NewFloat(-1e30), new(big.Float).SetInt64(math.MaxInt64), new(big.Float).SetInt64(math.MinInt64)} {
			all = append(all, tftypes.NewValue(tftypes.Number, n))
		}
	case of.Is(tftypes.DynamicPseudoType):
		none := tftypes.NewValue(tftypes.String, nil)
		for _, e := range []tftypes.Value{none, tftypes.NewValue(tftypes.String, "")} {
			all = append(all, tftypes.NewValue(tftypes.Tuple{ElementTypes: []tftypes.Type{tftypes.String}}, []tftypes.Value{e}),
				object(map[string]tftypes.Value{"k": e}))
		}
		text("")
	default:
		all = w.elements(path, of)
	}
	return all
}

func object(of map[string]tftypes.Value) tftypes.Value {
	kinds := map[string]tftypes.Type{}
	for name, v := range of {
		kinds[name] = v.Type()
	}
	return tftypes.NewValue(tftypes.Object{AttributeTypes: kinds}, of)
}

func (w *wrongs) elements(path string, of tftypes.Type) []tftypes.Value {
	var all []tftypes.Value
	each := func(of tftypes.Type, wrap func(tftypes.Value) tftypes.Value) {
		all = append(all, wrap(tftypes.NewValue(of, nil)))
		for _, v := range w.wrong(path, of, w.mays[path].haveEmptyElements) {
			all = append(all, wrap(v))
		}
	}
	switch of := of.(type) {
	case tftypes.List:
		each(of.ElementType, func(v tftypes.Value) tftypes.Value { return tftypes.NewValue(of, []tftypes.Value{v}) })
	case tftypes.Set:
		each(of.ElementType, func(v tftypes.Value) tftypes.Value { return tftypes.NewValue(of, []tftypes.Value{v}) })
	case tftypes.Map:
		each(of.ElementType, func(v tftypes.Value) tftypes.Value { return tftypes.NewValue(of, map[string]tftypes.Value{"k": v}) })
	}
	return all
}

// with is a value of a type with nothing in it but what is at a path.
func with(of tftypes.Type, path []tftypes.AttributePathStep, key string, v tftypes.Value) tftypes.Value {
	if len(path) == 0 {
		return v
	}
	switch of := of.(type) {
	case tftypes.Object:
		all := map[string]tftypes.Value{}
		for name, t := range of.AttributeTypes {
			all[name] = tftypes.NewValue(t, nil)
		}
		name := string(path[0].(tftypes.AttributeName))
		all[name] = with(of.AttributeTypes[name], path[1:], key, v)
		return tftypes.NewValue(of, all)
	case tftypes.List:
		return tftypes.NewValue(of, []tftypes.Value{with(of.ElementType, path[1:], key, v)})
	case tftypes.Map:
		return tftypes.NewValue(of, map[string]tftypes.Value{key: with(of.ElementType, path[1:], key, v)})
	}
	panic("no attribute has a " + of.String() + " of attributes")
}
