// Package image is virtcluster_image: a base image, streamed from a URL or a file into a storage pool.
package image

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/storagepool"
)

var (
	_ resource.ResourceWithConfigure   = (*imageResource)(nil)
	_ resource.ResourceWithImportState = (*imageResource)(nil)
	_ resource.ResourceWithIdentity    = (*imageResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*imageResource)(nil)
)

const (
	createTimeout = time.Hour
	deleteTimeout = 5 * time.Minute
)

type imageResource struct{ crud.Base }

// New makes the resource.
func New() resource.Resource {
	return &imageResource{crud.Base{Name: "image", Key: []string{"hypervisor", "pool", "name"}}}
}

func (r *imageResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = imageSchema(ctx)
}

func what(m *model) string {
	return fmt.Sprintf("image %q in storage pool %q", m.Name.ValueString(), m.Pool.ValueString())
}

func (r *imageResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, crud.Timeout(ctx, m.Timeouts, "create", createTimeout, &resp.Diagnostics))
	defer cancel()
	s, err := m.spec()
	var now record
	var c *hypervisor.Client
	if err == nil && s.source.url == nil {
		now, err = recordFile(s.source) // before it is read, so that a change meanwhile shows
	}
	if err == nil {
		c, err = r.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	}
	if err == nil {
		err = storagepool.Creating(r.Fleet, m.Hypervisor, m.Pool, m.Name)
	}
	var made result
	if err == nil {
		made, err = upload(ctx, c, s)
	}
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("create", what(&m), err))
		return
	}
	m.fill(made.volume)
	m.SourceSHA256 = types.StringNull()
	if sum := made.digests.SHA256(); sum != "" {
		m.SourceSHA256 = types.StringValue(sum)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	resp.Diagnostics.Append(r.Identify(ctx, resp.State, resp.Identity)...)
	now.Format, now.VirtualSize, now.CRC = made.volume.Format(), int64(made.volume.Capacity()), made.digests.Fast()
	resp.Diagnostics.Append(now.write(ctx, resp.Private)...)
	if made.takenOver {
		resp.Diagnostics.AddWarning("Took over "+what(&m), "A volume of that name with the very same content was in the pool already, as an interrupted apply leaves it. It is deleted when this resource is destroyed.")
	}
}

// recordFile remembers what a local source looks like.
func recordFile(src source) (record, error) {
	info, err := src.stat()
	if err != nil {
		return record{}, err
	}
	return record{Size: info.Size(), ModTime: info.ModTime().UnixNano()}, nil
}

func (r *imageResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	// A CLI without identities sends none, and the framework wants one even of what turns out to be gone.
	resp.Diagnostics.Append(r.Identify(ctx, req.State, resp.Identity)...)
	if resp.Diagnostics.HasError() || r.Fleet == nil {
		return
	}
	c, v := storagepool.Look(ctx, r.Fleet, what(&m), m.Hypervisor, m.Pool, m.Name, resp)
	if v == nil {
		return
	}
	m.fill(v)
	if m.Source.IsNull() { // just imported
		resp.Diagnostics.Append(takeStock(ctx, c, v, &m, resp.Private)...)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Update has nothing to do on the hypervisor: what is left to change says only where the same content comes from.
func (r *imageResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	resp.Diagnostics.Append(r.Identify(ctx, resp.State, resp.Identity)...)
	was, diags := readRecord(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	src, err := parseSource(m.Source.ValueString())
	if was == nil || err != nil {
		return
	}
	now := record{Format: was.Format, VirtualSize: was.VirtualSize}
	if src.url == nil {
		// The content is the uploaded one, so what the file is like stands for that from now on. A file that
		// cannot be read now leaves no record, and is then not compared.
		file, err := recordFile(src)
		if err == nil {
			file.CRC, err = fileCRC(src.file)
		}
		if err == nil {
			now.Size, now.ModTime, now.CRC = file.Size, file.ModTime, file.CRC
		}
	}
	resp.Diagnostics.Append(now.write(ctx, resp.Private)...)
}

func (r *imageResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, crud.Timeout(ctx, m.Timeouts, "delete", deleteTimeout, &resp.Diagnostics))
	defer cancel()
	c, err := r.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err == nil {
		err = c.DeleteVolume(ctx, m.Pool.ValueString(), m.Name.ValueString())
	}
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("delete", what(&m), err))
	}
}

// ImportState takes "pool/name", "hypervisor/pool/name", or the volume's path on the provider's own hypervisor.
func (r *imageResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	storagepool.ImportVolume(ctx, r.Fleet, req, resp)
}
