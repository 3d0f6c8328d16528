package functions

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
)

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
