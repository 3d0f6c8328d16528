package image

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/storagepool"
)

func (r *imageResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	// It is computed for an imported image only; otherwise it is what the configuration says, be that nothing.
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("checksum"), &m.Checksum)...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("checksum"), m.Checksum)...)
	if resp.Diagnostics.HasError() {
		return
	}
	owner := fmt.Sprintf("image %q from %s", m.Name.ValueString(), m.Source.ValueString())
	resp.Diagnostics.Append(storagepool.Claim(r.Fleet, owner, m.Hypervisor, m.Pool, m.Name)...)
	if req.State.Raw.IsNull() {
		resp.Diagnostics.Append(checkSource(&m)...)
		_, diags := storagepool.Planned(ctx, r.Fleet, path.Root("pool"), m.Hypervisor, m.Pool)
		resp.Diagnostics.Append(diags...)
		return
	}
	var prior model
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if prior.imported() {
		keepImported(ctx, &prior, &m, req, resp)
	}
	was, diags := readRecord(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	for _, at := range renewed(&prior, &m, was) {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root(at))
		switch at { // a computed attribute that is planned as unknown shows what makes it new
		case "virtual_size_bytes":
			resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(at), types.Int64Unknown())...)
		case "source_sha256":
			resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(at), types.StringUnknown())...)
		}
	}
}

// imported says that nobody knows what the image was made from.
func (m *model) imported() bool { return m.Source.IsNull() || m.Source.Equal(m.ID) }

// checkSource checks what can be known of a source before it is opened.
func checkSource(m *model) diag.Diagnostics {
	var diags diag.Diagnostics
	if m.Source.IsUnknown() {
		return diags
	}
	src, err := parseSource(m.Source.ValueString())
	if err != nil {
		diags.AddAttributeError(path.Root("source"), "Invalid image source", sentence(err))
		return diags
	}
	if src.insecure() && m.Checksum.IsNull() {
		diags.AddAttributeError(path.Root("source"), "Insecure image source", "Anyone on the way can change what comes over http: write https, or give a `checksum`.")
	}
	if src.url == nil {
		if _, err := src.stat(); err != nil {
			diags.AddAttributeError(path.Root("source"), "Missing image file", sentence(err)+" The path is on the machine that Terraform runs on; a relative one starts where Terraform was started, so write \"${path.module}/…\".")
		}
	}
	return diags
}

// renewed names the attributes for which the image has to be uploaded anew.
func renewed(prior, planned *model, was *record) []string {
	var because []string
	if was != nil && (prior.VirtualSizeBytes.ValueInt64() != was.VirtualSize || prior.Format.ValueString() != was.Format) {
		because = append(because, "virtual_size_bytes") // somebody put another volume in its place
	}
	// An imported image was made from something that is not known: it is taken at its word.
	if prior.imported() || planned.Source.IsUnknown() || planned.Checksum.IsUnknown() {
		return because
	}
	sum, err := parseChecksum(planned.Checksum.ValueString())
	if err != nil {
		return because // said already
	}
	if sum.algorithm != "" {
		if !sameContent(prior, sum) && !stillThere(prior, planned, sum, was) {
			because = append(because, "checksum")
		}
		return because
	}
	if prior.Source.ValueString() != planned.Source.ValueString() {
		return append(because, "source")
	}
	if src, err := parseSource(planned.Source.ValueString()); err == nil && src.url == nil && changed(src, was) {
		because = append(because, "source_sha256")
	}
	return because
}

// sameContent says that a checksum is known to be that of what was uploaded.
func sameContent(prior *model, sum checksum) bool {
	if sum.algorithm == "sha256" && prior.SourceSHA256.ValueString() == sum.sum {
		return true
	}
	before, err := parseChecksum(prior.Checksum.ValueString())
	return err == nil && before == sum
}

// stillThere says that a local file is the one that was uploaded, and has the checksum that is asked for now.
func stillThere(prior, planned *model, sum checksum, was *record) bool {
	src, err := parseSource(planned.Source.ValueString())
	if err != nil || src.url != nil || was == nil || was.ModTime == 0 || !prior.Source.Equal(planned.Source) || changed(src, was) {
		return false
	}
	h := algorithms[sum.algorithm]()
	return digestFile(src.file, h) == nil && hex.EncodeToString(h.Sum(nil)) == sum.sum
}

// changed says whether a local file is another one than was uploaded. Its size and time tell nearly always;
// only a file that was touched is read. One that cannot be looked at is needed by nobody now.
func changed(src source, was *record) bool {
	if was == nil || was.ModTime == 0 {
		return false
	}
	info, err := src.stat()
	switch {
	case err != nil:
		return false
	case info.Size() != was.Size:
		return true
	case info.ModTime().UnixNano() == was.ModTime:
		return false
	}
	crc, err := fileCRC(src.file)
	return err == nil && crc != was.CRC
}

func fileCRC(name string) (uint32, error) {
	h := newFast()
	err := digestFile(name, h)
	return h.Sum32(), err
}

func digestFile(name string, h io.Writer) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	_, err = io.CopyBuffer(h, struct{ io.Reader }{f}, make([]byte, 1<<20))
	return err
}
