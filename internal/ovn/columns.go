package ovn

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// hasColumns says whether a row has the values that are wanted in columns, as operations have them; other columns may be anything.
func hasColumns(row any, want map[string]any) bool {
	for name, value := range want {
		if fmt.Sprint(plainValue(columnOf(row, name))) != fmt.Sprint(plainValue(value)) {
			return false
		}
	}
	return true
}

// columnOf returns the value that a row has in a column, by the tags of its type. A column that the type does not have is nil.
func columnOf(row any, column string) any {
	v := reflect.ValueOf(row).Elem()
	for _, field := range reflect.VisibleFields(v.Type()) {
		if field.Tag.Get("ovsdb") == column {
			return v.FieldByIndex(field.Index).Interface()
		}
	}
	return nil
}

// uuidOf returns the UUID of a row.
func uuidOf(row any) string { return fmt.Sprint(columnOf(row, "_uuid")) }

// plainValue returns a column's value so that those of rows and of operations compare: a set, and what may be there or not, as sorted texts,
// a map as one, and anything else as it is.
func plainValue(value any) any {
	set := []string{}
	switch v := value.(type) {
	case *string:
		if v != nil {
			set = append(set, *v)
		}
	case []string:
		set = append(set, v...)
	case ovsdb.OvsSet:
		for _, e := range v.GoSet {
			if uuid, is := e.(ovsdb.UUID); is {
				e = uuid.GoUUID
			}
			set = append(set, fmt.Sprint(e))
		}
	case ovsdb.OvsMap:
		return v.GoMap
	default:
		return value
	}
	slices.Sort(set)
	return set
}
