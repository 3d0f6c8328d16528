package functions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/functions/clusterconfig"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// newClusterFunction makes a function that renders what a cluster is made by from one object; unknown is what it returns while something in
// the object is not known yet.
func newClusterFunction[T any](name, summary, description, parameter string, unknown attr.Value, render func(document map[string]any) (T, []service.Problem)) function.Function {
	returned := function.Return(function.StringReturn{})
	if m, isMap := unknown.(types.Map); isMap {
		returned = function.MapReturn{ElementType: m.ElementType(context.Background())}
	}
	return named{name, function.Definition{
		Summary:             summary,
		MarkdownDescription: description,
		Parameters:          []function.Parameter{function.DynamicParameter{Name: "config", MarkdownDescription: parameter}},
		Return:              returned,
	}, func(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError) {
		var config types.Dynamic
		if err := arguments.Get(ctx, &config); err != nil {
			return nil, err
		}
		if !isWhollyKnown(ctx, config) {
			return unknown, nil
		}
		v, err := plainValue(config)
		document, isObject := v.(map[string]any)
		if err == nil && !isObject {
			err = errors.New("it is no object: write " + strings.TrimSuffix(parameter, "."))
		}
		if err != nil {
			return nil, refuseArgument(0, err)
		}
		out, problems := render(document)
		return out, problemsError(problems)
	}}
}

// NewInstallConfig makes install_config.
func NewInstallConfig() function.Function {
	return newClusterFunction("install_config", "The text of install-config.yaml for OpenShift's installer",
		"The text of `install-config.yaml`, which `openshift-install` reads. The object has the installer's own field names; a name that it does not know, a value of another kind, "+
			"subnets that overlap, a host prefix with too little room and a pull secret that is none are errors at plan. `apiVersion`, and the names of the machine pools, may be left out.",
		"`{ baseDomain = …, metadata = { name = … }, controlPlane = { replicas = 3 }, compute = [{ replicas = 0 }], networking = { … }, platform = { none = {} }, pullSecret = …, sshKey = … }`.",
		types.StringUnknown(), clusterconfig.InstallConfig)
}

// NewAgentConfig makes agent_config.
func NewAgentConfig() function.Function {
	return newClusterFunction("agent_config", "The text of agent-config.yaml for OpenShift's agent-based installer",
		"The text of `agent-config.yaml`, which `openshift-install agent create image` reads beside `install-config.yaml`. The object has the installer's own field names; a name that it does not know, "+
			"a value of another kind, and a host name or MAC address that two machines have are errors at plan. `networkConfig` is nmstate's language and passed on as it is.",
		"`{ metadata = { name = … }, rendezvousIP = …, hosts = [{ hostname = …, role = \"master\", interfaces = [{ name = \"eth0\", macAddress = … }] }] }`.",
		types.StringUnknown(), clusterconfig.AgentConfig)
}

// NewKubeadmConfig makes kubeadm_config.
func NewKubeadmConfig() function.Function {
	return newClusterFunction("kubeadm_config", "The text of a configuration file for kubeadm",
		"The text of the file that `kubeadm init --config` and `kubeadm join --config` read: a document of `kubeadm.k8s.io/v1beta4` (kubeadm 1.31 and later) for each key of the object. "+
			"A name that kubeadm does not know and a value of another kind are errors at plan; what is for the kubelet and kube-proxy is passed on as it is.",
		"`{ ClusterConfiguration = { controlPlaneEndpoint = …, networking = { … } }, InitConfiguration = { … }, JoinConfiguration = { … }, KubeletConfiguration = { … }, KubeProxyConfiguration = { … } }`, each of them optional.",
		types.StringUnknown(), clusterconfig.KubeadmConfig)
}

// NewStaticPods makes static_pods.
func NewStaticPods() function.Function {
	return newClusterFunction("static_pods", "Ignition with static pods that hold a cluster's addresses, balance its API and answer its names",
		"Ignition configurations by the machines' names, for a cluster without service nodes: static pods of keepalived, HAProxy and CoreDNS with their configurations, as OpenShift's Machine Config Operator has them on premises. "+
			"Masters and the bootstrap share `api_vip`, which is where the API server and the balancer beside it (port 9445, to which 6443 of the virtual address leads) answer; masters and workers share `ingress_vip`, which is where the router answers. "+
			"Virtual router ids, passwords and priorities are OpenShift's own. CoreDNS knows `api`, `api-int`, `*.apps` and the machines' names in `domain`, and asks `name_servers` for all others. "+
			"What is rendered is the topology as it is planned. With the image `runtimecfg` (OpenShift's baremetal-runtimecfg), the operator's monitors stand beside the daemons, with templates of the same configurations: they write these anew by what the cluster says of its nodes, and tell the daemons. "+
			"Add to a machine's Ignition by `ignition_merge`.",
		"`{ cluster = …, domain = …, network = \"10.0.0.0/24\", interface = \"enp1s0\", api_vip = …, ingress_vip = …, name_servers = […], machines = [{ name = …, role = \"master\", address = … }], images = { keepalived = …, haproxy = …, coredns = …, runtimecfg = … } }`; `runtimecfg` may be left out; roles are `bootstrap`, `master` and `worker`.",
		types.MapUnknown(types.StringType), clusterconfig.StaticPods)
}

// problemsError are the problems of a document as an error of the argument; nil where there are none.
func problemsError(problems []service.Problem) *function.FuncError {
	if len(problems) == 0 {
		return nil
	}
	var lines []string
	for _, p := range problems {
		lines = append(lines, strings.TrimPrefix(fmt.Sprintf("%s: %s", clusterconfig.PlaceOf(p), p.Detail), ": "))
	}
	return function.NewArgumentFuncError(0, strings.Join(lines, ".\n"))
}

// plainValue is a value as Go has it: map[string]any, []any, string, int64, float64, bool or nil.
func plainValue(v attr.Value) (any, error) {
	if v.IsNull() {
		return nil, nil
	}
	switch v := v.(type) {
	case types.Dynamic:
		return plainValue(v.UnderlyingValue())
	case types.String:
		return v.ValueString(), nil
	case types.Bool:
		return v.ValueBool(), nil
	case types.Int64:
		return v.ValueInt64(), nil
	case types.Number:
		if whole, accuracy := v.ValueBigFloat().Int64(); accuracy == 0 {
			return whole, nil
		}
		number, _ := v.ValueBigFloat().Float64()
		return number, nil
	case types.Object:
		return plainMap(v.Attributes())
	case types.Map:
		return plainMap(v.Elements())
	}
	if elements, list := convert.SequenceElements(v); list {
		return plainList(elements)
	}
	return nil, fmt.Errorf("a value of kind %T cannot stand in it", v)
}

func plainMap(elements map[string]attr.Value) (any, error) {
	all := map[string]any{}
	for name, e := range elements {
		v, err := plainValue(e)
		if err != nil {
			return nil, err
		}
		all[name] = v
	}
	return all, nil
}

func plainList(elements []attr.Value) (any, error) {
	all := []any{}
	for _, e := range elements {
		v, err := plainValue(e)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}
