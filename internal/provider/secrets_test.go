package provider

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// No rule of a sensitive attribute repeats what it refuses: Terraform shows the details of diagnostics as they are.
func TestNoRuleRepeatsASecret(t *testing.T) {
	t.Parallel()
	rules := 0
	eachAttribute(t, func(at string, a reflect.Value) {
		if sensitive := a.FieldByName("Sensitive"); !sensitive.IsValid() || !sensitive.Bool() {
			return
		}
		validators := a.FieldByName("Validators")
		for i := range lengthOf(validators) {
			rule, is := validators.Index(i).Elem().Interface().(values.Kind)
			if !is {
				continue
			}
			rules++
			for _, secret := range []string{"hunter2\n", "hunter2\x00", "hunter2", "{\"hunter2\"", "variant: hunter2\n\t\thunter2", "{\"ignition\": {\"version\": \"hunter2\"}}"} {
				t.Run(at+" "+secret, func(t *testing.T) {
					for _, d := range rule.Check(path.Root("x"), types.StringValue(secret)) {
						if strings.Contains(d.Summary()+d.Detail(), "hunter2") {
							t.Errorf("%s: %s", d.Summary(), d.Detail())
						}
					}
				})
			}
		}
	})
	if rules < 6 {
		t.Errorf("only %d rules were asked", rules)
	}
}
