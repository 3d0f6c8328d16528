package crud

import (
	"bytes"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflogtest"
)

// A state that an earlier version wrote may hold a timeout of nothing: a destroy with it must not fail.
func TestATimeoutOfNothingIsTheDefault(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"0s": time.Hour, "-1s": time.Hour, "90s": 90 * time.Second} {
		t.Run(text, func(t *testing.T) {
			of := map[string]attr.Type{"delete": types.StringType}
			v := timeouts.Value{Object: types.ObjectValueMust(of, map[string]attr.Value{"delete": types.StringValue(text)})}
			var diags diag.Diagnostics
			if got := Timeout(t.Context(), v, "delete", time.Hour, &diags); got != want || diags.HasError() {
				t.Errorf("%q is %s, %v, want %s", text, got, diags, want)
			}
		})
	}
}

func TestATimeoutThatNobodyWroteIsTheDefaultWithoutALineInTheLog(t *testing.T) {
	t.Parallel()
	of := map[string]attr.Type{"delete": types.StringType}
	for name, v := range map[string]timeouts.Value{
		"null": {Object: types.ObjectNull(of)}, "a null of it": {Object: types.ObjectValueMust(of, map[string]attr.Value{"delete": types.StringNull()})},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			var diags diag.Diagnostics
			if got := Timeout(tflogtest.RootLogger(t.Context(), &log), v, "delete", time.Hour, &diags); got != time.Hour || log.Len() > 0 || diags.HasError() {
				t.Errorf("%s: %s, %v, %s", name, got, diags, log.String())
			}
		})
	}
}
