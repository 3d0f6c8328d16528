package robustness

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// namingKinds are what a machine answers of names, and whom it asks.
var namingKinds = []kind{
	// The clients of a view are one address of the machine's own loopback: for everybody else the machine answers as it did without views.
	// Where there are views, a zone without one is refused: the one machine answers by them, the other has the zones without.
	{name: "dns_view", weight: 2, identity: []string{"service_node", "name", "match_clients"},
		draw: func(d drawer) map[string]any {
			n := d.IntN(viewCount)
			return map[string]any{"service_node": d.node(machines[1]), "name": fmt.Sprintf("v%d", n), "match_clients": []string{clientOfView(n)}, "recursion": d.IntN(2) == 0}
		},
		claims: func(a attributes) []claim {
			return []claim{{a.machine("service_node") + " view " + a.text("name"), []string{"recursion " + a.text("recursion")}}}
		}},
	{name: "dns_server", weight: 1, identity: []string{"service_node"},
		draw: func(d drawer) map[string]any {
			return map[string]any{"service_node": d.node(d.machine()), "options": map[string]any{"version": fmt.Sprintf("%q", serverVersion(d))}}
		},
		claims: func(a attributes) []claim {
			version := attributes(object(a["options"])).text("version")
			return []claim{{a.machine("service_node") + " server version", []string{strings.Trim(version, `"`)}}}
		}},
	{name: "resolver", weight: 1, identity: []string{"host"},
		draw: func(d drawer) map[string]any {
			return map[string]any{"host": d.node(d.machine()), "nameservers": []string{addressOf(d.IntN(len(machines)))}, "search": []string{serverVersion(d) + ".example"}}
		},
		claims: func(a attributes) []claim {
			own := claim{a.machine("host") + " resolver", []string{"nameserver " + words(a["nameservers"]) + " search " + words(a["search"])}}
			if personsSearch.MatchString("search " + words(a["search"])) { // an import read what a person wrote meanwhile, which is told apart from it
				own.Values = nil
			}
			return []claim{own}
		}},
}

const viewCount = 3

func clientOfView(n int) string { return fmt.Sprintf("127.0.1.%d", n) }

// serverVersion is a word that tells states apart, and one change from the next.
func serverVersion(d drawer) string { return fmt.Sprintf("%s%d", letter(d.state), d.IntN(100)) }

// answerThing is an answer of a machine's name server, to the clients of a view or to everybody.
func answerThing(a attributes, name string) string {
	m := a.machine("service_node")
	if view := a.text("view"); view != "" {
		return m + " view " + lastOf(aView, view) + " " + name
	}
	return m + " dns " + name
}

var (
	viewLine      = regexp.MustCompile(`(?m)^(v\d)$`)
	flagsLine     = regexp.MustCompile(`(?m)^;; flags:([a-z ]*);`)
	answerLine    = regexp.MustCompile(`(?m)^(\S+)\.\s+\d+\s+IN\s+A\s+(\S+)$`)
	drawnWord     = regexp.MustCompile(`\b[a-d]\d+\b`)
	personsSearch = regexp.MustCompile(`search (person\d+)\.example`)
)

// readViews makes things of the views of a name server: a line with the name of each, and what dig printed of answers in it.
func readViews(machine, text string, all map[string]string) {
	at := viewLine.FindAllStringSubmatchIndex(text, -1)
	for i, begin := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		part := text[begin[1]:end]
		view := machine + " view " + text[begin[2]:begin[3]]
		if flags := flagsLine.FindStringSubmatch(part); flags != nil {
			all[view] = fmt.Sprint("recursion ", strings.Contains(flags[1]+" ", " ra "))
		}
		for _, found := range answerLine.FindAllStringSubmatch(part, -1) {
			all[view+" "+found[1]] = found[2]
		}
	}
}

// readResolver makes things of /etc/resolv.conf: what a state wrote, and what a person did, which are comments meanwhile.
func readResolver(machine, text string, all map[string]string) {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if found := personsSearch.FindStringSubmatch(line); found != nil {
			all[machine+" asks "+found[1]] = found[0]
		} else if strings.HasPrefix(line, "nameserver ") || strings.HasPrefix(line, "search ") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines) // a line stays where it was in a person's file
	if said := strings.Join(lines, " "); drawnWord.MatchString(said) {
		all[machine+" resolver"] = said
	}
}
