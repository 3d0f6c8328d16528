package ovn

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// roots are the tables of OVN 23.03 whose rows are there by themselves, as its ovn-nb.ovsschema has them.
var roots = []string{
	"Logical_Switch", "Logical_Router", "Address_Set", "BFD", "Chassis_Template_Var", "Copp", "DHCP_Options", "DNS", "HA_Chassis_Group", "Load_Balancer", "Load_Balancer_Group",
	"Meter", "Mirror", "Port_Group", "Static_MAC_Binding",
}

func TestAllTablesWithRowsOfSomebodyAreAsked(t *testing.T) {
	t.Parallel()
	schema := ovsdb.DatabaseSchema{Tables: map[string]ovsdb.TableSchema{"NB_Global": {IsRoot: true}, "ACL": {}, "NAT": {}, "Connection": {}}}
	for _, table := range roots {
		schema.Tables[table] = ovsdb.TableSchema{IsRoot: true}
	}
	slices.Sort(roots[2:])
	if got := listRoots(schema); !slices.Equal(got[2:], roots[2:]) || !slices.Contains(got[:2], "Logical_Switch") || !slices.Contains(got[:2], "Logical_Router") {
		t.Errorf("of the schema: %q", got)
	}
	script, err := os.ReadFile("engine/cluster.sh")
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`nb\) echo (NB_Global .*) ;;`).FindSubmatch(script)
	if asked == nil {
		t.Fatal("the script has no list of tables")
	}
	got, want := slices.Sorted(slices.Values(strings.Fields(string(asked[1])))), slices.Sorted(slices.Values(append([]string{"NB_Global"}, roots...)))
	if !slices.Equal(got, want) {
		t.Errorf("the script asks %q, want %q", got, want)
	}
}

func TestRowsOfSomebodyAreNamed(t *testing.T) {
	t.Parallel()
	ours, theirs := owner.Mark{ID: "1", Workspace: "a"}, owner.Mark{ID: "2", Workspace: "b"}
	part := func(key string, m owner.Mark) string {
		return `{"_uuid":["uuid","u"],"name":"web.ops","external_ids":["map",[["` + key + `","x"],["virtcluster","` + m.String() + `"]]]}`
	}
	for name, c := range map[string]struct{ table, row, want string }{
		"a network":                            {"Logical_Switch", `{"_uuid":["uuid","u"],"name":"nodes"}`, `network "nodes"`},
		"a router":                             {"Logical_Router", `{"_uuid":["uuid","u"],"name":"lab"}`, `router "lab"`},
		"a person's port group":                {"Port_Group", `{"_uuid":["uuid","u"],"name":"persons","external_ids":["map",[]]}`, `Port_Group "persons"`},
		"our security group":                   {"Port_Group", `{"_uuid":["uuid","u"],"name":"web","external_ids":["map",[["virtcluster","` + ours.String() + `"]]]}`, `Port_Group "web"`},
		"what has no name":                     {"DNS", `{"_uuid":["uuid","0ddc0ffe-0000-4000-8000-000000000000"],"external_ids":["map",[]]}`, "DNS 0ddc0ffe-0000-4000-8000-000000000000"},
		"what is left of our network":          {"DHCP_Options", part(networkKey, ours), ""},
		"what is left of another's network":    {"DHCP_Options", part(networkKey, theirs), `DHCP_Options "web.ops"`},
		"what is left of our group":            {"Address_Set", part(groupKey, ours), ""},
		"a part that does not say whose it is": {"Address_Set", part(groupKey, owner.Mark{}), `Address_Set "web.ops"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var row ovsdb.Row
			if err := json.Unmarshal([]byte(c.row), &row); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(describeUsed(c.table, []ovsdb.Row{row}, ours), " "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	if got := describeUsed("DHCP_Options", []ovsdb.Row{{"_uuid": ovsdb.UUID{GoUUID: "u"}}}, owner.Mark{}); !slices.Equal(got, []string{"DHCP_Options u"}) {
		t.Errorf("nobody's, of a database that is nobody's: %q", got)
	}
}
