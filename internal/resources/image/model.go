package image

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

type model struct {
	ID               types.String   `tfsdk:"id"`
	Name             types.String   `tfsdk:"name"`
	Hypervisor       types.String   `tfsdk:"hypervisor"`
	Pool             types.String   `tfsdk:"pool"`
	Source           types.String   `tfsdk:"source"`
	Checksum         types.String   `tfsdk:"checksum"`
	Format           types.String   `tfsdk:"format"`
	VirtualSizeBytes types.Int64    `tfsdk:"virtual_size_bytes"`
	SourceSHA256     types.String   `tfsdk:"source_sha256"`
	Timeouts         timeouts.Value `tfsdk:"timeouts"`

	// Upload and Sums are kept in private state.
	Upload *storage.UploadRecord `tfsdk:"-"`
	Sums   map[string]string     `tfsdk:"-"`
}

// toSpec converts the model.
func toSpec(_ context.Context, m *model) (storage.Image, diag.Diagnostics) {
	i := storage.Image{Upload: m.Upload, Sums: m.Sums}
	diags := convert.ToPlain(m, &i, func(...any) {})
	return i, diags
}

// fillModel writes what the hypervisor says into the model. Where the image comes from is the configuration's to say, but for an
// imported one.
func fillModel(_ context.Context, m *model, got storage.Image) diag.Diagnostics {
	was := *m
	convert.FromPlain(&got, m)
	if got.Sums == nil {
		m.Source, m.Checksum = was.Source, was.Checksum
		if m.Source.IsNull() {
			m.Source = types.StringValue(got.Path) // looked at, and its content not read: what an import has for its source
		}
	} else {
		m.Sums = got.Sums
	}
	if !was.SourceSHA256.IsUnknown() {
		m.SourceSHA256 = was.SourceSHA256
	}
	if got.Upload != nil {
		m.Upload = got.Upload
	}
	return nil
}

// What private state keeps, by its keys there.
const (
	uploadKey = "upload"
	importKey = "import"
)

// recallPrivate reads what private state keeps: nothing of an upload for an imported image, and no sums for any other.
func recallPrivate(ctx context.Context, private crud.PrivateState, m *model) diag.Diagnostics {
	var diags diag.Diagnostics
	for key, target := range map[string]any{uploadKey: &m.Upload, importKey: &m.Sums} {
		raw, d := private.GetKey(ctx, key)
		diags.Append(d...)
		if len(raw) == 0 {
			continue
		}
		if err := json.Unmarshal(raw, target); err != nil {
			diags.AddError("Unreadable private state", err.Error())
		}
	}
	return diags
}

// storePrivate writes what private state keeps.
func storePrivate(ctx context.Context, private crud.PrivateState, m *model) diag.Diagnostics {
	var diags diag.Diagnostics
	write := func(key string, value any, there bool) {
		if !there {
			return
		}
		raw, err := json.Marshal(value)
		if err != nil {
			diags.AddError("Cannot write private state", err.Error())
			return
		}
		diags.Append(private.SetKey(ctx, key, raw)...)
	}
	write(uploadKey, m.Upload, m.Upload != nil)
	write(importKey, m.Sums, m.Sums != nil)
	return diags
}
