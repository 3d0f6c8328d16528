package bind

import (
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
)

func (k *keptZones) addZone(s *namedconf.Statement) {
	if isSingle(s) {
		k.single = append(k.single, s)
	} else {
		k.shared = append(k.shared, s)
	}
	k.personal = k.personal || isPersonal(s)
}

// content says what an included file holds.
type content struct {
	// hasZones says that there is a zone, and onlyZones that there is nothing but zones.
	hasZones, onlyZones bool
	// hasSingle says that one of them is a zone that two views cannot share (isSingle), and hasPersonal that one is not the distribution's.
	hasSingle, hasPersonal bool
}

// readContents looks into an included file, and into those that it includes.
func (c *config) readContents(f *namedconf.File, depth int) content {
	if f == nil {
		return content{}
	}
	all := content{onlyZones: true}
	for _, s := range c.flattenIncludes(f.Statements, depth) {
		if s.Name() != "zone" {
			all.onlyZones = false
			continue
		}
		all.hasZones, all.hasSingle, all.hasPersonal = true, all.hasSingle || isSingle(s), all.hasPersonal || isPersonal(s)
	}
	return all
}

// isSingle says whether named writes a zone's file, which views cannot share: what it transfers, what is
// updated, what it signs.
func isSingle(s *namedconf.Statement) bool {
	body := s.Block()
	if body == nil {
		return false
	}
	if kind := body.Find("type"); kind != nil && slices.Contains([]string{"secondary", "slave", "mirror", "stub", "redirect"}, strings.ToLower(kind.Arg(0))) {
		return true
	}
	if update := body.Find("allow-update"); update != nil && update.Block() != nil && !slices.Equal(update.Block().Elements(), []string{"none"}) {
		return true
	}
	for _, name := range []string{"update-policy", "auto-dnssec", "inline-signing", "dnssec-policy"} {
		if found := body.Find(name); found != nil && !slices.Contains([]string{"none", "no", "off"}, strings.ToLower(found.Arg(0))) {
			return true
		}
	}
	return false
}

// isPersonal says whether a zone is not one of those that every distribution configures (RFC 1912, section 4.1).
func isPersonal(s *namedconf.Statement) bool {
	name, err := ZoneName(s.Arg(0))
	if err != nil {
		return s.Arg(0) != "."
	}
	if body := s.Block(); body != nil {
		if kind := body.Find("type"); kind != nil && strings.ToLower(kind.Arg(0)) == "hint" {
			return false
		}
	}
	if name == "localhost" || name == "localhost.localdomain" || strings.HasSuffix(name, "."+reverse6) {
		return name != "localhost" && name != "localhost.localdomain" && !strings.HasPrefix(name, "1.0.0.0")
	}
	return !slices.Contains([]string{"0.in-addr.arpa", "127.in-addr.arpa", "255.in-addr.arpa", "1.0.0.127.in-addr.arpa"}, name)
}
