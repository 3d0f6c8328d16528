// Package cpuset is sets of processors as libvirt and the kernel spell them: "0-3,8".
package cpuset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// most is the highest number of a processor or node that is taken.
const most = 4095

// Parse returns the processors of a set, in order.
func Parse(text string) ([]int, error) {
	var all []int
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if err == nil && isRange {
			to, err = strconv.Atoi(last)
		}
		if err != nil || from < 0 || to < from || to > most {
			return nil, fmt.Errorf("%q is no number, and no range such as 2-5", part)
		}
		for n := from; n <= to; n++ {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Format spells a set of processors that are in order.
func Format(set []int) string {
	var parts []string
	for i := 0; i < len(set); {
		j := i
		for j+1 < len(set) && set[j+1] == set[j]+1 {
			j++
		}
		part := strconv.Itoa(set[i])
		if j > i {
			part += "-" + strconv.Itoa(set[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// Check says what is wrong with a set: libvirt spells each in one way alone, so another one would never be read back.
func Check(text string) error {
	set, err := Parse(text)
	if err != nil {
		return err
	}
	if spelled := Format(set); spelled != text {
		return fmt.Errorf("write it as libvirt does, %q", spelled)
	}
	return nil
}
