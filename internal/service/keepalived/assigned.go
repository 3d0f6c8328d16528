package keepalived

import (
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// Directory has keepalived's configuration, and what that includes.
const Directory = "/etc/keepalived"

// Declared is a vrrp_instance of a machine's configuration, whoever wrote it, with all addresses that keepalived puts on devices for it.
// Where a person has keepalived put addresses on devices all the time (static_ipaddress), it has no name.
type Declared struct {
	Name string
	// Place is the file that has it.
	Place     string
	Interface string
	RouterID  int
	Addresses []netip.Addr
	// Owner is whose it is; the zero mark is a person's.
	Owner owner.Mark
}

// Is4 says whether VRRP is spoken over IPv4: in the family of the first address.
func (d Declared) Is4() bool { return len(d.Addresses) == 0 || d.Addresses[0].Is4() }

// ListDeclared returns what keepalived.conf and the files that it includes declare, in order; files may have others as well. What cannot
// be understood is not left out: a file with an error in it declares whatever address stands in it, in the name of a person.
func ListDeclared(files map[string]host.File) []Declared {
	var all []Declared
	seen := map[string]bool{}
	var read func(file string)
	read = func(file string) {
		f, there := files[file]
		if !there || seen[file] {
			return
		}
		seen[file] = true
		c, err := parseConfig(f.Content)
		if err != nil {
			all = append(all, Declared{Place: file, Addresses: addressesIn(string(f.Content))})
			return
		}
		for _, k := range c.chunks {
			if k.node.firstWord() == "include" {
				for _, named := range listIncluded(files, file, k.node.wordAt(1)) {
					read(named)
				}
				continue
			}
			if d := k.readDeclared(file); len(d.Addresses) > 0 || d.RouterID != 0 {
				all = append(all, d)
			}
		}
	}
	read(Path)
	return all
}

// listIncluded lists the files that a pattern names, which is relative to the file that has it (keepalived.conf(5)).
func listIncluded(files map[string]host.File, from, pattern string) []string {
	if !path.IsAbs(pattern) {
		pattern = path.Join(path.Dir(from), pattern)
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(file string) bool {
		matches, err := path.Match(pattern, file)
		return err != nil || !matches
	})
}

// readDeclared reads a chunk that has addresses; the zero value is any other.
func (k chunk) readDeclared(file string) (d Declared) {
	switch k.node.firstWord() {
	case "vrrp_instance":
		d = Declared{Name: k.node.wordAt(1), Place: file}
		if k.vipOf() != "" {
			d.Owner = k.ownerMark()
		}
	case "static_ipaddress":
		return Declared{Place: file, Addresses: k.node.readAddresses()}
	}
	if d.Name == "" {
		return Declared{}
	}
	r := &reader{}
	for _, n := range k.node.children {
		switch n.firstWord() {
		case "interface":
			d.Interface = n.wordAt(1)
		case "virtual_router_id":
			d.RouterID = r.readNumber(n)
		case "virtual_ipaddress", "virtual_ipaddress_excluded":
			d.Addresses = append(d.Addresses, n.readAddresses()...)
		}
	}
	return d
}

// readAddresses are those of a block with one on each line, behind a condition (@NAME) where it has one.
func (n node) readAddresses() []netip.Addr {
	var all []netip.Addr
	for _, line := range n.children {
		words := slices.DeleteFunc(slices.Clone(line.words), func(w string) bool { return strings.HasPrefix(w, "@") })
		if len(words) == 0 {
			continue
		}
		if p, err := prefixOf(words[0]); err == nil {
			all = append(all, p.Addr())
		}
	}
	return all
}

// addressesIn are all addresses among the words of a text.
func addressesIn(text string) []netip.Addr {
	var all []netip.Addr
	for line := range strings.Lines(text) {
		for _, t := range scanLine(line) {
			if p, err := prefixOf(t.text); t.word && err == nil {
				all = append(all, p.Addr())
			}
		}
	}
	return all
}
