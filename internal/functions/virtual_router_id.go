package functions

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
)

type virtualRouterID struct{}

// NewVirtualRouterID makes virtual_router_id.
func NewVirtualRouterID() function.Function { return virtualRouterID{} }

func (virtualRouterID) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "virtual_router_id"
}

func (virtualRouterID) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "The VRRP virtual router id that OpenShift uses",
		MarkdownDescription: "The virtual router id, 1 to 255, that OpenShift's Machine Config Operator gives a cluster's VRRP instance. " +
			"Use it to keep off the ids of a cluster on the same segment, or to take the same one. Two clusters may have one id by chance.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "cluster", MarkdownDescription: "Name of the cluster."},
			function.StringParameter{Name: "role", MarkdownDescription: "`api` or `ingress`."},
		},
		Return: function.Int64Return{},
	}
}

func (virtualRouterID) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var cluster, role string
	if resp.Error = req.Arguments.Get(ctx, &cluster, &role); resp.Error != nil {
		return
	}
	switch {
	case cluster == "":
		resp.Error = function.NewArgumentFuncError(0, "The cluster's name is empty.")
	case role != "api" && role != "ingress":
		resp.Error = function.NewArgumentFuncError(1, fmt.Sprintf("There is no role %q: write \"api\" or \"ingress\".", role))
	default:
		resp.Error = resp.Result.Set(ctx, int64(alloc.VirtualRouterID(cluster, role)))
	}
}
