package largemap

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// others are the calls whose values are no resource's state, plan or configuration, and pass as they are.
var others = []string{
	"ValidateProviderConfig", "ConfigureProvider", // the provider's configuration
	"ValidateDataResourceConfig", "ReadDataSource", // a data source's
	"ValidateEphemeralResourceConfig", "OpenEphemeralResource", // an ephemeral resource's
	"CallFunction",            // arguments and result
	"UpgradeResourceIdentity", // identities have no large maps
}

// A call of the protocol that carries values and that nobody thought of would show the framework's text to Terraform, or
// Terraform's map to the framework.
func TestEveryCallThatCarriesStateIsRewritten(t *testing.T) {
	protocol := reflect.TypeFor[tfprotov6.ProviderServer]()
	wrapper := reflect.TypeFor[*server]()
	for i := range protocol.NumMethod() {
		call := protocol.Method(i)
		own, ok := wrapper.MethodByName(call.Name)
		if !ok {
			t.Fatalf("the server has no %s", call.Name)
		}
		// A method that is promoted from the embedded server is the compiler's, and in no file.
		file, _ := runtime.FuncForPC(own.Func.Pointer()).FileLine(own.Func.Pointer())
		rewritten := strings.HasSuffix(file, ".go")
		values, listed := carriesValues(call.Type, map[reflect.Type]bool{}), slices.Contains(others, call.Name)
		if values && !rewritten && !listed {
			t.Errorf("%s carries values and is not rewritten: do that in server.go, or list it in others with a reason", call.Name)
		}
		if listed && (rewritten || !values) {
			t.Errorf("%s is listed in others, and is rewritten or carries no values", call.Name)
		}
	}
	for _, name := range others {
		t.Run(name, func(t *testing.T) {
			if _, ok := protocol.MethodByName(name); !ok {
				t.Errorf("the protocol has no %s", name)
			}
		})
	}
}

// Calls that are not in ProviderServer come by further interfaces, which the framework's server may have and ours must not
// have unseen.
func TestNoFurtherCallsAreOffered(t *testing.T) {
	var wrapped any = Server(nil, nil)
	if _, ok := wrapped.(tfprotov6.ListResourceServer); ok {
		t.Error("lists of resources carry their states: rewrite ListResource")
	}
	if _, ok := wrapped.(tfprotov6.ActionServer); ok {
		t.Error("look at what actions carry of resources")
	}
	if _, ok := wrapped.(tfprotov6.StateStoreServer); ok {
		t.Error("look at what state stores carry of resources")
	}
}

// carriesValues says whether a value or a stored state is in a type or below it.
func carriesValues(of reflect.Type, seen map[reflect.Type]bool) bool {
	if of == reflect.TypeFor[tfprotov6.DynamicValue]() || of == reflect.TypeFor[tfprotov6.RawState]() {
		return true
	}
	if seen[of] {
		return false
	}
	seen[of] = true
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return carriesValues(of.Elem(), seen)
	case reflect.Map:
		return carriesValues(of.Key(), seen) || carriesValues(of.Elem(), seen)
	case reflect.Struct:
		return slices.ContainsFunc(reflect.VisibleFields(of), func(f reflect.StructField) bool { return carriesValues(f.Type, seen) })
	case reflect.Func:
		for i := range of.NumIn() {
			if carriesValues(of.In(i), seen) {
				return true
			}
		}
		for i := range of.NumOut() {
			if carriesValues(of.Out(i), seen) {
				return true
			}
		}
	}
	return false
}
