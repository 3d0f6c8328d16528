package metadata

import (
	"testing"

	"libvirt.org/go/libvirtxml"
)

func TestTheMarkOfAMachineIsFoundAmongOthers(t *testing.T) {
	const (
		before = `<app:node xmlns:app="urn:x" workspace="theirs"><app:node/></app:node>` + "\n"
		mark   = `<v:node xmlns:v="` + Machine + `" owner="o" workspace="w"><v:label name="a">b</v:label></v:node>`
	)
	for text, want := range map[string]string{
		"": "", before: "", before + mark: mark, mark + before: mark, `<v:other xmlns:v="` + Machine + `" workspace="w"/>`: "", before + before + mark + before: mark,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			start, end, tag, err := FindMachine(text)
			if err != nil || text[start:end] != want || (want == "") != (len(tag.Attr) == 0) {
				t.Errorf("%s: %q with %v, %v", text, text[start:end], tag.Attr, err)
			}
			workspace := ""
			if want != "" {
				workspace = "w"
			}
			if got := MachineWorkspace(&libvirtxml.Domain{Metadata: &libvirtxml.DomainMetadata{XML: text}}); got != workspace {
				t.Errorf("%s: the workspace is %q", text, got)
			}
		})
	}
	if _, _, _, err := FindMachine("<a><b>"); err == nil {
		t.Error("what does not end is understood")
	}
	if got := MachineWorkspace(&libvirtxml.Domain{}); got != "" {
		t.Errorf("a machine without metadata is in %q", got)
	}
}
