package crud

import (
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// A state that an earlier version wrote may hold a timeout of nothing: a destroy with it must not fail.
func TestATimeoutOfNothingIsTheDefault(t *testing.T) {
	for text, want := range map[string]time.Duration{"0s": time.Hour, "-1s": time.Hour, "90s": 90 * time.Second} {
		of := map[string]attr.Type{"delete": types.StringType}
		v := timeouts.Value{Object: types.ObjectValueMust(of, map[string]attr.Value{"delete": types.StringValue(text)})}
		var diags diag.Diagnostics
		if got := Timeout(t.Context(), v, "delete", time.Hour, &diags); got != want || diags.HasError() {
			t.Errorf("%q is %s, %v, want %s", text, got, diags, want)
		}
	}
}
