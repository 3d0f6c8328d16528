package image

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

const importKey = "import"

// sums of an imported image's content, by the algorithm. Whichever the configuration names, it can be compared
// without reading the volume again.
type sums map[string]string

// takeStock reads an image that was just imported, and says in state what is in it.
func takeStock(ctx context.Context, c *hypervisor.Client, v *hypervisor.Volume, m *model, private privateWriter) diag.Diagnostics {
	h256, h512 := sha256.New(), sha512.New()
	tflog.Info(ctx, "reading the imported image for its checksum", map[string]any{"volume": v.Path()})
	if err := c.DownloadVolume(ctx, v, 0, 0, &reading{Writer: io.MultiWriter(h256, h512), ctx: ctx, volume: v.Path(), last: time.Now()}); err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("Cannot read "+what(m), err.Error())}
	}
	text := func(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }
	m.Source = m.ID // all that is known of where it comes from is where it is
	m.Checksum = types.StringValue("sha256:" + text(h256))
	raw, err := json.Marshal(sums{"sha256": text(h256), "sha512": text(h512)})
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("Cannot write private state", err.Error())}
	}
	return private.SetKey(ctx, importKey, raw)
}

// reading logs how far a volume has been read.
type reading struct {
	io.Writer
	ctx    context.Context
	volume string
	done   int64
	last   time.Time
}

func (r *reading) Write(p []byte) (int, error) {
	r.done += int64(len(p))
	if now := time.Now(); now.Sub(r.last) >= reportEvery {
		r.last = now
		tflog.Info(r.ctx, "reading image", map[string]any{"volume": r.volume, "mib": r.done >> 20})
	}
	return r.Writer.Write(p)
}

// keepImported plans no change of an imported image where the configuration only says where it comes from, and no
// checksum but the content's. Where something else changes, what it says is written down too.
func keepImported(ctx context.Context, prior, planned *model, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	given := *planned
	raw, diags := req.Private.GetKey(ctx, importKey)
	resp.Diagnostics.Append(diags...)
	planned.Source = prior.Source
	if given.Checksum.IsNull() || hasSum(prior, given.Checksum.ValueString(), raw) {
		planned.Checksum = prior.Checksum
	} else if known := prior.Checksum.ValueString(); known != "" && !given.Checksum.IsUnknown() {
		resp.Diagnostics.AddAttributeWarning(path.Root("checksum"), "Not the checksum of the imported image", fmt.Sprintf(
			"What was imported as %s has %s. That is as it should be where the source is compressed, because the checksum is over the source as it is. Otherwise the image is another one than the source: `terraform apply -replace` uploads that.",
			what(prior), known))
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

// hasSum says that a checksum is that of an imported image's content.
func hasSum(prior *model, text string, private []byte) bool {
	want, err := parseChecksum(text)
	if err != nil {
		return false // said already
	}
	if sameContent(prior, want) {
		return true
	}
	var all sums
	return len(private) > 0 && json.Unmarshal(private, &all) == nil && want.sum != "" && all[want.algorithm] == want.sum
}
