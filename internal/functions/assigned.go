package functions

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
)

// NewMACAddress makes mac_address.
func NewMACAddress() function.Function {
	return named{"mac_address", function.Definition{
		Summary: "The MAC address of a node's interface",
		MarkdownDescription: "The MAC address that a node's interface gets where none is given: QEMU's prefix `52:54:00` and three bytes that follow from the node's name and the interface's index. " +
			"It is the same for ever, so that DHCP reservations and PXE files can be written before the node exists.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "name", MarkdownDescription: "Name of the node."},
			function.Int64Parameter{Name: "index", MarkdownDescription: "Index of the interface; the first one has 0."},
		},
		Return: function.StringReturn{},
	}, computeMAC}
}

func computeMAC(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError) {
	var name string
	var index int64
	if err := arguments.Get(ctx, &name, &index); err != nil {
		return nil, err
	}
	switch {
	case name == "":
		return nil, function.NewArgumentFuncError(0, "The name is empty: write the node's name")
	case index < 0:
		return nil, function.NewArgumentFuncError(1, "The index is negative: the first interface has 0")
	}
	return alloc.MAC(name, int(index)).String(), nil
}

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

// NewVirtualRouterID makes virtual_router_id.
func NewVirtualRouterID() function.Function {
	return named{"virtual_router_id", function.Definition{
		Summary: "The VRRP virtual router id that OpenShift uses",
		MarkdownDescription: "The virtual router id, 1 to 255, that OpenShift's Machine Config Operator gives a cluster's VRRP instance. " +
			"Use it to keep off the ids of a cluster on the same segment, or to take the same one. Two clusters may have one id by chance.\n\n" +
			"OpenShift has had two formulas, and `\"masked\"` as a third argument gives the first: `ocp4`'s API has 222 by the one and 29 by the other. " +
			"The bootstrap machine had the first one in releases before 4.5, and all nodes had it in the first builds of 4.2.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "cluster", MarkdownDescription: "Name of the cluster."},
			function.StringParameter{Name: "role", MarkdownDescription: "`api` or `ingress`."},
		},
		VariadicParameter: function.StringParameter{
			Name: "formula",
			MarkdownDescription: "At most one: `current` is Fletcher's checksum with sums modulo 15, plus one, and what there is without this argument; " +
				"`masked` is the first form, with sums cut to four bits (`& 0xf`) and nothing added.",
		},
		Return: function.Int64Return{},
	}, computeRouterID}
}

func computeRouterID(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError) {
	var cluster, role string
	var formulas []string
	if err := arguments.Get(ctx, &cluster, &role, &formulas); err != nil {
		return nil, err
	}
	formula := "current"
	if len(formulas) > 0 {
		formula = formulas[0]
	}
	var id int
	switch {
	case cluster == "":
		return nil, function.NewArgumentFuncError(0, "The cluster's name is empty")
	case role != "api" && role != "ingress":
		return nil, function.NewArgumentFuncError(1, fmt.Sprintf("There is no role %q: write \"api\" or \"ingress\"", role))
	case len(formulas) > 1:
		return nil, function.NewArgumentFuncError(3, "An id has one formula: leave out what follows it")
	case formula == "current":
		id = alloc.VirtualRouterID(cluster, role)
	case formula == "masked":
		if id = alloc.MaskedVirtualRouterID(cluster, role); id == 0 {
			return nil, function.NewArgumentFuncError(0, fmt.Sprintf("The first formula gives %s-%s the id 0, which VRRP does not have: OpenShift could not run a cluster of this name then", cluster, role))
		}
	default:
		return nil, function.NewArgumentFuncError(2, fmt.Sprintf("There is no formula %q: write \"current\" or \"masked\"", formula))
	}
	return int64(id), nil
}
