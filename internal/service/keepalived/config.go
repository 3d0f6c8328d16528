package keepalived

import (
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// The provider's blocks are marked by the comment before them, so that an apply that was interrupted finds
// its own again and a person sees whose they are.
//
//	# Terraform virtcluster_vip "api" owner=… workspace=…
//	# Terraform virtcluster_vip "api" in sync group "okd" owner=… workspace=…
//	# Terraform virtcluster sync group "okd" owner=… workspace=…
//	# Terraform virtcluster script security
//	# Terraform virtcluster hand-over
const (
	mark         = "# Terraform virtcluster"
	vipMark      = mark + "_vip "
	groupMark    = mark + " sync group "
	securityMark = mark + " script security"
	yieldMark    = mark + " hand-over"
	// passwordWord begins the word of a VIP's mark that says which version of a write-only password it has: an import learns
	// from it that the password is for no state.
	passwordWord = "auth_pass_wo_version="
)

// config is a whole keepalived.conf.
type config struct {
	chunks []chunk
	tail   string
}

func parseConfig(content []byte) (config, error) {
	chunks, tail, err := splitChunks(string(content))
	if err != nil {
		return config{}, fmt.Errorf("parse %s: %w", Path, err)
	}
	return config{chunks: chunks, tail: tail}, nil
}

func (c config) toBytes() []byte {
	var out strings.Builder
	for _, k := range c.chunks {
		out.WriteString(k.lead + k.text)
	}
	out.WriteString(c.tail)
	return []byte(out.String())
}

// findBlock returns the first block with a keyword and a name.
func (c config) findBlock(keyword, name string) (chunk, bool) {
	i := slices.IndexFunc(c.chunks, func(k chunk) bool { return k.isBlock(keyword, name) })
	if i < 0 {
		return chunk{}, false
	}
	return c.chunks[i], true
}

// isBlock says whether a chunk is the block with a keyword and a name.
func (k chunk) isBlock(keyword, name string) bool {
	return k.node.firstWord() == keyword && k.node.wordAt(1) == name && k.node.block
}

// markOf returns the mark of a chunk that the provider wrote: the comment right before it. What a person copied together with its
// comment, and gave another name, is the person's.
func (k chunk) markOf() string {
	lines := strings.Split(strings.TrimRight(k.lead, "\n"), "\n")
	last := lines[len(lines)-1]
	if !strings.HasPrefix(last, mark) {
		return ""
	}
	if name, ok := strings.CutPrefix(last, vipMark); ok && !k.hasNameOf(unquoteName(name)) {
		return ""
	}
	return last
}

// hasNameOf says whether a chunk is called as one of a VIP's is: its instance has its name, and what it tracks begins with that.
func (k chunk) hasNameOf(vip string) bool {
	if k.node.firstWord() == "vrrp_instance" {
		return k.node.wordAt(1) == vip
	}
	return strings.HasPrefix(k.node.wordAt(1), vip+".")
}

// foreignLead is what stands before a chunk's mark: a person's comments and blank lines.
func (k chunk) foreignLead() string {
	return strings.TrimSuffix(strings.TrimSuffix(k.lead, "\n"), k.markOf())
}

// vipOf returns the name of the VIP that a chunk belongs to; "" is none of the provider's.
func (k chunk) vipOf() string {
	rest, ok := strings.CutPrefix(k.markOf(), vipMark)
	if !ok {
		return ""
	}
	return unquoteName(rest)
}

// ownerMark returns whose the chunk is: nobody's where a person wrote it, or a version of the provider that left no marks.
func (k chunk) ownerMark() owner.Mark { return owner.Parse(k.markOf()) }

// groupOf returns the sync group that the chunk's VIP asks for.
func (k chunk) groupOf() string {
	_, group, _ := strings.Cut(k.markOf(), " in sync group ")
	return unquoteName(group)
}

// unquoteName returns what stands between the first two quotes. Names hold none: Validate sees to it.
func unquoteName(text string) string {
	_, rest, _ := strings.Cut(text, `"`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// cutChunks takes out the chunks that match. It returns where the first one was, -1 for none, and what a person
// had written before them.
func (c *config) cutChunks(match func(chunk) bool) (at int, lead string) {
	at = -1
	var kept []chunk
	for _, k := range c.chunks {
		if !match(k) {
			kept = append(kept, k)
			continue
		}
		if at < 0 {
			at = len(kept)
		}
		if k.markOf() == "" {
			lead += k.lead
		} else {
			lead += strings.TrimSuffix(k.foreignLead(), "\n") // the blank line that put wrote before the mark
		}
	}
	c.chunks = kept
	return at, lead
}

// removeChunks takes out the chunks that match; what a person had written before them stays.
func (c *config) removeChunks(match func(chunk) bool) {
	at, lead := c.cutChunks(match)
	switch {
	case at < 0:
	case at < len(c.chunks):
		c.chunks[at].lead = lead + c.chunks[at].lead
	default:
		c.tail = lead + c.tail
	}
}

// putBlocks writes marked blocks in the place of the chunks that match, or at the end.
func (c *config) putBlocks(match func(chunk) bool, marking string, blocks ...string) {
	at, lead := c.cutChunks(match)
	if at < 0 || at == len(c.chunks) {
		at = len(c.chunks)
		if lead, c.tail = lead+c.tail, ""; lead != "" && !strings.HasSuffix(lead, "\n") {
			lead += "\n"
		}
		if at > 0 && !strings.HasSuffix(c.chunks[at-1].text, "\n") {
			c.chunks[at-1].text += "\n"
		}
	}
	added := make([]chunk, 0, len(blocks))
	for i, text := range blocks {
		if at > 0 || i > 0 || lead != "" {
			lead += "\n"
		}
		nodes, _ := parseNodes(text)
		added = append(added, chunk{lead: lead + marking + "\n", text: text, node: nodes[0]})
		lead = ""
	}
	c.chunks = slices.Insert(c.chunks, at, added...)
}

// insertBlock writes a marked block before a chunk that the provider wrote. What a person had written before that one stands before
// both.
func (c *config) insertBlock(i int, marking, text string) {
	k := &c.chunks[i]
	lead, gap := k.foreignLead(), "\n"
	if lead == "" {
		gap = "" // or every edit would add a line at the top of the file
	}
	nodes, _ := parseNodes(text)
	k.lead = gap + k.markOf() + "\n"
	c.chunks = slices.Insert(c.chunks, i, chunk{lead: lead + marking + "\n", text: text, node: nodes[0]})
}

// matchNothing matches no chunk.
func matchNothing(chunk) bool { return false }

// syncGroupOf finds the group of an instance: from the block that makes keepalived act on it, or from the
// mark as long as no other instance has joined the group.
func (c config) syncGroupOf(instance string) string {
	wanted := ""
	members := map[string]int{}
	for _, k := range c.chunks {
		if k.node.firstWord() == "vrrp_sync_group" && slices.Contains(groupMembers(k.node), instance) {
			return k.node.wordAt(1)
		}
		if k.node.firstWord() == "vrrp_instance" && k.groupOf() != "" {
			members[k.groupOf()]++
			if k.node.wordAt(1) == instance {
				wanted = k.groupOf()
			}
		}
	}
	if members[wanted] == 1 {
		return wanted
	}
	return ""
}

// groupMembers lists the instances of a vrrp_sync_group block.
func groupMembers(block node) []string {
	var names []string
	for _, n := range block.children {
		if n.firstWord() == "group" {
			for _, line := range n.children {
				names = append(names, line.words...)
			}
		}
	}
	return names
}
