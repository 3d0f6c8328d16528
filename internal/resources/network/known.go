package network

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
)

// known says whether a value is known to its last part.
func known(ctx context.Context, v attr.Value) bool {
	tf, err := v.ToTerraformValue(ctx)
	return err == nil && tf.IsFullyKnown()
}
