package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Sizes in pixels. Text is in a fixed pitch, whose letters are 0.6 times as wide as high, so that its width is known here.
const (
	letter     = 7.3 // of 12 px, with what another font may have more
	small      = 6.7 // of 11 px
	margin     = 16
	gap        = 10
	rowHeight  = 24
	titleSpace = 56
	groupTitle = 20
	gridLimit  = 5  // boxes side by side
	longest    = 42 // letters of a name; the rest is left out, and in the tables
)

// kind says what an element is, for its colour.
type kind string

// box is a machine or the like: its place, its lines of text.
type box struct {
	x, y, w, h float64
	id         string
	kind       kind
	title      string
	lines      []string
	// tag is written at the left of what is a row.
	tag string
}

// line leads from one element to another, behind everything.
type line struct {
	x1, y1, x2, y2 float64
	kind           kind
}

// lane is a network: its band, with what is in it.
type lane struct {
	box
	groups []label
	boxes  []box
}

type label struct {
	x, y float64
	text string
}

// picture is a topology with places.
type picture struct {
	w, h  float64
	title string
	lanes []lane
	lines []line
}

// placeElements gives each element a place, by itself: libraries for graphs place nodes by what leads to what, and here a network is a band, a
// machine in two of them stands in one column, and where a thing is follows from its kind, so that a picture stays as it was when
// a machine is added. Lanes are bands; in each are the machines that serve, in columns that all lanes share, below
// them what they serve there, and beside them the other machines by role, in a grid. No two elements overlap, as each is put below
// or beside those before it.
func (t Topology) placeElements() picture {
	l := &layouter{Topology: t, columns: t.servingMachines()}
	l.measureTexts()
	p := picture{title: t.Title}
	y := float64(titleSpace)
	bottoms := map[string]*box{} // of the machines that serve, in the lane above
	for _, name := range t.laneNames() {
		ln := l.placeLane(name, y)
		for i := range ln.boxes {
			b := &ln.boxes[i]
			if slices.Contains(l.columns, b.title) && b.tag == "" {
				if above := bottoms[b.title]; above != nil {
					p.lines = append(p.lines, line{above.x + above.w/2, above.y + above.h, b.x + b.w/2, b.y, "link"})
				}
				bottoms[b.title] = b
			}
		}
		p.lines = append(p.lines, l.ownerLines(ln)...)
		p.lanes = append(p.lanes, ln)
		y = ln.y + ln.h + gap
	}
	p.w, p.h = l.width, y+margin
	return p
}

type layouter struct {
	Topology
	columns []string
	// boxW and boxH are a machine's size; head, services and grid are the widths of a lane's parts.
	boxW, boxH, head, services, grid, width float64
}

// measureTexts finds sizes that every text fits into.
func (l *layouter) measureTexts() {
	for name, m := range l.Machines {
		l.boxW = max(l.boxW, textWidth(shortenName(name), letter), textWidth(shortenName(m.noteLine()), small))
		for _, address := range m.Addresses {
			l.boxW = max(l.boxW, textWidth(address, small))
		}
		if m.noteLine() != "" {
			l.boxH = 56
		}
	}
	l.boxW, l.boxH = max(l.boxW+22, 124), max(l.boxH, 42)
	for name, n := range l.Networks {
		for _, text := range append(n.headLines(), shortenName(name)) {
			l.head = max(l.head, textWidth(text, letter)+24)
		}
	}
	l.head = max(l.head, 130)
	l.services = max(float64(len(l.columns))*(l.boxW+gap)-gap, 0)
	for _, name := range l.laneNames() {
		for _, r := range l.servedRows(name) {
			l.services = max(l.services, min(textWidth(r.title+" "+strings.Join(r.lines, " "), small)+78, 560))
		}
	}
	most := 0
	for _, name := range l.laneNames() {
		wide, row := 0, ""
		for _, g := range l.groupMachines(name) {
			if g.hypervisor != row {
				wide, row = 0, g.hypervisor
			}
			wide += min(len(g.names), gridLimit)
			most = max(most, min(wide, gridLimit))
		}
	}
	l.grid = float64(most) * (l.boxW + gap)
	l.width = margin + l.head + gap + l.services + 2*gap + l.grid + 2*margin
	l.width = max(l.width, textWidth(l.Title, 10)+2*margin, 640)
}

