package exposure

import "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"

// Uses implements plan.User: the address that it is to put on a device.
func (e Exposure) Uses() []plan.Use {
	if !e.ConfigureAddress || !e.Address.IsValid() {
		return nil
	}
	return []plan.Use{{Kind: plan.ExposureAddress, Value: e.Address.String(), Path: []any{"configure_address"}}}
}
