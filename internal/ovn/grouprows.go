package ovn

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// Keys of external_ids of the rows of a security group.
const (
	ruleKey  = "virtcluster-rule"  // of an ACL: what it is known by
	placeKey = "virtcluster-place" // of an ACL of a rule: its place in the list
	groupKey = "virtcluster-group" // of an address set: whose it is
)

// groupThing is a security group by its name.
type groupThing struct{ name string }

// NewSecurityGroup returns the security group of a name.
func NewSecurityGroup(name string) Thing[SecurityGroup] { return groupThing{name} }

func (groupThing) Noun() string   { return "OVN security group" }
func (t groupThing) Name() string { return t.name }

// groupRows are the rows of a security group.
type groupRows struct {
	// group is nil where it is not there.
	group *PortGroup
	// acls are its own, by what they are known by, and others the number of those that a person put in.
	acls   map[string]ACL
	others int
	// sets are its address sets by their names in the database, and taken the names that others have of all sets.
	sets  map[string]AddressSet
	taken map[string]bool
}

func (t groupThing) findRows(ctx context.Context, n *Northbound) (groupRows, error) {
	r := groupRows{acls: map[string]ACL{}}
	group := &PortGroup{Name: t.name}
	there, err := Find(ctx, n.North, group)
	if err != nil {
		return r, err
	}
	if there {
		r.group = group
		acls, err := Rows(ctx, n.North, func(a *ACL) bool { return slices.Contains(group.ACLs, a.UUID) })
		if err != nil {
			return r, err
		}
		for _, a := range acls {
			if key := a.ExternalIDs[ruleKey]; owner.Parse(a.ExternalIDs[markKey]).ID != "" && key != "" {
				r.acls[key] = a
			} else {
				r.others++
			}
		}
	}
	sets, err := Rows(ctx, n.North, func(s *AddressSet) bool { return strings.HasPrefix(s.Name, t.name+".") })
	r.sets, r.taken = t.splitSets(sets, r.ownsPart)
	return r, err
}

// ownsPart says whether what has a mark is of the group's state: of this one, where the group is gone, or has lost its own mark.
func (r groupRows) ownsPart(mark owner.Mark) bool {
	if r.group == nil || r.group.ExternalIDs[markKey] == "" {
		return mark.IsHere()
	}
	return isOfSameState(mark, owner.Parse(r.group.ExternalIDs[markKey]))
}

// splitSets tells the group's own address sets, by their names, from those of others: what another state's group of that name has left is not its own.
func (t groupThing) splitSets(sets []AddressSet, isOwn func(owner.Mark) bool) (own map[string]AddressSet, taken map[string]bool) {
	own, taken = map[string]AddressSet{}, map[string]bool{}
	for _, s := range sets {
		if s.ExternalIDs[groupKey] == t.name && isOwn(owner.Parse(s.ExternalIDs[markKey])) {
			own[s.Name] = s
		} else {
			taken[s.Name] = true
		}
	}
	return own, taken
}

// Look implements Thing.
func (t groupThing) Look(ctx context.Context, n *Northbound) (SecurityGroup, map[string]string, error) {
	r, err := t.findRows(ctx, n)
	if err != nil || r.group == nil {
		return SecurityGroup{}, nil, err
	}
	ids := r.group.ExternalIDs
	if ids == nil {
		ids = map[string]string{}
	}
	return r.readGroup(t.name), ids, nil
}

// readGroup returns what the rows do. A rule whose ACL does something else is none, and none is where what the group refuses is not refused. An address set that
// lacks a row, which expressions name, has no addresses.
func (r groupRows) readGroup(name string) SecurityGroup {
	g := SecurityGroup{Name: name, AddressSets: map[string][]string{}}
	for _, row := range slices.Sorted(maps.Keys(r.sets)) {
		set, _, _ := strings.Cut(strings.TrimPrefix(row, name+"."), ".")
		members := slices.Clone(r.sets[row].Addresses)
		slices.Sort(members)
		g.AddressSets[set] = append(g.AddressSets[set], members...)
	}
	for set := range g.AddressSets {
		_, four := r.sets[g.setName(set, true)]
		_, six := r.sets[g.setName(set, false)]
		if !four || !six {
			g.AddressSets[set] = []string{}
		}
	}
	does := func(key string, want aclValues) bool {
		a, there := r.acls[key]
		return there && want == aclValues{a.Direction, a.Match, a.Action, a.Priority}
	}
	for key, want := range g.listACLs() {
		if !does(key, want) {
			return g
		}
	}
	place := map[SecurityRule]int{}
	for key, a := range r.acls {
		if rule, ok := parseRule(key); ok && does(key, g.formatACL(rule)) {
			place[rule], _ = strconv.Atoi(a.ExternalIDs[placeKey])
			g.Rules = append(g.Rules, rule)
		}
	}
	slices.SortFunc(g.Rules, func(a, b SecurityRule) int { return place[a] - place[b] })
	return g
}

