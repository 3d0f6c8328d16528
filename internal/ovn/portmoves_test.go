package ovn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// A machine's own ports follow it; those of others, and those whose chassis somebody chose, stay as they are.
func TestPortsThatFollowAMachine(t *testing.T) {
	t.Parallel()
	m := Mover{Machine: "6b0f5b0e", Owns: func(mark owner.Mark) bool { return mark.ID == "own" }}
	port := func(machine, id, chosen, moving string) *Port {
		p := &Port{Options: map[string]string{}, ExternalIDs: map[string]string{machineKey: machine, markKey: owner.Mark{ID: id}.String()}}
		if chosen != "" {
			p.Options[chassisOption] = chosen
		}
		if moving != "" {
			p.ExternalIDs[movingKey] = moving
		}
		return p
	}
	for what, c := range map[string]struct {
		port *Port
		want bool
	}{
		"its own":              {port("6b0f5b0e", "own", "", ""), true},
		"its own, on the way":  {port("6b0f5b0e", "own", "one,two", "one,two"), true},
		"another machine's":    {port("7c1f5b0e", "own", "", ""), false},
		"another state's":      {port("6b0f5b0e", "other", "", ""), false},
		"on a chosen chassis":  {port("6b0f5b0e", "own", "three", ""), false},
		"chosen while it goes": {port("6b0f5b0e", "own", "three", "one,two"), false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if got := m.isMoved(c.port); got != c.want {
				t.Errorf("it follows: %t", got)
			}
		})
	}
}

// What a move writes is what its end takes back, and nothing else of the port.
func TestAPortIsOnBothChassisForAMove(t *testing.T) {
	t.Parallel()
	still := &Port{Options: map[string]string{"hostname": "a"}, ExternalIDs: map[string]string{machineKey: "6b0f5b0e"}}
	if got := still.putChassis(""); got != nil {
		t.Errorf("a port that is not on the way is changed: %v", got)
	}
	begun := fmt.Sprint(still.putChassis("one,two"))
	for _, want := range []string{"requested-chassis:one,two", "activation-strategy:rarp", "virtcluster-moving:one,two"} {
		if !strings.Contains(begun, want) {
			t.Errorf("%s is not in %s", want, begun)
		}
	}
	still.Options[chassisOption], still.Options[activationOption], still.ExternalIDs[movingKey] = "one,two", "rarp", "one,two"
	ended := fmt.Sprint(still.putChassis(""))
	for _, want := range []string{"requested-chassis", "activation-strategy", "virtcluster-moving"} {
		if !strings.Contains(ended, want) {
			t.Errorf("%s stays: %s", want, ended)
		}
	}
	if strings.Contains(ended, "insert") {
		t.Errorf("the end inserts: %s", ended)
	}
}

func TestAHostIsFoundAmongChassis(t *testing.T) {
	t.Parallel()
	rows := []ChassisRow{{Name: "1", Hostname: "kvm1.rack1.example"}, {Name: "2", Hostname: "kvm1.rack2.example"}, {Name: "3", Hostname: "kvm3.rack1.example"}}
	for host, want := range map[string]string{
		"kvm1.rack1.example": "1", "KVM1.rack2.example": "2", "kvm3": "3", "kvm3.example": "3", "kvm1": "", "kvm4": "",
	} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			got := ""
			if c := chooseChassis(rows, host); c != nil {
				got = c.Name
			}
			if got != want {
				t.Errorf("it is %q, want %q", got, want)
			}
		})
	}
}
