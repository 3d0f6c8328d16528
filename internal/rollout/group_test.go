package rollout

import (
	"fmt"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

// A machine is of the group that its mark says; where that says nothing of settings, as of one that was imported, its turn says so.
func TestWhoIsOfAGroup(t *testing.T) {
	t.Parallel()
	mark := func(inside string) string {
		return fmt.Sprintf(`<v:node xmlns:v=%q workspace="w">%s</v:node>`, metadata.Machine, inside)
	}
	render := func(k *ticket) string {
		text, err := k.renderQualified()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	turn := render(&ticket{ID: "i", Number: 1, Group: "g"})
	for name, c := range map[string]struct {
		metadata string
		is       bool
	}{
		"by its mark":                        {mark(`<v:settings><v:rollout group="g"/></v:settings>`), true},
		"by its mark, with a turn":           {mark(`<v:settings><v:rollout group="g"/></v:settings>`) + turn, true},
		"of another group":                   {mark(`<v:settings><v:rollout group="h"/></v:settings>`), false},
		"of another group, with an old turn": {mark(`<v:settings><v:rollout group="h"/></v:settings>`) + turn, false},
		"of none":                            {mark(`<v:settings/>`), false},
		"of none, with an old turn":          {mark(`<v:settings/>`) + turn, false},
		"imported":                           {"", false},
		"imported, with a turn":              {turn, true},
		"imported, with another group's":     {render(&ticket{ID: "i", Number: 1, Group: "h"}), false},
		"marked before there were settings":  {mark("") + turn, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &hypervisor.Domain{Name: "m", UUID: "u", State: "running", Config: &libvirtxml.Domain{Name: "m", UUID: "u"}}
			if c.metadata != "" {
				d.Config.Metadata = &libvirtxml.DomainMetadata{XML: c.metadata}
			}
			found := map[string]*member{}
			if err := addDomain(found, newHypervisor(t), d, "g"); err != nil {
				t.Fatal(err)
			}
			if (len(found) == 1) != c.is {
				t.Fatalf("it is of the group: %t", !c.is)
			}
			for _, m := range found {
				if m.uuid != "u" || !m.running {
					t.Errorf("%+v", m)
				}
			}
		})
	}
}
