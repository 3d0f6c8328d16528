package dnslookup

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func lookupSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Asks one DNS server, from one address: what a view answers. A name that does not exist is an answer (`status` is `NXDOMAIN`); no answer is an error.",
		Attributes: map[string]schema.Attribute{
			"id":       schema.StringAttribute{Computed: true, MarkdownDescription: "Server, name and type."},
			"server":   schema.StringAttribute{Validators: []validator.String{values.Word}, Required: true, MarkdownDescription: "Address of the server."},
			"port":     schema.Int64Attribute{Validators: []validator.Int64{values.Port()}, Optional: true, Computed: true, MarkdownDescription: "Port of the server. Default: 53."},
			"name":     schema.StringAttribute{Validators: []validator.String{values.Word}, Required: true, MarkdownDescription: "Name to ask for, always absolute; an address stands for the name of its pointer."},
			"type":     schema.StringAttribute{Validators: []validator.String{values.Word}, Optional: true, Computed: true, MarkdownDescription: "Type of the records, such as `A`, `PTR` or `SRV`. Default: `A`."},
			"protocol": schema.StringAttribute{Validators: []validator.String{values.OneOf("udp", "tcp")}, Optional: true, Computed: true, MarkdownDescription: "`udp` or `tcp`; an answer too long for UDP is asked for over TCP. Default: `udp`."},
			"from": schema.StringAttribute{
				Validators: []validator.String{values.Address},
				Optional:   true, MarkdownDescription: "Address to ask from, one of the machine that asks: it decides the view. Default: the machine's choice.",
			},
			"service_node": schema.StringAttribute{
				Validators: []validator.String{values.Endpoint},
				Optional:   true, MarkdownDescription: "Machine that asks, the `id` of a `virtcluster_service_node`; it needs `dig`. Default: the machine that Terraform runs on.",
			},
			"recursion":       schema.BoolAttribute{Optional: true, Computed: true, MarkdownDescription: "Whether the server shall ask others. Default: true."},
			"timeout_seconds": schema.Int64Attribute{Validators: []validator.Int64{values.Between(1, 60)}, Optional: true, Computed: true, MarkdownDescription: "Seconds to wait for the answer, 1 to 60. Default: 5."},
			"status":          schema.StringAttribute{Computed: true, MarkdownDescription: "What the server says: `NOERROR`, `NXDOMAIN`, `REFUSED`, `SERVFAIL` and so on."},
			"authoritative":   schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether the zone is the server's own."},
			"values": schema.ListAttribute{
				Computed: true, ElementType: types.StringType, MarkdownDescription: "Data of the records of the type that was asked for, sorted; empty where there are none.",
			},
			"answers": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "The whole answer in the server's order, aliases on the way included.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"name":  schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the record, with a dot at the end."},
					"type":  schema.StringAttribute{Computed: true, MarkdownDescription: "Type of the record."},
					"ttl":   schema.Int64Attribute{Computed: true, MarkdownDescription: "Seconds that it may be kept."},
					"value": schema.StringAttribute{Computed: true, MarkdownDescription: "Data of the record."},
				}},
			},
		},
	}
}
