package bind

import (
	"path"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
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

// maxIncludes bounds how deep files include each other.
const maxIncludes = 8

// matchingPaths are the paths of a tree that an include statement names, which may be a pattern, in their order.
func matchingPaths(t transaction.Tree, pattern string) []string {
	if _, ok := t[pattern]; ok {
		return []string{pattern}
	}
	var paths []string
	for p := range t {
		if ok, err := path.Match(pattern, p); err == nil && ok {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// isEmptyPattern says whether an included path is a pattern that no file has.
func (c *config) isEmptyPattern(pattern string) bool {
	return strings.HasPrefix(pattern, "/") && strings.ContainsAny(pattern, "*?[") && len(matchingPaths(c.tree, pattern)) == 0
}

// fileOf is the path of a zone's file: a relative one is in the directory that the options name.
func (c *config) fileOf(s *namedconf.Statement) string {
	file := fileOf(s)
	if file == "" || strings.HasPrefix(file, "/") {
		return file
	}
	for _, o := range c.flattenIncludes(c.file.Statements, 0) {
		if o.Name() != "options" || o.Block() == nil {
			continue
		}
		if dir := o.Block().Find("directory"); dir != nil {
			return path.Join(dir.Arg(0), file)
		}
	}
	return file
}

// zoneToRead is the path of the file of a person's primary zone that is not read yet; "" for all else. Files that named writes are not read, and
// neither are those of zones that rewrite answers: they are lists of many megabytes.
func (c *config) zoneToRead(s *namedconf.Statement) string {
	if s.Name() != "zone" || s.Block() == nil || isOurZone(s) || !isPersonal(s) || isSingle(s) {
		return ""
	}
	kind := s.Block().Find("type")
	file := c.fileOf(s)
	if _, read := c.tree[file]; read || kind == nil || !slices.Contains([]string{"primary", "master"}, strings.ToLower(kind.Arg(0))) || !strings.HasPrefix(file, "/") {
		return ""
	}
	rewrites := func(o *namedconf.Statement) bool {
		return o.Name() == "response-policy" && o.Block() != nil && slices.ContainsFunc(o.Block().Statements, func(z *namedconf.Statement) bool { return sameZone(z, s) })
	}
	for _, o := range c.flattenIncludes(c.file.Statements, 0) {
		if o.Block() != nil && slices.ContainsFunc(o.Block().Statements, rewrites) {
			return ""
		}
	}
	return file
}

// Follow implements transaction.Follower: the files that the configuration and its views include, wherever they lie, and those of a person's
// zones, which are not read yet.
func (Daemon) Follow(t transaction.Tree) []string {
	c, err := readConfig(t)
	if err != nil {
		return nil
	}
	var missing []string
	var visit func(statements []*namedconf.Statement, depth int)
	visit = func(statements []*namedconf.Statement, depth int) {
		for _, s := range statements {
			if isView(s) && s.Block() != nil {
				visit(s.Block().Statements, depth)
			}
			if file := c.zoneToRead(s); file != "" && !slices.Contains(missing, file) {
				missing = append(missing, file)
			}
			if s.Name() != "include" || !strings.HasPrefix(s.Arg(0), "/") || depth > maxIncludes {
				continue
			}
			file, err := c.parseIncluded(s, depth)
			switch {
			case err == nil && file != nil:
				visit(file.Statements, depth+1)
			case err == nil && !slices.Contains(missing, s.Arg(0)):
				missing = append(missing, s.Arg(0))
			}
		}
	}
	visit(c.file.Statements, 0)
	// What only the kept original includes is there again with it.
	if original, err := parseConf(t, c.originalPath()); err == nil {
		visit(original.Statements, 0)
	}
	return missing
}
