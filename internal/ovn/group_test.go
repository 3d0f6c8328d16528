package ovn

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

var web = SecurityGroup{
	Name: "web", AddressSets: map[string][]string{"admins": {"10.19.41.0/24", "fd00::/64"}},
	Rules: []SecurityRule{
		{Ingress, "tcp", "443", ""}, {Ingress, "tcp", "30000-32767", "10.50.0.0/24"}, {Ingress, "udp", "", "admins"}, {Ingress, "icmp", "", "admins"},
		{Ingress, "any", "", "web"}, {Egress, "any", "", "fd00::1"}, {Ingress, "VRRP", "", ""},
	},
}

// groupRowsOf are the rows that a group is kept in.
func groupRowsOf(g SecurityGroup) groupRows {
	r := groupRows{group: &PortGroup{Name: g.Name}, acls: map[string]ACL{}, sets: map[string]AddressSet{}}
	for key, a := range g.listACLs() {
		r.acls[key] = ACL{Direction: a.Direction, Match: a.Match, Action: a.Action, Priority: a.Priority, ExternalIDs: map[string]string{}}
	}
	for at, rule := range g.Rules {
		r.acls[rule.formatRule()].ExternalIDs[placeKey] = fmt.Sprint(at)
	}
	for set := range g.AddressSets {
		for _, four := range []bool{true, false} {
			r.sets[g.setName(set, four)] = AddressSet{Name: g.setName(set, four), Addresses: g.listMembers(set, four)}
		}
	}
	return r
}

func TestARuleAsAnExpressionOfOVN(t *testing.T) {
	t.Parallel()
	for at, want := range []string{
		"outport == @web && tcp && tcp.dst == 443",
		"outport == @web && tcp && tcp.dst >= 30000 && tcp.dst <= 32767 && ip4.src == 10.50.0.0/24",
		"outport == @web && udp && (ip4.src == $web.admins.v4 || ip6.src == $web.admins.v6)",
		"outport == @web && icmp4 && (ip4.src == $web.admins.v4)",
		"outport == @web && ip && (ip4.src == $web_ip4 || ip6.src == $web_ip6)",
		"inport == @web && ip && ip6.dst == fd00::1",
		"outport == @web && ip.proto == 112",
	} {
		t.Run(web.Rules[at].formatRule(), func(t *testing.T) {
			t.Parallel()
			if got := web.formatACL(web.Rules[at]); got.Match != want {
				t.Errorf("it is %s\nnot   %s", got.Match, want)
			}
		})
	}
}

// A chassis passes over an expression that has && and || side by side with no parentheses between them, and says so in its log alone.
func TestExpressionsOfAGroupAreWhatAChassisTakes(t *testing.T) {
	t.Parallel()
	inner := regexp.MustCompile(`\([^()]*\)`)
	for key, a := range web.listACLs() {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			for text := a.Match; text != ""; {
				part := inner.FindString(text)
				if part == "" {
					part = text
				}
				text = strings.Replace(text, part, "", 1)
				if strings.Contains(part, "&&") && strings.Contains(part, "||") {
					t.Fatalf("%s has both in %s", a.Match, part)
				}
			}
		})
	}
}

func TestASecurityGroupIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	if problems := web.Validate(); len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := groupRowsOf(web).readGroup("web"); !reflect.DeepEqual(got, web) {
		t.Errorf("read is %+v\nof      %+v", got, web)
	}
}

