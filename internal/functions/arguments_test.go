package functions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// asValue is what a configuration has for a plain value, in a tuple where it is a list.
func asValue(v any) attr.Value {
	switch v := v.(type) {
	case attr.Value:
		return v
	case string:
		return str(v)
	case int:
		return num(int64(v))
	case []any:
		var kinds []attr.Type
		var all []attr.Value
		for _, e := range v {
			all = append(all, asValue(e))
			kinds = append(kinds, all[len(all)-1].Type(context.Background()))
		}
		return types.TupleValueMust(kinds, all)
	case map[string]any:
		all := map[string]attr.Value{}
		for name, e := range v {
			all[name] = asValue(e)
		}
		return object(all)
	}
	panic(fmt.Sprintf("%T", v))
}

// Each field of an argument left out, null, empty and unknown: null is left out, the empty text is no way to leave a field out that
// has to be there, and what is unknown leaves the whole unknown.
func TestFieldsOfArgumentsAreNullEmptyAndUnknown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f    function.Function
		good map[string]any
	}{
		"static_pods": {NewStaticPods(), map[string]any{
			"cluster": "ocp4", "domain": "ocp4.example", "network": "10.0.100.0/24", "interface": "eth0", "api_vip": "10.0.100.240", "ingress_vip": "10.0.100.241", "name_servers": []any{"10.0.100.254"},
			"images":   map[string]any{"keepalived": "registry.example/keepalived:1", "haproxy": "registry.example/haproxy:1", "coredns": "registry.example/coredns:1"},
			"machines": []any{map[string]any{"name": "master-0", "role": "master", "address": "10.0.100.101"}},
		}},
		"agent_config": {NewAgentConfig(), map[string]any{
			"metadata": map[string]any{"name": "ocp4"}, "rendezvousIP": "10.0.100.101",
			"hosts": []any{map[string]any{"hostname": "master-0", "role": "master", "interfaces": []any{map[string]any{"name": "eth0", "macAddress": "52:54:00:aa:6c:01"}}}},
		}},
		"install_config": {NewInstallConfig(), map[string]any{
			"baseDomain": "example.com", "metadata": map[string]any{"name": "ocp4"}, "controlPlane": map[string]any{"replicas": 3}, "compute": []any{map[string]any{"replicas": 0}},
			"platform": map[string]any{"none": map[string]any{}}, "pullSecret": `{"auths":{"quay.io":{"auth":"YTpi"}}}`, "sshKey": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBnfOHkSJtJbbV1PD1zKV7kXsBU1wB5gMU5X0CDGRW1h a@b",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(config map[string]any) (attr.Value, *function.FuncError) {
				return call(t, c.f, dyn(asValue(config)))
			}
			if got, err := run(c.good); err != nil || got.IsUnknown() {
				t.Fatalf("%s: %v, %v", name, got, err)
			}
			for _, v := range []attr.Value{dyn(types.StringUnknown()), types.DynamicUnknown()} {
				if got, err := call(t, c.f, v); err != nil || !got.IsUnknown() {
					t.Errorf("%s of what is unknown: %v, %v", name, got, err)
				}
			}
			if _, err := run(map[string]any{}); err == nil {
				t.Errorf("%s takes an empty object", name)
			}
			for _, field := range slices.Sorted(maps.Keys(c.good)) {
				with := func(v any) map[string]any {
					config := maps.Clone(c.good)
					config[field] = v
					return config
				}
				left := maps.Clone(c.good)
				delete(left, field)
				without, err := run(left)
				null, nullErr := run(with(types.StringNull()))
				if fmt.Sprint(without, err) != fmt.Sprint(null, nullErr) {
					t.Errorf("%s: %s is null: %v, %v; left out: %v, %v", name, field, null, nullErr, without, err)
				}
				if got, err := run(with(types.StringUnknown())); err != nil || !got.IsUnknown() {
					t.Errorf("%s: %s is unknown: %v, %v", name, field, got, err)
				}
				if _, text := c.good[field].(string); text && err != nil {
					if _, emptyErr := run(with("")); emptyErr == nil {
						t.Errorf("%s takes an empty %s, which has to be there", name, field)
					}
				}
				if list, ok := c.good[field].([]any); ok {
					if _, err := run(with(append(slices.Clone(list), types.StringNull()))); err == nil {
						t.Errorf("%s takes a null in %s", name, field)
					}
				}
			}
		})
	}
}
