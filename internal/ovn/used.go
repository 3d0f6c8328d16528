package ovn

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// Used lists what the northbound database has, whoever made it: networks and routers, and then the rows of all other tables whose rows are there by
// themselves. What a person left of something of the database's owner is not among it: a network that was removed leaves what its guests were told.
func (n *Northbound) Used(ctx context.Context) (names []string, err error) {
	global, err := n.findGlobal(ctx)
	if err != nil {
		return nil, err
	}
	c, err := n.North.connect(ctx)
	if err != nil {
		return nil, err
	}
	schema := c.Schema()
	for _, table := range listRoots(schema) {
		rows, err := n.North.selectRows(ctx, table, nil, listUsedColumns(schema.Tables[table])...)
		if err != nil {
			return nil, err
		}
		names = append(names, describeUsed(table, rows, owner.Parse(global.ExternalIDs[markKey]))...)
	}
	return names, nil
}

// usedNouns are what the provider calls the rows of tables. Others are called by their tables, as ovn-nbctl does.
var usedNouns = map[string]string{"Logical_Switch": "network", "Logical_Router": "router"}

// listRoots returns the tables whose rows are there by themselves, those of networks and routers first: rows of others go with the last row that refers to
// them (RFC 7047, 3.2). The schema of the server says which these are, as each release of OVN has more. NB_Global has its one row always.
func listRoots(schema ovsdb.DatabaseSchema) (tables []string) {
	for _, table := range slices.Sorted(maps.Keys(schema.Tables)) {
		if isRoot, err := schema.IsRoot(table); err == nil && isRoot && table != "NB_Global" {
			tables = append(tables, table)
		}
	}
	slices.SortStableFunc(tables, func(a, b string) int { return len(usedNouns[b]) - len(usedNouns[a]) })
	return tables
}

// listUsedColumns returns the columns of a table that say what a row is and whose.
func listUsedColumns(table ovsdb.TableSchema) []string {
	return slices.DeleteFunc([]string{"_uuid", "name", externalIDs}, func(column string) bool {
		_, there := table.Columns[column]
		return !there && column != "_uuid"
	})
}

// describeUsed names the rows of a table, in order, without what is left of something of the owner's.
func describeUsed(table string, rows []ovsdb.Row, whose owner.Mark) (names []string) {
	for _, row := range rows {
		ids, _ := row[externalIDs].(ovsdb.OvsMap)
		read := func(key string) string { text, _ := ids.GoMap[key].(string); return text }
		if isPart := read(networkKey) != "" || read(groupKey) != "" || read(routerKey) != ""; isPart && isOfSameState(owner.Parse(read(markKey)), whose) {
			continue
		}
		name, _ := row["name"].(string)
		uuid, _ := row["_uuid"].(ovsdb.UUID)
		switch noun := usedNouns[table]; {
		case noun != "":
			names = append(names, fmt.Sprintf("%s %q", noun, name))
		case name != "":
			names = append(names, fmt.Sprintf("%s %q", table, name))
		default:
			names = append(names, fmt.Sprintf("%s %s", table, uuid.GoUUID))
		}
	}
	slices.Sort(names)
	return names
}

// isOfSameState says whether two marks are of one state; no mark is of none.
func isOfSameState(m, other owner.Mark) bool {
	return m.ID != "" && m.ID == other.ID || m.Workspace != "" && m.Workspace == other.Workspace
}
