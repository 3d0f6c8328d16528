package ovn

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// renameRows returns operations in which the rows that they make have names that no other of a group of changes has: each change is planned as if
// it were alone, and one transaction has each name once.
func renameRows(operations []ovsdb.Operation, number int) []ovsdb.Operation {
	names := map[string]string{}
	for _, o := range operations {
		if o.UUIDName != "" {
			names[o.UUIDName] = fmt.Sprintf("%s_%d", o.UUIDName, number)
		}
	}
	if len(names) == 0 {
		return operations
	}
	renamed := slices.Clone(operations)
	for at, o := range renamed {
		if o.UUIDName != "" {
			o.UUIDName = names[o.UUIDName]
		}
		o.Row = renameColumns(o.Row, names)
		o.Mutations = slices.Clone(o.Mutations)
		for m := range o.Mutations {
			o.Mutations[m].Value = renameValue(o.Mutations[m].Value, names)
		}
		renamed[at] = o
	}
	return renamed
}

func renameColumns(row ovsdb.Row, names map[string]string) ovsdb.Row {
	row = maps.Clone(row)
	for column, v := range row {
		row[column] = renameValue(v, names)
	}
	return row
}

// renameValue renames references, alone or in a set: no column of OVN's has them elsewhere.
func renameValue(v any, names map[string]string) any {
	switch v := v.(type) {
	case ovsdb.UUID:
		if name, is := names[v.GoUUID]; is {
			return ovsdb.UUID{GoUUID: name}
		}
	case ovsdb.OvsSet:
		set := ovsdb.OvsSet{GoSet: slices.Clone(v.GoSet)}
		for at, element := range set.GoSet {
			set.GoSet[at] = renameValue(element, names)
		}
		return set
	}
	return v
}
