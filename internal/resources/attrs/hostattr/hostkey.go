package hostattr

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// HostKey accepts an SSH host key as a fingerprint or a public key.
type HostKey struct{ values.Undescribed }

// ValidateString implements validator.String.
func (HostKey) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if !convert.Known(req.ConfigValue) {
		return
	}
	if _, err := sshhost.WholePin(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid host key", err.Error())
	}
}
