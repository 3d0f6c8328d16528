package keepalived

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// asideMark begins a line that keeps what a person wrote into an instance which a rollout takes out of a machine for a moment. It stands in
// the file, as an apply that is killed in that moment leaves nothing else to put it back from.
const asideMark = "#~ virtcluster_vip "

func asideLine(name string) string { return asideMark + `"` + name + `" has: ` }

// setAside takes an instance out of a machine's configuration that comes back under another name, or the same, and keeps what a person
// wrote into it in comments; absent is no error.
func (c *config) setAside(name, returns string) {
	if _, there := c.findBlock("vrrp_instance", name); !there {
		return // and what an earlier rollout left aside stays
	}
	stays, w := c.keptOf(name), &writer{}
	c.removeChunks(belongsTo(name))
	c.takeAside(returns)
	writeAddresses(w, "unicast_peer", slices.SortedFunc(maps.Keys(stays.behindPeers), netip.Addr.Compare), stays.behindPeers)
	writeAddresses(w, "virtual_ipaddress", slices.SortedFunc(maps.Keys(stays.behind), netip.Prefix.Compare), stays.behind)
	for line, words := range stays.behindTracks {
		w.writeNode(node{words: []string{line.keyword}, block: true, children: []node{{words: append([]string{line.name}, words...)}}})
	}
	for _, n := range stays.statements {
		w.writeNode(n)
	}
	var aside strings.Builder
	for line := range strings.Lines(w.String()) {
		aside.WriteString(asideLine(returns) + line)
	}
	if c.tail != "" && !strings.HasSuffix(c.tail, "\n") {
		c.tail += "\n"
	}
	if n := len(c.chunks); aside.Len() > 0 && c.tail == "" && n > 0 && !strings.HasSuffix(c.chunks[n-1].text, "\n") {
		c.chunks[n-1].text += "\n"
	}
	c.tail += aside.String()
}

// takeAside takes out the lines that keep what a person wrote into an instance, and returns that. ok says whether there are any.
func (c *config) takeAside(name string) (stays kept, ok bool) {
	var block strings.Builder
	take := func(text string) string {
		var rest strings.Builder
		for line := range strings.Lines(text) {
			if statement, is := strings.CutPrefix(line, asideLine(name)); is {
				block.WriteString(statement)
			} else {
				rest.WriteString(line)
			}
		}
		return rest.String()
	}
	for i := range c.chunks {
		c.chunks[i].lead = take(c.chunks[i].lead)
	}
	c.tail = take(c.tail)
	aside, err := parseConfig([]byte("vrrp_instance " + name + " {\n" + block.String() + "}\n"))
	if block.Len() == 0 || err != nil {
		return kept{}, false
	}
	return aside.keptOf(name), true
}
