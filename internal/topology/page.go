package topology

import (
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// table is what the page says of one element.
type table struct {
	ID, Kind, Name string
	Rows           [][2]string
}

// HTML is one page that needs nothing beside it: the picture, and a table behind each of its elements.
func (t Topology) HTML() (string, error) {
	var b strings.Builder
	err := page.Execute(&b, struct {
		Title    string
		Picture  template.HTML
		Sections []section
	}{t.Title, template.HTML(t.drawSVG(true)), t.pageSections()}) //nolint:gosec // the picture escapes what it is told
	return b.String(), err
}

// section is the tables of the elements of one kind.
type section struct {
	Title  string
	Tables []table
}

func (t Topology) pageSections() []section {
	var all []section
	add := func(title, kind string, names []string, rows func(name string) [][2]string) {
		s := section{Title: title}
		for _, name := range names {
			told := slices.DeleteFunc(rows(name), func(r [2]string) bool { return r[1] == "" })
			s.Tables = append(s.Tables, table{id(kind, name), kind, name, told})
		}
		if len(names) > 0 {
			all = append(all, s)
		}
	}
	add("Networks", "network", t.laneNames(), func(name string) [][2]string {
		n := t.Networks[name]
		var in []string
		for _, m := range slices.Sorted(maps.Keys(t.Machines)) {
			if address, is := t.Machines[m].Addresses[name]; is {
				in = append(in, m+" "+address)
			}
		}
		return [][2]string{{"subnet", n.CIDR}, {"gateway", n.Gateway}, {"mode", n.Mode}, {"hypervisor", n.Hypervisor}, {"machines", strings.Join(in, "\n")}}
	})
	add("Machines", "machine", slices.Sorted(maps.Keys(t.Machines)), func(name string) [][2]string {
		m := t.Machines[name]
		rows := [][2]string{{"role", m.Role}, {"state", m.State}, {"hypervisor", m.Hypervisor}}
		for _, on := range t.laneNames() {
			if address, is := m.Addresses[on]; is {
				rows = append(rows, [2]string{"address in " + on, address})
			}
		}
		return append(rows, [2]string{"holds", strings.Join(t.heldAddresses(name), "\n")}, [2]string{"answers for", strings.Join(t.balancedTo(name), "\n")})
	})
	add("Virtual addresses", "vip", slices.Sorted(maps.Keys(t.VIPs)), func(name string) [][2]string {
		v := t.VIPs[name]
		return [][2]string{{"address", v.Address}, {"network", v.Network}, {"held by", v.Owner}, {"members", strings.Join(v.Members, "\n")}}
	})
	add("Frontends", "frontend", slices.Sorted(maps.Keys(t.Frontends)), func(name string) [][2]string {
		f := t.Frontends[name]
		return [][2]string{{"on", strings.Join(f.Machines, "\n")}, {"listens at", strings.Join(f.Binds, "\n")}, {"servers", strings.Join(f.Servers, "\n")}}
	})
	add("Views", "view", slices.Sorted(maps.Keys(t.Views)), func(name string) [][2]string {
		v := t.Views[name]
		return [][2]string{{"on", strings.Join(v.Machines, "\n")}, {"clients", strings.Join(v.Clients, "\n")}, {"zones", strings.Join(v.Zones, "\n")}}
	})
	add("Exposures", "exposure", slices.Sorted(maps.Keys(t.Exposures)), func(name string) [][2]string {
		e := t.Exposures[name]
		return [][2]string{{"on", e.Machine}, {"address", e.Address}, {"ports", strings.Join(e.Ports, "\n")}, {"targets", strings.Join(e.Targets, "\n")}}
	})
	return all
}

// heldAddresses are the virtual addresses that a machine has.
func (t Topology) heldAddresses(machine string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(t.VIPs)) {
		if v := t.VIPs[name]; v.Owner == machine {
			all = append(all, fmt.Sprintf("%s (%s)", name, v.Address))
		}
	}
	return all
}

// balancedTo are the frontends that lead to a machine.
func (t Topology) balancedTo(machine string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(t.Frontends)) {
		if f := t.Frontends[name]; slices.Contains(f.Servers, machine) {
			all = append(all, fmt.Sprintf("%s (%s)", name, strings.Join(f.Binds, ", ")))
		}
	}
	return all
}
