package ovn

import (
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// What guests of a network are told has the network's owner: another one's, which is left of a network that a person removed, is not it.
func TestWhatGuestsAreToldIsFoundByItsOwner(t *testing.T) {
	t.Parallel()
	row := func(uuid string, m owner.Mark) DHCPOptions {
		return DHCPOptions{UUID: uuid, ExternalIDs: map[string]string{networkKey: "nodes", markKey: m.String()}}
	}
	first, second := owner.Mark{ID: "1", Workspace: "a"}, owner.Mark{ID: "2", Workspace: "b"}
	r := networkRows{told: []DHCPOptions{row("x", first), row("y", second)}}
	for id, want := range map[string]string{"1": "x", "2": "y", "3": ""} {
		t.Run(id, func(t *testing.T) {
			got := ""
			if found := r.findTold(func(m owner.Mark) bool { return m.ID == id }); found != nil {
				got = found.UUID
			}
			if got != want {
				t.Errorf("it is %q, want %q", got, want)
			}
		})
	}
}