// noteLine is the third line of a machine's box.
func (m Machine) noteLine() string {
	return strings.Join(slices.DeleteFunc([]string{m.State, m.Hypervisor}, func(s string) bool { return s == "" }), " · ")
}

// headLines are what a lane's head says below the name.
func (n Network) headLines() []string {
	all := []string{n.CIDR}
	if n.Gateway != "" {
		all = append(all, "gw "+n.Gateway)
	}
	all = append(all, strings.TrimSpace(n.Mode+" "+n.Hypervisor))
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// group is the machines of one role in one lane: those of one hypervisor, where the lane's network reaches over several, and "" otherwise.
type group struct {
	groupPlace
	names []string
}

type groupPlace struct{ hypervisor, role string }

// groupMachines are the machines of a lane that serve nobody, by role, and before that by hypervisor, each of which has rows of its own, where
// the network reaches over several.
func (l *layouter) groupMachines(network string) []group {
	byPlace := map[groupPlace][]string{}
	several := len(l.hypervisorsOf(network)) > 1
	for name, m := range l.Machines {
		if _, in := m.Addresses[network]; in && !slices.Contains(l.columns, name) {
			at := groupPlace{role: m.Role}
			if several {
				at.hypervisor = m.Hypervisor
			}
			byPlace[at] = append(byPlace[at], name)
		}
	}
	var all []group
	for _, at := range slices.SortedFunc(maps.Keys(byPlace), func(a, b groupPlace) int {
		return cmp.Or(strings.Compare(a.hypervisor, b.hypervisor), compareRoles(a.role, b.role))
	}) {
		slices.Sort(byPlace[at])
		all = append(all, group{at, byPlace[at]})
	}
	return all
}

// hypervisorsOf are those that have a machine in a network.
func (t Topology) hypervisorsOf(network string) map[string]bool {
	all := map[string]bool{}
	for _, m := range t.Machines {
		if _, in := m.Addresses[network]; in && m.Hypervisor != "" {
			all[m.Hypervisor] = true
		}
	}
	return all
}

var knownRoles = []string{"service", "bootstrap", "master", "worker"}

func compareRoles(a, b string) int {
	rank := func(role string) int {
		if i := slices.Index(knownRoles, role); i >= 0 {
			return i
		}
		return len(knownRoles)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}

// placeLane places what is in a network.
func (l *layouter) placeLane(name string, y float64) lane {
	n := l.Networks[name]
	ln := lane{box: box{x: margin, y: y, id: elementID("network", name), kind: "network", title: shortenName(name), lines: n.headLines()}}
	if n.Outside {
		ln.kind = "outside"
	}
	left, top := margin+l.head+gap, y+gap
	bottom := top + float64(20+16*len(ln.lines))
	served := false
	for i, column := range l.columns {
		if address, in := l.Machines[column].Addresses[name]; in {
			served = true
			ln.boxes = append(ln.boxes, l.placeMachine(column, address, left+float64(i)*(l.boxW+gap), top))
		}
	}
	next := top
	if served {
		next = top + l.boxH + gap
	}
	for _, r := range l.servedRows(name) {
		r.x, r.y, r.w, r.h = left, next, l.services, rowHeight
		ln.boxes = append(ln.boxes, r)
		next += rowHeight + 4
	}
	bottom = max(bottom, next)
	bottom = max(bottom, l.placeGroups(&ln, name, left+l.services+2*gap, top))
	ln.w, ln.h = l.width-2*margin, bottom+gap-y
	return ln
}

func (l *layouter) placeMachine(name, address string, x, y float64) box {
	m := l.Machines[name]
	b := box{x: x, y: y, w: l.boxW, h: l.boxH, id: elementID("machine", name), kind: kind(m.Role), title: name, lines: []string{address}}
	if note := m.noteLine(); note != "" {
		b.lines = append(b.lines, shortenName(note))
	}
	return b
}

// placeGroups puts the machines that serve nobody into the grid at the right, and returns where it ends.
func (l *layouter) placeGroups(ln *lane, network string, left, top float64) float64 {
	x, y, bottom, row := left, top, top, ""
	for _, g := range l.groupMachines(network) {
		columns := min(len(g.names), gridLimit)
		if x > left && (g.hypervisor != row || x+float64(columns)*(l.boxW+gap) > left+l.grid+1) {
			x, y = left, bottom+gap
		}
		row = g.hypervisor
		text := countNoun(len(g.names), cmp.Or(g.role, "machine"))
		if row != "" {
			text += " · " + row
		}
		ln.groups = append(ln.groups, label{x, y + 12, cutMiddle(text, int(float64(columns)*(l.boxW+gap)/small))})
		for i, name := range g.names {
			bx, by := x+float64(i%columns)*(l.boxW+gap), y+groupTitle+float64(i/columns)*(l.boxH+gap)
			ln.boxes = append(ln.boxes, l.placeMachine(name, l.Machines[name].Addresses[network], bx, by))
			bottom = max(bottom, by+l.boxH)
		}
		x += float64(columns) * (l.boxW + gap)
	}
	return bottom
}

// servedRows are what machines serve in a network, a line of text each: virtual addresses, then frontends, views and exposures.
func (l *layouter) servedRows(network string) []box {
	var all []box
	for _, name := range slices.Sorted(maps.Keys(l.VIPs)) {
		if v := l.VIPs[name]; v.Network == network {
			held := "nobody"
			if v.Owner != "" {
				held = v.Owner
			}
			all = append(all, box{id: elementID("vip", name), kind: "vip", tag: "VIP", title: name, lines: []string{fmt.Sprintf("%s held by %s", v.Address, held)}})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Frontends)) {
		f := l.Frontends[name]
		for _, bind := range f.Binds {
			address, port := splitBind(bind)
			if l.laneOf(address) == network {
				all = append(all, box{id: elementID("frontend", name), kind: "frontend", tag: ":" + port, title: name, lines: []string{"→ " + l.describeRoles(f.Servers)}})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Views)) {
		if v := l.Views[name]; v.Network == network || v.Network == "" && network == l.laneNames()[len(l.laneNames())-1] {
			all = append(all, box{id: elementID("view", name), kind: "view", tag: "DNS", title: name, lines: []string{strings.Join(v.Zones, ", ")}})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Exposures)) {
		if e := l.Exposures[name]; l.laneOf(e.Address) == network {
			all = append(all, box{id: elementID("exposure", name), kind: "exposure", tag: "EXP", title: name, lines: []string{fmt.Sprintf("%s %s → %s", e.Address, strings.Join(e.Ports, ","), strings.Join(e.Targets, ", "))}})
		}
	}
	return all
}

// describeRoles says of machines how many of each role they are.
func (l *layouter) describeRoles(names []string) string {
	byRole := map[string]int{}
	for _, name := range names {
		byRole[l.Machines[name].Role]++
	}
	var all []string
	for _, role := range slices.SortedFunc(maps.Keys(byRole), compareRoles) {
		all = append(all, countNoun(byRole[role], cmp.Or(role, "machine")))
	}
	return cmp.Or(strings.Join(all, ", "), "nobody")
}

// ownerLines are the lines from virtual addresses to the machines that have them.
func (l *layouter) ownerLines(ln lane) []line {
	var all []line
	for _, r := range ln.boxes {
		if r.kind != "vip" {
			continue
		}
		for _, b := range ln.boxes {
			if b.tag == "" && b.title == l.VIPs[r.title].Owner {
				all = append(all, line{b.x + b.w - 14, b.y + b.h, b.x + b.w - 14, r.y, "vip"})
			}
		}
	}
	return all
}

// elementID is an element's, which a link leads to. Names have nothing in them that an id cannot have but blanks.
func elementID(kind, name string) string { return kind + "-" + strings.ReplaceAll(name, " ", "_") }

func textWidth(text string, wide float64) float64 {
	return float64(utf8.RuneCountInString(text)) * wide
}

// shortenName leaves out the middle of a name that is too long.
func shortenName(text string) string { return cutMiddle(text, longest) }

func cutMiddle(text string, most int) string {
	all := []rune(text)
	if len(all) <= most || most < 3 {
		return text
	}
	half := (most - 1) / 2
	return string(all[:most-1-half]) + "…" + string(all[len(all)-half:])
}
