package keepalived

import (
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// OwnersOf returns whose the instances of a configuration are, by their names.
func OwnersOf(t transaction.Tree) (map[string]owner.Mark, error) {
	c, err := parseConfig(t[Path].Content)
	if err != nil {
		return nil, err
	}
	all := map[string]owner.Mark{}
	for _, k := range c.chunks {
		if k.node.firstWord() == "vrrp_instance" {
			all[k.node.wordAt(1)] = k.ownerMark()
		}
	}
	return all, nil
}

// Owners implements transaction.Owners. A configuration that cannot be read has nothing that could be told.
func (Daemon) Owners(t transaction.Tree) []string {
	all, err := OwnersOf(t)
	if err != nil {
		return nil
	}
	var names []string
	for name, m := range all {
		if m != (owner.Mark{}) {
			names = append(names, fmt.Sprintf("vrrp_instance %s, %s", name, m.Whose()))
		}
	}
	slices.Sort(names)
	return names
}

// passwordVersion returns the version of a write-only password that a chunk's mark names.
func (k chunk) passwordVersion() string {
	for word := range strings.FieldsSeq(k.markOf()) {
		if version, ok := strings.CutPrefix(word, passwordWord); ok {
			return version
		}
	}
	return ""
}

// findForeign says what the step would replace or remove that is not the VIP's own.
func (s Step) findForeign(t transaction.Tree, mine func(name string, found owner.Mark) bool) error {
	c, err := parseConfig(t[Path].Content)
	if err != nil {
		return err
	}
	for _, k := range c.chunks {
		keyword, name := k.node.firstWord(), k.node.wordAt(1)
		if (s.replacesBlock(keyword, name) && !mine(name, k.ownerMark())) || (s.collidesWith(keyword, name) && k.markOf() == "") {
			return &owner.ForeignError{What: keyword + " " + name, Place: Path, Owner: k.ownerMark()}
		}
	}
	return nil
}

// replacesBlock says whether a step writes or removes an instance.
func (s Step) replacesBlock(keyword, name string) bool {
	return keyword == "vrrp_instance" && (name == s.Was || s.Instance != nil && name == s.Instance.Name)
}

// collidesWith says whether a step writes a block of that name beside its instance.
func (s Step) collidesWith(keyword, name string) bool {
	if s.Instance == nil {
		return false
	}
	switch keyword {
	case "vrrp_sync_group":
		return name == s.Instance.SyncGroup
	case "vrrp_script", "vrrp_track_process":
		return slices.ContainsFunc(s.Instance.Track, func(t Track) bool { return s.Instance.trackName(t) == name })
	}
	return false
}

// formatMark is a comment with an owner's mark.
func formatMark(comment string, m owner.Mark) string {
	return strings.TrimSpace(comment + " " + m.String())
}
