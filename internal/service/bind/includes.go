package bind

import (
	"path"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

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

// Follow implements transaction.Follower: the files that the configuration and its views include, wherever they lie, and that are not read
// yet.
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
	return missing
}
