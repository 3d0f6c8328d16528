package vip

import (
	"net/netip"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
)

// upgradeList brings a state up to date whose members are a list: they stay one, so that the configuration that made them plans
// nothing, and show by name in instances. The owner was a service node's id, and the VIP's id had those of all members. An
// identity has no members, and stays: it is what an import takes.
func upgradeList(attributes map[string]any) error {
	list, is := attributes["members"].([]any)
	if !is {
		return nil
	}
	var members []keepalived.Member
	kinds := make([]any, 0, len(list))
	for _, e := range list {
		m, _ := e.(map[string]any)
		id, _ := m["service_node"].(string)
		members = append(members, keepalived.Member{ID: id})
		kinds = append(kinds, []any{"object", map[string]any{
			"service_node": "string", "interface": "string", "address": "string", "priority": "number", "state": "string",
		}})
	}
	instances := map[string]any{}
	for i, title := range keepalived.Titles(members) {
		instances[title] = list[i]
		if attributes["owner"] == members[i].ID {
			attributes["owner"] = title
		}
	}
	attributes["instances"] = instances
	attributes["members"] = map[string]any{"type": []any{"tuple", kinds}, "value": list}
	name, _ := attributes["name"].(string)
	addresses, _ := attributes["addresses"].([]any)
	if len(addresses) > 0 {
		text, _ := addresses[0].(string)
		if first, err := netip.ParsePrefix(text); err == nil {
			attributes["id"] = keepalived.ID(first.Addr(), name)
		}
	}
	return nil
}
