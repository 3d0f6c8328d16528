package keepalived

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// ListNames lists the names of the VRRP instances of a machine, whoever wrote them, in their order.
func ListNames(t transaction.Tree) (names []string, err error) {
	c, err := parseConfig(t[Path].Content)
	for _, k := range c.chunks {
		if name := k.node.wordAt(1); name != "" && k.isBlock("vrrp_instance", name) {
			names = append(names, name)
		}
	}
	return names, err
}

// ListUnmodelled lists what of keepalived.conf no VIP says and the provider did not write: what a person wrote beside the instances, and in them. A
// script that one of these tracks is the VIP's.
func ListUnmodelled(t transaction.Tree) (all []service.Unmodelled, err error) {
	c, err := parseConfig(t[Path].Content)
	if err != nil {
		return nil, err
	}
	tracked := c.listTracked()
	line, goesOn := 1, false
	addText := func(at int, why, text string) {
		text, goesOn = plainText(text, goesOn)
		if text != "" {
			all = append(all, service.Unmodelled{Place: fmt.Sprintf("%s:%d", Path, at), What: why + text})
		}
	}
	for _, k := range c.chunks {
		line += strings.Count(k.lead, "\n")
		keyword := k.node.firstWord()
		add := func(n node, why string) {
			w := &writer{}
			w.writeNode(n)
			addText(line+n.line, why, strings.TrimSuffix(w.String(), "\n"))
		}
		switch name := k.node.wordAt(1); {
		case keyword == "vrrp_instance":
			for _, n := range c.keptOf(name).statements {
				add(n, "")
			}
		case tracked[keyword+" "+name]:
			for _, n := range k.node.children {
				if r := (reader{in: &Instance{}, config: c}); !r.readTrackStatement(n, &Track{}) {
					add(n, "A VIP writes what it tracks anew when it changes, and loses of this: ")
				}
			}
		}
		if k.markOf() == "" && keyword != "vrrp_instance" && !tracked[keyword+" "+k.node.wordAt(1)] {
			addText(line, "", k.text)
		}
		line += strings.Count(k.text, "\n")
	}
	return all, nil
}

// listTracked lists the scripts and processes that instances track: KEYWORD NAME.
func (c config) listTracked() map[string]bool {
	blocks := map[string]string{"track_script": "vrrp_script", "track_process": "vrrp_track_process"}
	all := map[string]bool{}
	for _, k := range c.chunks {
		if k.node.firstWord() != "vrrp_instance" {
			continue
		}
		for _, n := range k.node.children {
			for _, line := range n.children {
				if keyword := blocks[n.firstWord()]; keyword != "" {
					all[keyword+" "+line.wordAt(0)] = true
				}
			}
		}
	}
	return all
}

// definition is the beginning of a line that gives a variable its value, `$NAME=`, for all machines or for some.
var definition = regexp.MustCompile(`^\s*(@\S+\s+)?\$\w+\s*=`)

// plainText returns a text without comments, blank lines and secrets. A variable may stand for a password, wherever it is used, so that what one
// stands for is not told: goesOn says that the text begins within a definition, and more that it ends within one.
func plainText(text string, goesOn bool) (plain string, more bool) {
	var lines []string
	for line := range strings.Lines(text) {
		begin := definition.FindString(line)
		switch {
		case goesOn:
		case begin != "":
			lines = append(lines, begin+" (perhaps a secret)")
		case len(scanLine(line)) > 0:
			lines = append(lines, strings.TrimRight(line, blanks))
		}
		goesOn = (goesOn || begin != "") && strings.HasSuffix(strings.TrimRight(line, blanks), `\`)
	}
	return service.WithoutSecrets(strings.Join(lines, "\n"), "auth_pass", "password"), goesOn
}
