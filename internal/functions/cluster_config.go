package functions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/clusterconfig"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// clusterConfig is a function that renders an installer's configuration.
type clusterConfig struct {
	name, summary, description, parameter string
	render                                func(document map[string]any) (string, []service.Problem)
}

// NewInstallConfig makes install_config.
func NewInstallConfig() function.Function {
	return clusterConfig{
		name:    "install_config",
		summary: "The text of install-config.yaml for OpenShift's installer",
		description: "The text of `install-config.yaml`, which `openshift-install` reads. The object has the installer's own field names; a name that it does not know, a value of another kind, " +
			"subnets that overlap, a host prefix with too little room and a pull secret that is none are errors at plan. `apiVersion`, and the names of the machine pools, may be left out.",
		parameter: "`{ baseDomain = …, metadata = { name = … }, controlPlane = { replicas = 3 }, compute = [{ replicas = 0 }], networking = { … }, platform = { none = {} }, pullSecret = …, sshKey = … }`.",
		render:    clusterconfig.InstallConfig,
	}
}

// NewAgentConfig makes agent_config.
func NewAgentConfig() function.Function {
	return clusterConfig{
		name:    "agent_config",
		summary: "The text of agent-config.yaml for OpenShift's agent-based installer",
		description: "The text of `agent-config.yaml`, which `openshift-install agent create image` reads beside `install-config.yaml`. The object has the installer's own field names; a name that it does not know, " +
			"a value of another kind, and a host name or MAC address that two machines have are errors at plan. `networkConfig` is nmstate's language and passed on as it is.",
		parameter: "`{ metadata = { name = … }, rendezvousIP = …, hosts = [{ hostname = …, role = \"master\", interfaces = [{ name = \"eth0\", macAddress = … }] }] }`.",
		render:    clusterconfig.AgentConfig,
	}
}

// NewKubeadmConfig makes kubeadm_config.
func NewKubeadmConfig() function.Function {
	return clusterConfig{
		name:    "kubeadm_config",
		summary: "The text of a configuration file for kubeadm",
		description: "The text of the file that `kubeadm init --config` and `kubeadm join --config` read: a document of `kubeadm.k8s.io/v1beta4` (kubeadm 1.31 and later) for each key of the object. " +
			"A name that kubeadm does not know and a value of another kind are errors at plan; what is for the kubelet and kube-proxy is passed on as it is.",
		parameter: "`{ ClusterConfiguration = { controlPlaneEndpoint = …, networking = { … } }, InitConfiguration = { … }, JoinConfiguration = { … }, KubeletConfiguration = { … }, KubeProxyConfiguration = { … } }`, each of them optional.",
		render:    clusterconfig.KubeadmConfig,
	}
}

func (f clusterConfig) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = f.name
}

func (f clusterConfig) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary:             f.summary,
		MarkdownDescription: f.description,
		Parameters:          []function.Parameter{function.DynamicParameter{Name: "config", MarkdownDescription: f.parameter}},
		Return:              function.StringReturn{},
	}
}

func (f clusterConfig) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	document, unknown := f.readDocument(ctx, req, resp)
	switch {
	case resp.Error != nil:
	case unknown:
		resp.Error = resp.Result.Set(ctx, types.StringUnknown())
	default:
		out, problems := f.render(document)
		if resp.Error = problemsError(problems); resp.Error == nil {
			resp.Error = resp.Result.Set(ctx, out)
		}
	}
}

// readDocument is the function's argument; unknown says that something in it is not known yet.
func (f clusterConfig) readDocument(ctx context.Context, req function.RunRequest, resp *function.RunResponse) (document map[string]any, unknown bool) {
	var config types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &config); resp.Error != nil {
		return nil, false
	}
	if !isWhollyKnown(ctx, config) {
		return nil, true
	}
	v, err := plainValue(config)
	document, isObject := v.(map[string]any)
	if err == nil && !isObject {
		err = errors.New("it is no object: write " + strings.TrimSuffix(f.parameter, "."))
	}
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, errorText(err))
	}
	return document, false
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
