package topology

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Mermaid is the topology as a flowchart in Mermaid's language: a subgraph for each network, with links for what leads where.
func (t Topology) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TB\n")
	ids := map[string]string{}
	node := func(key string) string {
		if ids[key] == "" {
			ids[key] = fmt.Sprintf("n%d", len(ids)+1)
		}
		return ids[key]
	}
	// A machine is one node, in the first network that it is in; the others are linked to it.
	home := map[string]string{}
	for i, network := range t.laneNames() {
		n := t.Networks[network]
		fmt.Fprintf(&b, "  subgraph net%d[%s]\n", i+1, quoteLines(append([]string{network}, n.headLines()...)...))
		for _, name := range slices.Sorted(maps.Keys(t.Machines)) {
			if address, in := t.Machines[name].Addresses[network]; in && home[name] == "" {
				home[name] = network
				fmt.Fprintf(&b, "    %s[%s]\n", node("machine "+name), quoteLines(name, t.Machines[name].Role, address))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(t.VIPs)) {
			if v := t.VIPs[name]; v.Network == network {
				fmt.Fprintf(&b, "    %s([%s])\n", node("vip "+name), quoteLines("VIP "+name, v.Address))
			}
		}
		b.WriteString("  end\n")
	}
	for i, network := range t.laneNames() {
		for _, name := range slices.Sorted(maps.Keys(t.Machines)) {
			if address, in := t.Machines[name].Addresses[network]; in && home[name] != network {
				fmt.Fprintf(&b, "  %s ---|%s| net%d\n", node("machine "+name), quoteLines(address), i+1)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.VIPs)) {
		for _, member := range t.VIPs[name].Members {
			arrow := "-.-"
			if member == t.VIPs[name].Owner {
				arrow = "==="
			}
			fmt.Fprintf(&b, "  %s %s %s\n", node("vip "+name), arrow, node("machine "+member))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Frontends)) {
		f := t.Frontends[name]
		fmt.Fprintf(&b, "  %s{{%s}}\n", node("frontend "+name), quoteLines(append([]string{name}, f.Binds...)...))
		for _, m := range f.Machines {
			fmt.Fprintf(&b, "  %s --> %s\n", node("machine "+m), node("frontend "+name))
		}
		for _, m := range f.Servers {
			fmt.Fprintf(&b, "  %s --> %s\n", node("frontend "+name), node("machine "+m))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Views)) {
		v := t.Views[name]
		fmt.Fprintf(&b, "  %s[/%s/]\n", node("view "+name), quoteLines(append([]string{"view " + name}, v.Zones...)...))
		for _, m := range v.Machines {
			fmt.Fprintf(&b, "  %s --- %s\n", node("machine "+m), node("view "+name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Exposures)) {
		e := t.Exposures[name]
		fmt.Fprintf(&b, "  %s>%s]\n", node("exposure "+name), quoteLines(name, e.Address+" "+strings.Join(e.Ports, ","), "to "+strings.Join(e.Targets, ", ")))
		fmt.Fprintf(&b, "  %s --> %s\n", node("exposure "+name), node("machine "+e.Machine))
	}
	return b.String()
}

// quoteLines is a text of several lines in quotes, with what Mermaid takes for its own as its entities.
func quoteLines(lines ...string) string {
	lines = slices.DeleteFunc(slices.Clone(lines), func(s string) bool { return s == "" })
	for i, text := range lines {
		lines[i] = strings.NewReplacer("#", "#35;", "\"", "#quot;", "<", "#lt;", ">", "#gt;").Replace(text)
	}
	return "\"" + strings.Join(lines, "<br>") + "\""
}
