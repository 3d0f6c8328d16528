// Package image is virtcluster_image: a base image, streamed from a URL or a file into a storage pool.
package image

import (
	"context"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/poolattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage/upload"
)

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, storage.Image]{
		Name: "image", Noun: "image",
		Label:   func(m *model) string { return volumePlace(m).ImportID() },
		Schema:  imageSchema,
		Key:     []string{"hypervisor", "pool", "name"},
		Naming:  crud.Naming[model]{Lasts: true},
		ID:      func(m *model) string { return m.ID.ValueString() },
		Listing: crud.Listing{List: poolattr.ListVolumes(true)},
		Split: func(m *model, id string) error {
			return poolattr.SplitVolume(id, &m.ID, &m.Hypervisor, &m.Pool, &m.Name)
		},
		Moves: crud.Moves[model]{peer.Volume: func(m *model, from peer.Thing) {
			poolattr.MoveVolume(from, &m.ID, &m.Pool, &m.Name)
		}},
		Spec: toSpec, Fill: fillModel, Open: openStore, Plan: planChange, Memory: crud.Memory[model]{Recall: recallPrivate, Remember: storePrivate},
		// Importing reads the whole volume, as creating writes it.
		Timeouts: map[string]time.Duration{"create": time.Hour, "read": time.Hour, "delete": 5 * time.Minute},
	})
}

func volumePlace(m *model) storage.Place {
	return poolattr.VolumePlace(m.ID, m.Hypervisor, m.Pool, m.Name)
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[storage.Image], error) {
	c, err := at.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err != nil {
		return nil, err
	}
	return storage.OpenImage(ctx, c, volumePlace(m), at.Claim, m.Source.IsNull() && !at.Brief)
}

func imageSchema(ctx context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A base image in a storage pool, uploaded once; nodes' root disks are overlays of it. " +
			"The source is streamed to the hypervisor and decompressed on the way (xz, gzip, zstd; with dictionaries of up to 128 MiB, which is more than `xz -9` needs), without a temporary copy. " +
			"A wrong checksum, a broken transfer or an interrupt leaves no volume behind. " +
			poolattr.OwnershipDescription,
		Attributes: map[string]schema.Attribute{
			"id":         poolattr.ID(),
			"name":       poolattr.Name("fedora-coreos.qcow2", "image"),
			"hypervisor": crud.HypervisorAttribute("image", "image"),
			"pool":       poolattr.Pool("image"),
			"source": schema.StringAttribute{
				Required: true,
				MarkdownDescription: "Where the image comes from: an `https://` URL, an `http://` URL if there is a `checksum`, or a file on the machine that Terraform runs on (a path or `file://`). " +
					"A change makes a new image, unless the `checksum` says that the content is the same. Without a checksum a local file is uploaded anew when its content changed. " +
					"Of an imported image nobody knows where it came from: whatever is written here is taken as it is, and state has the volume's path.",
				Validators: []validator.String{values.Line, sourceForm{}},
			},
			"checksum": schema.StringAttribute{
				Optional: true, Computed: true,
				MarkdownDescription: "`sha256:` or `sha512:` and the sum in hexadecimal, over the source as it is, compressed or not. " +
					"It is checked before the image can be used, and it lets a broken download be resumed. A change makes a new image. " +
					"Default: none, and for an imported image the sum of the volume, which is read once for it.",
				Validators: []validator.String{values.Word, checksumForm{}},
			},
			"format": values.OneOf("qcow2", "raw").OptionalComputed("`qcow2` or `raw`, after decompression. Default: found out from the content. Where it is set, a source of another format is an error.", stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplaceIfConfigured()),
			"virtual_size_bytes": schema.Int64Attribute{
				Computed: true, MarkdownDescription: "Size of the disk that a machine sees, in bytes.",
				PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()},
			},
			"source_sha256": values.KeptText("SHA-256 of the source as it was uploaded, in hexadecimal; null where it was not computed: for an imported image, a local file without a `checksum`, and a `checksum` of another kind."),
			"timeouts": crud.TimeoutsAttribute(ctx, timeouts.Opts{
				Create: true, CreateDescription: "How long the upload may take, as a duration. Default: `60m`.",
				Delete: true, DeleteDescription: "How long the removal may take, as a duration. Default: `5m`.",
			}),
		},
	}
}

// sourceForm checks a source's form.
type sourceForm struct{ values.Undescribed }

func (sourceForm) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if !convert.Known(req.ConfigValue) {
		return
	}
	if _, err := upload.ParseSource(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid image source", toSentence(err))
	}
}

// checksumForm checks a checksum's form.
type checksumForm struct{ values.Undescribed }

func (checksumForm) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if !convert.Known(req.ConfigValue) {
		return
	}
	_, err := upload.ParseChecksum(req.ConfigValue.ValueString())
	if err == nil && req.ConfigValue.ValueString() == "" {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid checksum", "It is empty: leave it out where there is none.")
	}
	if err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid checksum", toSentence(err))
	}
}

// toSentence makes an error the detail of a diagnostic.
func toSentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
