package vip

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
)

// assignedKey is where private state keeps model.Assigned.
const assignedKey = "priorities"

func recallPrivate(ctx context.Context, private crud.PrivateState, m *model) diag.Diagnostics {
	content, diags := private.GetKey(ctx, assignedKey)
	if len(content) > 0 {
		if err := json.Unmarshal(content, &m.Assigned); err != nil {
			diags.AddError("Damaged state", "priorities: "+err.Error())
		}
	}
	return diags
}

func rememberAssigned(ctx context.Context, private crud.PrivateState, m *model) diag.Diagnostics {
	content, err := json.Marshal(m.Assigned)
	if err != nil || m.Assigned == nil {
		return nil
	}
	return private.SetKey(ctx, assignedKey, content)
}
