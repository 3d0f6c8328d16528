package bind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// FindServer reads the server; transaction.ErrAbsent where the options are not this provider's.
func FindServer(t transaction.Tree) (Server, error) {
	c, err := readConfig(t)
	if err != nil {
		return Server{}, err
	}
	s := c.serverStatement()
	if s == nil {
		return Server{}, transaction.ErrAbsent
	}
	server, _ := parseServer(s)
	return server, nil
}

// ServerMark returns whose the server's options are; false where they are not the provider's.
func ServerMark(t transaction.Tree) (owner.Mark, bool) {
	return markIn(t, func(c *config) (*namedconf.Statement, error) { return c.serverStatement(), nil })
}

// SetServer puts the server's options in the place of those that are there. What says where files are stays.
func SetServer(t transaction.Tree, want Server, m owner.Mark) error {
	c, err := openConfig(t)
	if err != nil {
		return err
	}
	old := c.serverStatement()
	var kept []*namedconf.Statement
	if old != nil {
		_, kept = parseServer(old)
	} else {
		if kept, err = c.removeOptions(); err != nil {
			return err
		}
	}
	s, err := parseStatement(want.Render(kept, m), "")
	if err != nil {
		return err
	}
	if old != nil {
		replaceStatement(c.file, old, s)
	} else {
		c.file.Statements = append(c.file.Statements, s)
	}
	return c.saveConfig()
}

// removeOptions takes out the options statement from before and returns what of it says where files are. What a person made of it since the
// take-over, and would not come back with the original, goes to the file beside it.
func (c *config) removeOptions() ([]*namedconf.Statement, error) {
	var kept []*namedconf.Statement
	original, err := parseConf(c.tree, c.originalPath())
	if err != nil {
		return nil, err
	}
	known := textsOf(c.flattenIncludes(original.Statements, 0))
	for {
		s, include, err := c.findStatement(func(s *namedconf.Statement) bool { return s.Name() == "options" })
		if err != nil || s == nil {
			return kept, err
		}
		if include != nil {
			if err := c.inlineInclude(include); err != nil {
				return nil, err
			}
			continue
		}
		for _, in := range s.Block().Statements {
			if slices.Contains(layout, in.Name()) {
				kept = append(kept, in)
			}
		}
		if !known[squeezeBlanks(s.Text())] {
			c.keepBeside([]*namedconf.Statement{s}, "")
		}
		removeStatement(c.file, s)
	}
}

// DropServer takes the server's options out and puts back those from before.
func DropServer(t transaction.Tree) error {
	c, err := readConfig(t)
	if err != nil {
		return absentIsFine(err)
	}
	s := c.serverStatement()
	if s == nil {
		return nil
	}
	if _, kept := t[c.originalPath()]; !kept {
		// What the options were nobody knows any more: what says where files are, and what a person added, stays.
		var b strings.Builder
		_, rest := parseServer(s)
		for _, in := range rest {
			fmt.Fprintf(&b, "\t%s\n", in.Text())
		}
		plain, err := parseStatement("options {\n"+b.String()+"};", "")
		if err != nil {
			return err
		}
		plain.SetLead("\n")
		c.file.Statements[slices.Index(c.file.Statements, s)] = plain
		return c.saveConfig()
	}
	removeStatement(c.file, s)
	if c.hasOurParts() {
		before, err := c.originalOptions()
		if err != nil {
			return err
		}
		c.file.Statements = append(before, c.file.Statements...)
	}
	return c.saveConfig()
}

// originalOptions are the options statements that the take-over found.
func (c *config) originalOptions() ([]*namedconf.Statement, error) {
	file, _, err := c.divideOriginal()
	if err != nil {
		return nil, err
	}
	before := &config{distribution: c.distribution, tree: c.tree, file: file}
	s, _, err := before.findStatement(func(s *namedconf.Statement) bool { return s.Name() == "options" })
	if err != nil || s == nil {
		return nil, err
	}
	s.SetLead("\n")
	return []*namedconf.Statement{s}, nil
}
