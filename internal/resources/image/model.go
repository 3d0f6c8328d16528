package image

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
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
}

// spec converts the model.
func (m *model) spec() (spec, error) {
	src, err := parseSource(m.Source.ValueString())
	if err != nil {
		return spec{}, err
	}
	sum, err := parseChecksum(m.Checksum.ValueString())
	if err != nil {
		return spec{}, err
	}
	return spec{pool: m.Pool.ValueString(), name: m.Name.ValueString(), source: src, checksum: sum, format: m.Format.ValueString()}, nil
}

// fill writes what the hypervisor says into the model.
func (m *model) fill(v *hypervisor.Volume) {
	m.ID = types.StringValue(v.Path())
	m.Name = types.StringValue(v.Name())
	m.Pool = types.StringValue(v.Pool)
	m.Format = types.StringValue(v.Format())
	m.VirtualSizeBytes = types.Int64Value(int64(v.Capacity()))
}

// record is what private state remembers of an upload, to see at plan what happened since.
type record struct {
	// Format and VirtualSize of the volume as it was uploaded.
	Format      string `json:"format"`
	VirtualSize int64  `json:"virtual_size"`
	// Size and ModTime (Unix nanoseconds) of a local source when it was read, ModTime 0 for a URL, and
	// its CRC-32C.
	Size    int64  `json:"size"`
	ModTime int64  `json:"mod_time"`
	CRC     uint32 `json:"crc32c"`
}

const recordKey = "upload"

type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// readRecord is nil where nothing is recorded, as for an imported image.
func readRecord(ctx context.Context, private privateReader) (*record, diag.Diagnostics) {
	raw, diags := private.GetKey(ctx, recordKey)
	if diags.HasError() || len(raw) == 0 {
		return nil, diags
	}
	r := &record{}
	if err := json.Unmarshal(raw, r); err != nil {
		diags.AddError("Unreadable private state", err.Error())
		return nil, diags
	}
	return r, diags
}

func (r record) write(ctx context.Context, private privateWriter) diag.Diagnostics {
	raw, err := json.Marshal(r)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("Cannot write private state", err.Error())}
	}
	return private.SetKey(ctx, recordKey, raw)
}
