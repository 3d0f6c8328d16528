package machine

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"libvirt.org/go/libvirtxml"
)

// A domain that another provider made, of each of its versions, loses nothing by a change: what is read of it is applied to it again, with a role.
func TestDomainsOfAnotherProviderKeepWhatIsNotModelled(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../peer/testdata/*/domains/*.xml")
	if err != nil || len(files) < 20 {
		t.Fatalf("only %d domains: %v", len(files), err)
	}
	noted := regexp.MustCompile(`(?s) *<metadata>.*?</metadata>\n`)
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var d libvirtxml.Domain
			if err := d.Unmarshal(string(text)); err != nil {
				t.Fatal(err)
			}
			before, err := d.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			m := Read(&d)
			if m.Disk(Root) == nil || len(m.Interfaces) == 0 {
				t.Errorf("read without a root disk or without interfaces: %+v", m)
			}
			m.Mark.Role = "moved"
			if err := Apply(&d, m); err != nil {
				t.Fatal(err)
			}
			after, err := d.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if was, is := noted.ReplaceAllString(before, ""), noted.ReplaceAllString(after, ""); was != is {
				t.Errorf("changed: %s", cmp.Diff(was, is))
			}
		})
	}
}
