package ovn

import (
	"encoding/json"
	"testing"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

func TestRowsOfTwoChangesHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	operations := []ovsdb.Operation{
		unlessNamed(NorthDB, &Port{}, "name", "port"),
		insert(NorthDB, &DHCPOptions{}, "dhcp", map[string]any{"cidr": "10.0.0.0/24"}),
		insert(NorthDB, &Port{}, "port", map[string]any{"name": "port", "dhcpv4_options": references("dhcp"), "options": pairs(map[string]string{"port": "port"})}),
		mutate(NorthDB, &Switch{}, "0b9cb4d3-fa07-44c1-b89e-bda8ccb3a300", *ovsdb.NewMutation("ports", ovsdb.MutateOperationInsert, references("port", "452d4bfe-0726-45dd-a6ce-2e92f423def2"))),
	}
	before, err := json.Marshal(operations)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(renameRows(operations, 7))
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"op":"wait","table":"Logical_Switch_Port","rows":[{"name":"port"}],"columns":["name"],"timeout":0,"where":[["name","==","port"]],"until":"!="},` +
		`{"op":"insert","table":"DHCP_Options","row":{"cidr":"10.0.0.0/24"},"uuid-name":"dhcp_7"},` +
		`{"op":"insert","table":"Logical_Switch_Port","row":{"dhcpv4_options":["named-uuid","dhcp_7"],"name":"port","options":["map",[["port","port"]]]},"uuid-name":"port_7"},` +
		`{"op":"mutate","table":"Logical_Switch","mutations":[["ports","insert",["set",[["named-uuid","port_7"],["uuid","452d4bfe-0726-45dd-a6ce-2e92f423def2"]]]]],"where":[["_uuid","==",["uuid","0b9cb4d3-fa07-44c1-b89e-bda8ccb3a300"]]]}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if after, err := json.Marshal(operations); err != nil || string(after) != string(before) {
		t.Errorf("what was renamed changed itself: %v\n%s\n%s", err, after, before)
	}
}
