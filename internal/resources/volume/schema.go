package volume

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/poolattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

func volumeSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A disk in a storage pool, empty or an overlay of an image. It grows in place, also while a running node uses it; shrinking is refused. " +
			poolattr.OwnershipDescription,
		Attributes: map[string]schema.Attribute{
			"id":         poolattr.ID(),
			"name":       poolattr.Name("data.qcow2", "empty volume"),
			"hypervisor": crud.HypervisorAttribute("volume", "volume"),
			"pool":       poolattr.Pool("volume and moves nothing"),
			"size_gib":   values.Between(1, storage.MaxSizeGiB).OptionalComputed("Size that a machine sees, in GiB. More grows the volume in place; what is on it has to be grown inside the machine. Default: the image's size, in whole GiB; required without an image. At most 2097152, which is 2 PiB, as QEMU maps no more in qcow2.", int64planmodifier.UseStateForUnknown()),
			"format":     values.OneOf("qcow2", "raw").Default("qcow2", "`qcow2` or `raw`; both take up room only as they are written. An overlay is always `qcow2`. Default: `qcow2`. A change makes a new volume."),
			"image":      values.Name.Optional("Image that the volume is an overlay of: a `virtcluster_image.*.id`, or the name of a volume in the same pool. A change makes a new volume. Default: none, the volume is empty."),
		},
	}
}
