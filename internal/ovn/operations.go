package ovn

import (
	"maps"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// insert makes a row, which the same transaction may refer to by its name: that of no column.
func insert(k Kind, row any, name string, columns map[string]any) ovsdb.Operation {
	return ovsdb.Operation{Op: ovsdb.OperationInsert, Table: k.tableOf(row), UUIDName: name, Row: ovsdb.Row(columns)}
}

// update sets columns of a row.
func update(k Kind, row any, uuid string, columns map[string]any) ovsdb.Operation {
	return ovsdb.Operation{Op: ovsdb.OperationUpdate, Table: k.tableOf(row), Row: ovsdb.Row(columns), Where: byUUID(uuid)}
}

// remove removes a row.
func remove(k Kind, row any, uuid string) ovsdb.Operation {
	return ovsdb.Operation{Op: ovsdb.OperationDelete, Table: k.tableOf(row), Where: byUUID(uuid)}
}

// mutate changes columns of a row.
func mutate(k Kind, row any, uuid string, mutations ...ovsdb.Mutation) ovsdb.Operation {
	return ovsdb.Operation{Op: ovsdb.OperationMutate, Table: k.tableOf(row), Mutations: mutations, Where: byUUID(uuid)}
}

func byUUID(uuid string) []ovsdb.Condition {
	return []ovsdb.Condition{ovsdb.NewCondition("_uuid", ovsdb.ConditionEqual, ovsdb.UUID{GoUUID: uuid})}
}

// references is a set of rows, those of the same transaction by their names.
func references(uuids ...string) ovsdb.OvsSet {
	set := ovsdb.OvsSet{GoSet: []any{}}
	for _, uuid := range uuids {
		set.GoSet = append(set.GoSet, ovsdb.UUID{GoUUID: uuid})
	}
	return set
}

// texts is a set of texts.
func texts(all ...string) ovsdb.OvsSet {
	set := ovsdb.OvsSet{GoSet: []any{}}
	for _, text := range all {
		set.GoSet = append(set.GoSet, text)
	}
	return set
}

// pairs is a map of texts.
func pairs(of map[string]string) ovsdb.OvsMap {
	m := ovsdb.OvsMap{GoMap: map[any]any{}}
	for key, value := range of {
		m.GoMap[key] = value
	}
	return m
}

// putKeys has a column of texts by texts hold what is wanted under the keys that are the caller's, and no others of these; "" stands for none.
// What else the column holds stays. Nothing to change is no mutation.
func putKeys(column string, is, want map[string]string) []ovsdb.Mutation {
	gone, put := []string{}, map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		value, there := is[key]
		if there && value != want[key] || there && want[key] == "" {
			gone = append(gone, key)
		}
		if want[key] != "" && value != want[key] {
			put[key] = want[key]
		}
	}
	var all []ovsdb.Mutation
	if len(gone) > 0 {
		all = append(all, *ovsdb.NewMutation(column, ovsdb.MutateOperationDelete, texts(gone...)))
	}
	if len(put) > 0 {
		all = append(all, *ovsdb.NewMutation(column, ovsdb.MutateOperationInsert, pairs(put)))
	}
	return all
}

// now is the timeout of what has to be so at once.
var now = 0

// unlessNamed has a transaction refused where a table has a row with a value in a column.
func unlessNamed(k Kind, row any, column, value string) ovsdb.Operation {
	// A wait for no rows at all is no operation for the client: it leaves the empty list out.
	return ovsdb.Operation{
		Op: ovsdb.OperationWait, Table: k.tableOf(row), Timeout: &now, Columns: []string{column}, Until: string(ovsdb.WaitConditionNotEqual),
		Where: []ovsdb.Condition{ovsdb.NewCondition(column, ovsdb.ConditionEqual, value)}, Rows: []ovsdb.Row{{column: value}},
	}
}

// whileOwned has a transaction refused where a row has other external_ids than it was seen with: its owner is among them.
func whileOwned(k Kind, row any, uuid string, seen map[string]string) ovsdb.Operation {
	return whileSame(k, row, uuid, externalIDs, pairs(seen))
}

// whileSame has a transaction refused where a row has another value in a column than it was seen with, or is gone.
func whileSame(k Kind, row any, uuid, column string, seen any) ovsdb.Operation {
	return ovsdb.Operation{
		Op: ovsdb.OperationWait, Table: k.tableOf(row), Timeout: &now, Columns: []string{column}, Until: string(ovsdb.WaitConditionEqual),
		Where: byUUID(uuid), Rows: []ovsdb.Row{{column: seen}},
	}
}

const externalIDs = "external_ids"
