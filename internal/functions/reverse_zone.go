package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

// NewReverseZone makes reverse_zone.
func NewReverseZone() function.Function {
	return named{"reverse_zone", function.Definition{
		Summary: "The name of the reverse zone of a prefix",
		MarkdownDescription: "The name of the zone that holds the pointers of a prefix, IPv4 or IPv6, without a dot at the end. A prefix that ends between octets belongs to the zone of the octet before " +
			"(`10.0.16.0/20` to `0.10.in-addr.arpa`), from /25 to /31 to a classless zone as in RFC 2317 (`192.0.2.0/25` to `0/25.2.0.192.in-addr.arpa`), in IPv6 to the zone of the nibble that it ends in or before.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "cidr", MarkdownDescription: "Prefix: `10.0.0.0/24`, `fd00::/64`."},
		},
		Return: function.StringReturn{},
	}, nameReverseZone}
}

func nameReverseZone(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError) {
	var cidr string
	if err := arguments.Get(ctx, &cidr); err != nil {
		return nil, err
	}
	p, err := bind.ParseCIDR(cidr)
	if err != nil {
		return nil, refuseArgument(0, err)
	}
	return bind.ReverseZone(p), nil
}
