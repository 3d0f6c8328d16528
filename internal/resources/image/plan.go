package image

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/poolattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage/upload"
)

// planChange says whether the image has to be uploaded anew, and checks a new one's source and pool.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	// It is computed for an imported image only; otherwise it is what the configuration says, be that nothing.
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("checksum"), &m.Checksum)...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("checksum"), m.Checksum)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if req.State.Raw.IsNull() {
		resp.Diagnostics.Append(checkSource(m, at.Fleet != nil && at.Fleet.Offline())...)
		_, diags := poolattr.CheckPool(ctx, at.ProviderData, m.Hypervisor, m.Pool)
		resp.Diagnostics.Append(diags...)
		return
	}
	prior := model{Upload: m.Upload, Sums: m.Sums}
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	prior.Upload, prior.Sums = m.Upload, m.Sums
	was, _ := toSpec(ctx, &prior)
	if was.IsImported() {
		keepImported(ctx, was, &prior, m, req, resp)
	}
	want, _ := toSpec(ctx, m)
	for _, change := range was.Compare(storage.Planned{Image: want, SourceUnknown: m.Source.IsUnknown(), ChecksumUnknown: m.Checksum.IsUnknown()}) {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root(change.Attribute))
		switch change.Attribute { // a computed attribute that is planned as unknown shows what makes it new
		case "virtual_size_bytes":
			resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(change.Attribute), types.Int64Unknown())...)
		case "source_sha256":
			resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(change.Attribute), types.StringUnknown())...)
		}
	}
}

// checkSource checks what can be known of a source before it is opened. Offline, no file is looked for.
func checkSource(m *model, offline bool) diag.Diagnostics {
	var diags diag.Diagnostics
	if m.Source.IsUnknown() {
		return diags
	}
	src, err := upload.ParseSource(m.Source.ValueString())
	if err != nil {
		diags.AddAttributeError(path.Root("source"), "Invalid image source", toSentence(err))
		return diags
	}
	if src.IsInsecure() && m.Checksum.IsNull() {
		diags.AddAttributeError(path.Root("source"), "Insecure image source", "Anyone on the way can change what comes over http: write https, or give a `checksum`.")
	}
	if src.IsLocal() && !offline {
		if _, err := src.Stat(); err != nil {
			diags.AddAttributeError(path.Root("source"), "Missing image file", toSentence(err)+" The path is on the machine that Terraform runs on; a relative one starts where Terraform was started, so write \"${path.module}/…\".")
		}
	}
	return diags
}

// keepImported plans no change of an imported image where the configuration only says where it comes from, and no
// checksum but the content's. Where something else changes, what it says is written down too.
func keepImported(ctx context.Context, was storage.Image, prior, planned *model, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	given := *planned
	planned.Source = prior.Source
	if given.Checksum.IsNull() || was.HasSum(given.Checksum.ValueString()) {
		planned.Checksum = prior.Checksum
	} else if was.Checksum != "" && !given.Checksum.IsUnknown() {
		resp.Diagnostics.AddAttributeWarning(path.Root("checksum"), "Not the checksum of the imported image", fmt.Sprintf(
			"What was imported as %q has %s. That is as it should be where the source is compressed, because the checksum is over the source as it is. Otherwise the image is another one than the source: `terraform apply -replace` uploads that.",
			volumePlace(prior).ImportID(), was.Checksum))
	}
	set := func() {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("source"), planned.Source)...)
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("checksum"), planned.Checksum)...)
	}
	if set(); !resp.Plan.Raw.Equal(req.State.Raw) {
		planned.Source, planned.Checksum = given.Source, given.Checksum
		set()
	}
}
