package ovn

import (
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"
)

// joinWords are the texts of values, with blanks between.
func joinWords[T any](all []T, text func(T) string) string {
	words := make([]string, 0, len(all))
	for _, v := range all {
		words = append(words, text(v))
	}
	return strings.Join(words, " ")
}

// textsOf are the texts of values.
func textsOf[T fmt.Stringer](all []T) []string {
	words := make([]string, 0, len(all))
	for _, v := range all {
		words = append(words, v.String())
	}
	return words
}

// textOf is the text of an address, "" for none.
func textOf(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// numberOf is the text of a number, "" for none.
func numberOf(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// withoutEmpty are the pairs whose values are not empty.
func withoutEmpty(of map[string]string) map[string]string {
	all := maps.Clone(of)
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}
