package ovn

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// child is a row that is there as long as another one refers to it: as it is, or the columns that are wanted of it.
type child struct {
	row     any
	columns map[string]any
}

// keyRows returns rows that are there as children, by the keys that they are told apart by.
func keyRows[R any](rows []R, key func(*R) string) map[string]child {
	all := map[string]child{}
	for _, row := range rows {
		all[key(&row)] = child{row: &row}
	}
	return all
}

// putChildren has a row refer to the children that are wanted, by their keys, and to no others of those that it has. One that is there and
// has other values is changed. What is made has a name by which the same transaction refers to it.
func putChildren(table, parent any, parentUUID, column string, has, want map[string]child) (operations []ovsdb.Operation) {
	var made, gone []string
	var removed []ovsdb.Operation
	for _, key := range slices.Sorted(maps.Keys(want)) {
		is, there := has[key]
		switch {
		case !there:
			name := rowName(column, key)
			made = append(made, name)
			operations = append(operations, insert(NorthDB, table, name, want[key].columns))
		case !hasColumns(is.row, want[key].columns):
			operations = append(operations, update(NorthDB, table, uuidOf(is.row), want[key].columns))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(has)) {
		if _, stays := want[key]; !stays {
			uuid := uuidOf(has[key].row)
			gone = append(gone, uuid)
			// It would go with the last reference to it, but too late for what it refers to itself, and the same transaction removes.
			removed = append(removed, remove(NorthDB, table, uuid))
		}
	}
	if parentUUID == "" {
		return operations // the parent is made with its references
	}
	if len(gone) > 0 {
		operations = append(operations, mutate(NorthDB, parent, parentUUID, *ovsdb.NewMutation(column, ovsdb.MutateOperationDelete, references(gone...))))
	}
	if len(made) > 0 {
		operations = append(operations, mutate(NorthDB, parent, parentUUID, *ovsdb.NewMutation(column, ovsdb.MutateOperationInsert, references(made...))))
	}
	return append(operations, removed...)
}

// childNames are the references of a parent that is made with its children.
func childNames(column string, want map[string]child) ovsdb.OvsSet {
	names := []string{}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		names = append(names, rowName(column, key))
	}
	return references(names...)
}

var noName = regexp.MustCompile(`[^A-Za-z0-9]`)

// rowName is what a transaction calls a row that it makes (RFC 7047, <id>).
func rowName(column, key string) string {
	return "row_" + column + "_" + noName.ReplaceAllStringFunc(key, func(c string) string { return fmt.Sprintf("_%x_", c) })
}
