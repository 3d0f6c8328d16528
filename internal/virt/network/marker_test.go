package network

import (
	"maps"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

func TestMarksThatAnotherProcessChangedAreKept(t *testing.T) {
	t.Parallel()
	configure := func(marks hostMarks) string {
		root := newElement("network")
		writeHostMarks(root, marks)
		return renderXML(root)
	}
	of := func(id string) hostMark { return hostMark{Mark: owner.Mark{ID: id}} }
	for name, c := range map[string]struct{ read, latest, written, want hostMarks }{
		"nothing changed":          {hostMarks{"a": of("1")}, hostMarks{"a": of("1")}, hostMarks{"a": of("1"), "b": of("2")}, hostMarks{"a": of("1"), "b": of("2")}},
		"one came":                 {hostMarks{"a": of("1")}, hostMarks{"a": of("1"), "c": of("3")}, hostMarks{"a": of("1"), "b": of("2")}, hostMarks{"a": of("1"), "b": of("2"), "c": of("3")}},
		"one changed":              {hostMarks{"a": of("1")}, hostMarks{"a": of("9")}, hostMarks{"a": of("1"), "b": of("2")}, hostMarks{"a": of("9"), "b": of("2")}},
		"one went":                 {hostMarks{"a": of("1")}, hostMarks{}, hostMarks{"a": of("1"), "b": of("2")}, hostMarks{"b": of("2")}},
		"one that is written came": {hostMarks{}, hostMarks{"b": of("3")}, hostMarks{"b": of("2")}, hostMarks{"b": of("2")}},
		"one that is removed":      {hostMarks{"a": of("1")}, hostMarks{"a": of("1"), "c": of("3")}, hostMarks{}, hostMarks{"c": of("3")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			merged, err := mergeHostMarks(configure(c.written), configure(c.read), configure(c.latest))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := parseHostMarks(merged); err != nil || !maps.Equal(got, c.want) {
				t.Errorf("the marks are %v, %v", got, err)
			}
		})
	}
}
