package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

type reverseZone struct{}

// NewReverseZone makes reverse_zone.
func NewReverseZone() function.Function { return reverseZone{} }

func (reverseZone) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "reverse_zone"
}

func (reverseZone) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "The name of the reverse zone of a prefix",
		MarkdownDescription: "The name of the zone that holds the pointers of a prefix, IPv4 or IPv6, without a dot at the end. A prefix that ends between octets belongs to the zone of the octet before " +
			"(`10.0.16.0/20` to `0.10.in-addr.arpa`), from /25 to /31 to a classless zone as in RFC 2317 (`192.0.2.0/25` to `0/25.2.0.192.in-addr.arpa`), in IPv6 to the zone of the nibble that it ends in or before.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "cidr", MarkdownDescription: "Prefix: `10.0.0.0/24`, `fd00::/64`."},
		},
		Return: function.StringReturn{},
	}
}

func (reverseZone) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var cidr string
	if resp.Error = req.Arguments.Get(ctx, &cidr); resp.Error != nil {
		return
	}
	p, err := bind.ParseCIDR(cidr)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, errorText(err))
		return
	}
	resp.Error = resp.Result.Set(ctx, bind.ReverseZone(p))
}