// Put implements Thing.
func (t groupThing) Put(ctx context.Context, n *Northbound, want SecurityGroup, mark string) ([]ovsdb.Operation, error) {
	r, err := t.findRows(ctx, n)
	if err != nil {
		return nil, err
	}
	sets, err := t.putSets(r, want, mark)
	if err != nil {
		return nil, fmt.Errorf("%w in %s", err, n)
	}
	children, has := t.listChildren(want, mark), keyRows(slices.Collect(maps.Values(r.acls)), func(a *ACL) string { return a.ExternalIDs[ruleKey] })
	if r.group == nil {
		operations := append([]ovsdb.Operation{unlessNamed(NorthDB, &PortGroup{}, "name", t.name)}, putChildren(&ACL{}, &PortGroup{}, "", "acls", has, children)...)
		operations = append(operations, insert(NorthDB, &PortGroup{}, "group", map[string]any{
			"name": t.name, "acls": childNames("acls", children), externalIDs: pairs(map[string]string{markKey: mark}),
		}))
		return append(operations, sets...), nil
	}
	operations := slices.Concat(sets, putChildren(&ACL{}, r.group, r.group.UUID, "acls", has, children))
	if keys := putKeys(externalIDs, r.group.ExternalIDs, map[string]string{markKey: mark}); len(keys) > 0 {
		operations = append(operations, mutate(NorthDB, r.group, r.group.UUID, keys...))
	}
	if len(operations) == 0 {
		return nil, nil
	}
	return append([]ovsdb.Operation{whileOwned(NorthDB, r.group, r.group.UUID, r.group.ExternalIDs)}, operations...), nil
}

// listChildren returns the ACLs that are wanted, by what they are known by.
func (t groupThing) listChildren(want SecurityGroup, mark string) map[string]child {
	all := map[string]child{}
	for key, a := range want.listACLs() {
		ids := map[string]string{markKey: mark, ruleKey: key}
		if at := slices.IndexFunc(want.Rules, func(r SecurityRule) bool { return r.formatRule() == key }); at >= 0 {
			ids[placeKey] = strconv.Itoa(at)
		}
		all[key] = child{columns: map[string]any{"direction": a.Direction, "match": a.Match, "action": a.Action, "priority": a.Priority, externalIDs: pairs(ids)}}
	}
	return all
}

// putSets makes the address sets what they shall be: each has a row for IPv4 and one for IPv6.
func (t groupThing) putSets(r groupRows, want SecurityGroup, mark string) (operations []ovsdb.Operation, err error) {
	wanted := map[string]bool{}
	for _, set := range slices.Sorted(maps.Keys(want.AddressSets)) {
		for _, four := range []bool{true, false} {
			name := want.setName(set, four)
			wanted[name] = true
			members := want.listMembers(set, four)
			columns := map[string]any{"addresses": texts(members...), externalIDs: pairs(map[string]string{markKey: mark, groupKey: t.name})}
			row, there := r.sets[name]
			is := slices.Clone(row.Addresses)
			slices.Sort(is)
			switch {
			case r.taken[name]:
				return nil, fmt.Errorf("somebody has an address set %q: call this one otherwise", name)
			case !there:
				columns["name"] = name
				operations = append(operations, unlessNamed(NorthDB, &AddressSet{}, "name", name), insert(NorthDB, &AddressSet{}, rowName("set", name), columns))
			case !slices.Equal(is, members) || row.ExternalIDs[markKey] != mark:
				operations = append(operations, update(NorthDB, &row, row.UUID, columns))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.sets)) {
		if row := r.sets[name]; !wanted[name] {
			operations = append(operations, remove(NorthDB, &row, row.UUID))
		}
	}
	return operations, nil
}

// Drop implements Thing. A group that has ports, or ACLs of somebody else, stays.
func (t groupThing) Drop(ctx context.Context, n *Northbound) ([]ovsdb.Operation, error) {
	r, err := t.findRows(ctx, n)
	if err != nil {
		return nil, err
	}
	return t.dropRows(r, n)
}

// dropRows is Drop by rows, of a database.
func (t groupThing) dropRows(r groupRows, n fmt.Stringer) (operations []ovsdb.Operation, err error) {
	switch {
	case r.group == nil: // the address sets that it has left
	case len(r.group.Ports) > 0:
		return nil, fmt.Errorf("%d ports are in security group %q in %s: take them out first", len(r.group.Ports), t.name, n)
	case r.others > 0:
		return nil, fmt.Errorf("security group %q in %s has %d ACLs that are not its own: move them to another port group first", t.name, n, r.others)
	default:
		operations = append(operations, whileOwned(NorthDB, r.group, r.group.UUID, r.group.ExternalIDs), remove(NorthDB, r.group, r.group.UUID))
	}
	for _, name := range slices.Sorted(maps.Keys(r.sets)) {
		row := r.sets[name]
		operations = append(operations, remove(NorthDB, &row, row.UUID))
	}
	return operations, nil
}
