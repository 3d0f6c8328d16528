package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/clusterconfig"
)

// staticPods is a clusterConfig that renders a text for each machine.
type staticPods struct{ clusterConfig }

// NewStaticPods makes static_pods.
func NewStaticPods() function.Function {
	return staticPods{clusterConfig{
		name:    "static_pods",
		summary: "Ignition with static pods that hold a cluster's addresses, balance its API and answer its names",
		description: "Ignition configurations by the machines' names, for a cluster without service nodes: static pods of keepalived, HAProxy and CoreDNS with their configurations, as OpenShift's Machine Config Operator has them on premises. " +
			"Masters and the bootstrap share `api_vip`, which is where the API server and the balancer beside it (port 9445, to which 6443 of the virtual address leads) answer; masters and workers share `ingress_vip`, which is where the router answers. " +
			"Virtual router ids, passwords and priorities are OpenShift's own. CoreDNS knows `api`, `api-int`, `*.apps` and the machines' names in `domain`, and asks `name_servers` for all others. " +
			"What is rendered is the topology as it is planned. With the image `runtimecfg` (OpenShift's baremetal-runtimecfg), the operator's monitors stand beside the daemons, with templates of the same configurations: they write these anew by what the cluster says of its nodes, and tell the daemons. " +
			"Add to a machine's Ignition by `ignition_merge`.",
		parameter: "`{ cluster = …, domain = …, network = \"10.0.0.0/24\", interface = \"enp1s0\", api_vip = …, ingress_vip = …, name_servers = […], machines = [{ name = …, role = \"master\", address = … }], images = { keepalived = …, haproxy = …, coredns = …, runtimecfg = … } }`; `runtimecfg` may be left out; roles are `bootstrap`, `master` and `worker`.",
	}}
}

func (f staticPods) Definition(ctx context.Context, req function.DefinitionRequest, resp *function.DefinitionResponse) {
	f.clusterConfig.Definition(ctx, req, resp)
	resp.Definition.Return = function.MapReturn{ElementType: types.StringType}
}

func (f staticPods) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	document, unknown := f.readDocument(ctx, req, resp)
	switch {
	case resp.Error != nil:
	case unknown:
		resp.Error = resp.Result.Set(ctx, types.MapUnknown(types.StringType))
	default:
		out, problems := clusterconfig.StaticPods(document)
		if resp.Error = problemsError(problems); resp.Error == nil {
			resp.Error = resp.Result.Set(ctx, out)
		}
	}
}
