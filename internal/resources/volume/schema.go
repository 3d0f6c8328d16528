package volume

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/storagepool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

func volumeSchema(context.Context) schema.Schema {
	replace := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	return schema.Schema{
		MarkdownDescription: "A disk in a storage pool, empty or an overlay of an image. It grows in place, also while a running node uses it; shrinking is refused. " +
			storagepool.OwnershipDescription,
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed: true, MarkdownDescription: "Path of the volume on the hypervisor.",
				PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			},
			"name": schema.StringAttribute{
				Required: true, PlanModifiers: replace,
				MarkdownDescription: "Name of the volume in the pool, such as `data.qcow2`. A change makes a new, empty volume.",
				Validators:          []validator.String{stringvalidator.RegexMatches(storage.NameForm, "must not be empty and must hold no slash and no control character")},
			},
			"hypervisor": schema.StringAttribute{
				Optional: true, PlanModifiers: replace,
				MarkdownDescription: "Which of the provider's `hypervisors` the volume is on. Default: the provider's `uri`. A change makes a new volume.",
			},
			"pool": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString(storage.Default), PlanModifiers: replace,
				MarkdownDescription: "Name of the storage pool. Default: `default`. A change makes a new volume and moves nothing.",
			},
			"size_gib": schema.Int64Attribute{
				Optional: true, Computed: true,
				MarkdownDescription: "Size that a machine sees, in GiB. More grows the volume in place; what is on it has to be grown inside the machine. Default: the image's size, in whole GiB; required without an image. At most 2147483648, which is 2 EiB.",
				Validators:          []validator.Int64{int64validator.Between(1, storage.MaxSizeGiB)},
				PlanModifiers:       []planmodifier.Int64{int64planmodifier.UseStateForUnknown()},
			},
			"format": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString("qcow2"),
				MarkdownDescription: "`qcow2` or `raw`; both take up room only as they are written. An overlay is always `qcow2`. Default: `qcow2`. A change makes a new volume.",
				Validators:          []validator.String{stringvalidator.OneOf("qcow2", "raw")},
			},
			"image": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Image that the volume is an overlay of: a `virtcluster_image.*.id`, or the name of a volume in the same pool. A change makes a new volume. Default: none, the volume is empty.",
			},
		},
	}
}
