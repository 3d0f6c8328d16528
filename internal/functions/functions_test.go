package functions

import (
	"context"
	"math/big"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// call runs a function as the CLI does, and returns its result or its error.
func call(t *testing.T, f function.Function, arguments ...attr.Value) (attr.Value, *function.FuncError) {
	t.Helper()
	var definition function.DefinitionResponse
	f.Definition(t.Context(), function.DefinitionRequest{}, &definition)
	if v := definition.Definition.VariadicParameter; v != nil {
		n := len(definition.Definition.Parameters)
		variadic := make([]attr.Type, len(arguments)-n)
		for i := range variadic {
			variadic[i] = v.GetType()
		}
		arguments = append(arguments[:n:n], types.TupleValueMust(variadic, arguments[n:]))
	}
	result, err := definition.Definition.Return.NewResultData(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	resp := function.RunResponse{Result: result}
	f.Run(t.Context(), function.RunRequest{Arguments: function.NewArgumentsData(arguments)}, &resp)
	return resp.Result.Value(), resp.Error
}

func str(s string) attr.Value     { return types.StringValue(s) }
func num(n int64) attr.Value      { return types.Int64Value(n) }
func dyn(v attr.Value) attr.Value { return types.DynamicValue(v) }

func list(texts ...string) attr.Value {
	elements := make([]attr.Value, len(texts))
	for i, s := range texts {
		elements[i] = str(s)
	}
	return types.ListValueMust(types.StringType, elements)
}

func object(fields map[string]attr.Value) attr.Value {
	kinds := map[string]attr.Type{}
	for name, v := range fields {
		kinds[name] = v.Type(context.Background())
	}
	return types.ObjectValueMust(kinds, fields)
}

func TestFunctions(t *testing.T) {
	t.Parallel()
	const ignition31 = `{"ignition":{"version":"3.1.0"},"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["a"]}]}}`
	const ignition34 = `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/hostname","contents":{"source":"data:,n1"}}]}}`
	for name, c := range map[string]struct {
		f    function.Function
		args []attr.Value
		want attr.Value
	}{
		"mac_address":                      {NewMACAddress(), []attr.Value{str("okd-master-01"), num(0)}, str("52:54:00:22:5d:84")},
		"virtual_router_id":                {NewVirtualRouterID(), []attr.Value{str("vmware"), str("ingress")}, num(124)},
		"virtual_router_id as it is":       {NewVirtualRouterID(), []attr.Value{str("ocp4"), str("api"), str("current")}, num(222)},
		"virtual_router_id before 4.5":     {NewVirtualRouterID(), []attr.Value{str("ocp4"), str("api"), str("masked")}, num(29)},
		"pod_cidr":                         {NewPodCIDR(), []attr.Value{str("10.128.0.0/14"), num(23), num(1)}, str("10.128.2.0/23")},
		"resolv_conf":                      {NewResolvConf(), []attr.Value{list("10.0.0.100", "FD00::1"), list("okd.example", "example")}, str("search okd.example example\nnameserver 10.0.0.100\nnameserver fd00::1\n")},
		"resolv_conf without search":       {NewResolvConf(), []attr.Value{list("10.0.0.100"), types.ListNull(types.StringType)}, str("nameserver 10.0.0.100\n")},
		"hosts_file of addresses":          {NewHostsFile(), []attr.Value{dyn(object(map[string]attr.Value{"10.0.0.10": list("b.example", "b"), "10.0.0.9": str("a"), "127.0.0.1": str("me")}))}, str("::1 localhost ip6-localhost ip6-loopback\n10.0.0.9 a\n10.0.0.10 b.example b\n127.0.0.1 me\n")},
		"hosts_file of names":              {NewHostsFile(), []attr.Value{dyn(types.MapValueMust(types.StringType, map[string]attr.Value{"b": str("10.0.0.2"), "a": str("10.0.0.2"), "c": str("fd00::1")}))}, str("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n10.0.0.2 a b\nfd00::1 c\n")},
		"hosts_file with something open":   {NewHostsFile(), []attr.Value{dyn(object(map[string]attr.Value{"a": types.StringUnknown()}))}, types.StringUnknown()},
		"kubeadm_config":                   {NewKubeadmConfig(), []attr.Value{dyn(object(map[string]attr.Value{"InitConfiguration": object(map[string]attr.Value{"skipPhases": list("addon/kube-proxy"), "localAPIEndpoint": object(map[string]attr.Value{"bindPort": types.NumberValue(big.NewFloat(6443))})})}))}, str("apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nlocalAPIEndpoint:\n  bindPort: 6443\nskipPhases:\n- addon/kube-proxy\n")},
		"static_pods with something open":  {NewStaticPods(), []attr.Value{dyn(object(map[string]attr.Value{"api_vip": types.StringUnknown()}))}, types.MapUnknown(types.StringType)},
		"agent_config with something open": {NewAgentConfig(), []attr.Value{dyn(object(map[string]attr.Value{"rendezvousIP": types.StringUnknown()}))}, types.StringUnknown()},
		"ignition_merge":                   {NewIgnitionMerge(), []attr.Value{str(ignition31), str(ignition34)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := call(t, c.f, c.args...)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			if c.want != nil && !got.Equal(c.want) {
				t.Errorf("%s: got %s, want %s", name, got, c.want)
			}
			if name == "ignition_merge" {
				for _, part := range []string{`"version":"3.4.0"`, `"name":"core"`, `"path":"/etc/hostname"`} {
					if !strings.Contains(got.(types.String).ValueString(), part) {
						t.Errorf("%s: %s lacks %s", name, got, part)
					}
				}
			}
		})
	}
}

func TestIgnitionMergeLaterGoesFirst(t *testing.T) {
	t.Parallel()
	hostname := func(name string) attr.Value {
		return str(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/hostname","contents":{"source":"data:,` + name + `"}}]}}`)
	}
	got, err := call(t, NewIgnitionMerge(), hostname("first"), hostname("second"))
	if err != nil || !strings.Contains(got.String(), "second") || strings.Contains(got.String(), "first") || !strings.Contains(got.String(), "3.2.0") {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestFunctionsSayWhichArgumentIsWrong(t *testing.T) {
	t.Parallel()
	good := str(`{"ignition":{"version":"3.4.0"}}`)
	for name, c := range map[string]struct {
		f        function.Function
		args     []attr.Value
		argument int64
		message  string
	}{
		"no name":                  {NewMACAddress(), []attr.Value{str(""), num(0)}, 0, "empty"},
		"negative index":           {NewMACAddress(), []attr.Value{str("a"), num(-1)}, 1, "negative"},
		"no such role":             {NewVirtualRouterID(), []attr.Value{str("a"), str("etcd")}, 1, `"api" or "ingress"`},
		"no such formula":          {NewVirtualRouterID(), []attr.Value{str("a"), str("api"), str("4.4")}, 2, `"current" or "masked"`},
		"two formulas":             {NewVirtualRouterID(), []attr.Value{str("a"), str("api"), str("masked"), str("current")}, 3, "one formula"},
		"an id of 0":               {NewVirtualRouterID(), []attr.Value{str("ocp7"), str("api"), str("masked")}, 0, "id 0"},
		"no network":               {NewPodCIDR(), []attr.Value{str("10.128.0.0"), num(23), num(0)}, 0, "no network"},
		"too short a prefix":       {NewPodCIDR(), []attr.Value{str("10.128.0.0/14"), num(8), num(0)}, 1, "write 14 to 32"},
		"too many nodes":           {NewPodCIDR(), []attr.Value{str("10.128.0.0/14"), num(23), num(512)}, 2, "512 subnets"},
		"no servers":               {NewResolvConf(), []attr.Value{list(), list()}, 0, "one to 3"},
		"four servers":             {NewResolvConf(), []attr.Value{list("1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"), list()}, 0, "one to 3"},
		"server with a port":       {NewResolvConf(), []attr.Value{list("1.1.1.1:53"), list()}, 0, "without a port"},
		"domain with a line":       {NewResolvConf(), []attr.Value{list("1.1.1.1"), list("a\nb")}, 1, "no domain"},
		"hosts not a map":          {NewHostsFile(), []attr.Value{dyn(str("a"))}, 0, "no map"},
		"hosts without any":        {NewHostsFile(), []attr.Value{dyn(object(map[string]attr.Value{"a": str("b")}))}, 0, "Neither"},
		"hosts with a number":      {NewHostsFile(), []attr.Value{dyn(object(map[string]attr.Value{"10.0.0.1": num(1)}))}, 0, "list of strings"},
		"host name with blank":     {NewHostsFile(), []attr.Value{dyn(object(map[string]attr.Value{"10.0.0.1": str("a b")}))}, 0, "no host name"},
		"install_config of text":   {NewInstallConfig(), []attr.Value{dyn(str("baseDomain: example"))}, 0, "no object"},
		"install_config of others": {NewInstallConfig(), []attr.Value{dyn(object(map[string]attr.Value{"base_domain": str("example")}))}, 0, "base_domain: there is no such field: write baseDomain"},
		"broken JSON":              {NewIgnitionMerge(), []attr.Value{good, str("{\n  \"ignition\": }")}, 1, "line 2 column"},
		"unknown version":          {NewIgnitionMerge(), []attr.Value{str(`{"ignition":{"version":"2.3.0"}}`)}, 0, "3.5.0"},
		"invalid content":          {NewIgnitionMerge(), []attr.Value{good, str(`{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"relative"}]}}`)}, 1, "path"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := call(t, c.f, c.args...)
			if err == nil || err.FunctionArgument == nil || *err.FunctionArgument != c.argument || !strings.Contains(err.Text, c.message) {
				t.Errorf("%s: %+v, want one about argument %d with %q", name, err, c.argument, c.message)
			}
			if err != nil && strings.HasSuffix(err.Text, ".") {
				t.Errorf("%s: %q ends with a full stop, after which the CLI writes another", name, err.Text)
			}
		})
	}
}
