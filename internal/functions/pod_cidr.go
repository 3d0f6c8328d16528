package functions

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
)

// NewPodCIDR makes pod_cidr.
func NewPodCIDR() function.Function {
	return named{"pod_cidr", function.Definition{
		Summary:             "One node's part of the pod network",
		MarkdownDescription: "The subnet with the given index among those of one length that a network divides into: `pod_cidr(\"10.128.0.0/14\", 23, 1)` is `10.128.2.0/23`. IPv4 and IPv6.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "cidr", MarkdownDescription: "The cluster's pod network, such as `10.128.0.0/14`."},
			function.Int64Parameter{Name: "prefix", MarkdownDescription: "Prefix length of one node's subnet, such as 23."},
			function.Int64Parameter{Name: "index", MarkdownDescription: "Index of the node; the first one has 0."},
		},
		Return: function.StringReturn{},
	}, computePodCIDR}
}

func computePodCIDR(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError) {
	var cidr string
	var bits, index int64
	if err := arguments.Get(ctx, &cidr, &bits, &index); err != nil {
		return nil, err
	}
	network, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil, function.NewArgumentFuncError(0, fmt.Sprintf("%q is no network: write an address and a prefix length, such as 10.128.0.0/14", cidr))
	}
	// Which argument is at fault shows by whether its neighbour works: index 0 always exists.
	if _, err := alloc.PodCIDR(network, int(bits), 0); err != nil {
		return nil, refuseArgument(1, err)
	}
	subnet, err := alloc.PodCIDR(network, int(bits), index)
	if err != nil {
		return nil, refuseArgument(2, err)
	}
	return subnet.String(), nil
}