// A rule whose ACL somebody changed is none, and none is where somebody took away what refuses the rest.
func TestWhatAPersonChangedOfASecurityGroupShows(t *testing.T) {
	t.Parallel()
	changed := groupRowsOf(web)
	key := web.Rules[0].formatRule()
	a := changed.acls[key]
	a.Match = "outport == @web && tcp && tcp.dst == 444"
	changed.acls[key] = a
	if got := changed.readGroup("web"); len(got.Rules) != len(web.Rules)-1 || got.Rules[0] != web.Rules[1] {
		t.Errorf("the rules are %v", got.Rules)
	}
	half := groupRowsOf(web)
	for set := range web.AddressSets {
		delete(half.sets, web.setName(set, false))
		if got := half.readGroup("web"); len(got.AddressSets[set]) != 0 || len(got.Rules) != len(web.Rules) {
			t.Errorf("of a set that lacks its row of IPv6 the addresses are %v, and the rules %v", got.AddressSets[set], got.Rules)
		}
	}
	open := groupRowsOf(web)
	delete(open.acls, "deny ingress")
	if got := open.readGroup("web"); len(got.Rules) != 0 {
		t.Errorf("the rules are %v", got.Rules)
	}
}

func TestAGroupHasTheAddressSetsOfItsState(t *testing.T) {
	t.Parallel()
	thing := groupThing{"web"}
	set := func(name, group string, mark owner.Mark) AddressSet {
		return AddressSet{UUID: name, Name: name, ExternalIDs: map[string]string{groupKey: group, markKey: mark.String()}}
	}
	here, elsewhere := owner.Mark{ID: "1", Workspace: owner.Workspace()}, owner.Mark{ID: "2", Workspace: "elsewhere"}
	own, taken := thing.splitSets([]AddressSet{set("web.a.v4", "web", here), set("web.b.v4", "web", elsewhere), set("web.c.v4", "other", here)}, owner.Mark.IsHere)
	if _, is := own["web.a.v4"]; !is || len(own) != 1 || !taken["web.b.v4"] || !taken["web.c.v4"] {
		t.Errorf("own are %v, and taken %v", own, taken)
	}
	// Whoever removes the group by `ovn-nbctl pg-del` leaves its address sets.
	operations, err := thing.dropRows(groupRows{sets: own, taken: taken}, &Northbound{})
	if err != nil || len(operations) != 1 || operations[0].Op != "delete" || operations[0].Table != "Address_Set" {
		t.Errorf("of a group that is gone: %v, %v", operations, err)
	}
}

func TestWhatIsOfAGroupsState(t *testing.T) {
	t.Parallel()
	here, elsewhere := owner.Mark{ID: "1", Workspace: owner.Workspace()}, owner.Mark{ID: "2", Workspace: "elsewhere"}
	of := func(mark owner.Mark) *PortGroup {
		return &PortGroup{ExternalIDs: map[string]string{markKey: mark.String()}}
	}
	for name, c := range map[string]struct {
		group           *PortGroup
		here, elsewhere bool
	}{
		"one of here":            {of(here), true, false},
		"one of elsewhere":       {of(elsewhere), false, true},
		"one that is gone":       {nil, true, false},
		"one that lost its mark": {&PortGroup{}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := groupRows{group: c.group}
			if r.ownsPart(here) != c.here || r.ownsPart(elsewhere) != c.elsewhere || r.ownsPart(owner.Mark{}) {
				t.Errorf("of here %t, of elsewhere %t, without a mark %t", r.ownsPart(here), r.ownsPart(elsewhere), r.ownsPart(owner.Mark{}))
			}
		})
	}
}

func TestWhatIsWrongWithASecurityGroup(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]SecurityGroup{
		"ports of ICMP":  {Rules: []SecurityRule{{Ingress, "icmp", "22", ""}}},
		"other family":   {Rules: []SecurityRule{{Ingress, "icmp", "", "fd00::1"}}},
		"twice the same": {Rules: []SecurityRule{{Ingress, "tcp", "22", ""}, {Ingress, "tcp", "22", ""}}},
		"no address":     {AddressSets: map[string][]string{"a": {"b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(g.Validate()) != 1 {
				t.Errorf("problems are %v", g.Validate())
			}
		})
	}
}

func TestWhatIsNoPortOfARule(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0", "65536", "9-1", "a", "22,23"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if CheckPorts(text) == nil {
				t.Errorf("%q is taken", text)
			}
		})
	}
}
