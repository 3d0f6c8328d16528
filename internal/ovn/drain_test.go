package ovn

import (
	"errors"
	"strings"
	"testing"
)

func TestWhoLeadsOutInPlaceOfAChassis(t *testing.T) {
	t.Parallel()
	member := func(uuid, chassis string, priority int) GroupMember { return GroupMember{uuid, chassis, priority} }
	own := map[string]string{routerKey: "lab"}
	for name, c := range map[string]struct {
		groups  []ChassisGroup
		members []GroupMember
		// changes are the rows that are changed, and refused what the error says.
		changes, refused string
	}{
		"nobody names it":       {groups: []ChassisGroup{{Name: "out-lab", Members: []string{"1"}, ExternalIDs: own}}, members: []GroupMember{member("1", "b", 3)}},
		"another one stands in": {groups: []ChassisGroup{{Name: "out-lab", Members: []string{"1", "2"}, ExternalIDs: own}}, members: []GroupMember{member("1", "a", 2), member("2", "b", 1), member("3", "a", 7)}, changes: "1"},
		"it has handed over":    {groups: []ChassisGroup{{Name: "out-lab", Members: []string{"1", "2"}, ExternalIDs: own}}, members: []GroupMember{member("1", "a", 0), member("2", "b", 1)}},
		"it is alone":           {groups: []ChassisGroup{{Name: "out-lab", Members: []string{"1"}, ExternalIDs: own}}, members: []GroupMember{member("1", "a", 2)}, refused: `router "lab" leads out by this chassis alone`},
		"the other one leaves":  {groups: []ChassisGroup{{Name: "out-lab", Members: []string{"1", "2"}, ExternalIDs: own}}, members: []GroupMember{member("1", "a", 2), member("2", "leaves", 1)}, refused: `router "lab" leads out by chassis alone that leave or are gone`},
		"a third one stays":     {groups: []ChassisGroup{{Name: "out-lab", Members: []string{"1", "2", "3"}, ExternalIDs: own}}, members: []GroupMember{member("1", "a", 3), member("2", "leaves", 2), member("3", "b", 1)}, changes: "1"},
		"a person's group":      {groups: []ChassisGroup{{Name: "persons", Members: []string{"1", "2"}}}, members: []GroupMember{member("1", "a", 2), member("2", "b", 1)}, refused: "ovn-nbctl ha-chassis-group-remove-chassis persons a"},
	} {
		t.Run(name, func(t *testing.T) {
			operations, err := handOver(c.groups, c.members, "a", map[string]Follower{"b": {ID: "b"}, "c": {ID: "c"}})
			if c.refused != "" {
				if !errors.As(err, new(*GatewayError)) || !strings.Contains(err.Error(), c.refused) || operations != nil {
					t.Errorf("%v, %v", operations, err)
				}
				return
			}
			if err != nil || (len(operations) == 1) != (c.changes != "") || len(operations) > 1 {
				t.Fatalf("%v, %v", operations, err)
			}
			if c.changes != "" && operations[0].Row["priority"] != 0 {
				t.Errorf("%v", operations)
			}
		})
	}
}
