package values

import (
	"context"
	"fmt"
	"math"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Number is a number within bounds, which are in it.
type Number struct {
	least, most int64
	unit        string
	zero        bool
}

// Bounds that several attributes have.
const (
	// MostMiB is the largest size whose bytes an int64 holds.
	MostMiB = math.MaxInt64 >> 20
	// MostPort is the highest TCP port.
	MostPort = 65535
)

// Between is a number within bounds.
func Between(least, most int64) Number { return Number{least: least, most: most} }

// MiB is a size in MiB.
func MiB(least int64) Number { return Number{least: least, most: MostMiB, unit: " MiB"} }

// Port is a TCP port.
func Port() Number { return Between(1, MostPort) }

// Seconds are as many as the daemons' own 32 bits hold.
func Seconds(least int64) Number { return Number{least: least, most: math.MaxInt32, unit: " seconds"} }

// OrZero takes 0 too, which is outside of the bounds and has a meaning of its own.
func (n Number) OrZero() Number {
	n.zero = true
	return n
}

// Check implements Rule.
func (n Number) Check(at path.Path, v attr.Value) diag.Diagnostics {
	var diags diag.Diagnostics
	if v.IsNull() || v.IsUnknown() {
		return nil
	}
	var out bool
	switch v := v.(type) {
	case types.Int64:
		i := v.ValueInt64()
		out = (i < n.least || i > n.most) && !(n.zero && i == 0)
	case types.Float64:
		f := v.ValueFloat64()
		out = f < float64(n.least) || f > float64(n.most)
	}
	if out {
		diags.AddAttributeError(at, "Number out of bounds", DetailAt(at, fmt.Sprintf("write %s, not %s", n.describeBounds(), v)))
	}
	return diags
}

func (n Number) describeBounds() string {
	text := fmt.Sprintf("a number from %d to %d%s", n.least, n.most, n.unit)
	if n.zero {
		text = "0 or " + text
	}
	return text
}

// Description implements validator.Describer.
func (n Number) Description(context.Context) string { return n.describeBounds() }

// MarkdownDescription implements validator.Describer.
func (n Number) MarkdownDescription(context.Context) string { return n.describeBounds() }

// ValidateInt64 implements validator.Int64.
func (n Number) ValidateInt64(_ context.Context, req validator.Int64Request, resp *validator.Int64Response) {
	resp.Diagnostics.Append(n.Check(req.Path, req.ConfigValue)...)
}

// ValidateFloat64 implements validator.Float64.
func (n Number) ValidateFloat64(_ context.Context, req validator.Float64Request, resp *validator.Float64Response) {
	resp.Diagnostics.Append(n.Check(req.Path, req.ConfigValue)...)
}
