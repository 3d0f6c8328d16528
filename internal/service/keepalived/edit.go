package keepalived

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Path is keepalived's configuration on every distribution.
const Path = "/etc/keepalived/keepalived.conf"

// mode keeps passwords from everyone but root.
const mode fs.FileMode = 0o640

// Find reads an instance from a machine's configuration; transaction.ErrAbsent when it is not there.
func Find(t transaction.Tree, name string) (Instance, error) {
	c, err := parseConfig(t[Path].Content)
	if err != nil {
		return Instance{}, err
	}
	block, ok := c.findBlock("vrrp_instance", name)
	if !ok {
		return Instance{}, fmt.Errorf("vrrp_instance %s: %w", name, transaction.ErrAbsent)
	}
	in, err := c.readInstance(block)
	return in.withScripts(t), err
}

// Set puts an instance into a machine's configuration, in the place of one with its name. What a person wrote into that stays; where there is none,
// it is what a rollout that took the instance out has set aside, or what stood in the block that the instance was read from.
func Set(t transaction.Tree, in Instance) error {
	in.putScripts(t)
	return editConfig(t, func(c *config) {
		marking := vipMark + `"` + in.Name + `"`
		if in.SyncGroup != "" {
			marking += ` in sync group "` + in.SyncGroup + `"`
		}
		if in.PasswordVersion != "" {
			marking += " " + passwordWord + in.PasswordVersion
		}
		marking = formatMark(marking, in.Owner)
		stays, aside := c.takeAside(in.Name)
		if !aside {
			stays = in.kept
		}
		if _, there := c.findBlock("vrrp_instance", in.Name); there {
			stays = c.keptOf(in.Name)
			tracks := map[trackRef][]string{}
			maps.Copy(tracks, in.kept.behindTracks) // an instance that takes the addresses over tracks nothing for that moment
			maps.Copy(tracks, stays.behindTracks)
			stays.behindTracks = tracks
		}
		c.putBlocks(belongsTo(in.Name), marking, in.listBlocks(stays)...)
	})
}

// Drop takes an instance out of a machine's configuration; absent is no error.
func Drop(t transaction.Tree, name string) error {
	return editConfig(t, func(c *config) {
		c.removeChunks(belongsTo(name))
		c.takeAside(name)
	})
}

// suspendInstance takes an instance out of a machine's configuration that comes back as another one, and keeps what a person wrote into it; absent is
// no error.
func suspendInstance(t transaction.Tree, name, returns string) error {
	return editConfig(t, func(c *config) { c.setAside(name, returns) })
}

// belongsTo matches an instance with its scripts: by the mark, or the bare block that a person wrote.
func belongsTo(name string) func(chunk) bool {
	return func(k chunk) bool {
		return k.vipOf() == name || k.node.firstWord() == "vrrp_instance" && k.node.wordAt(1) == name
	}
}

// Apply makes a machine's configuration what the step says. mine says whether an instance, by its name and its mark, is the VIP's own: what is another's
// is neither replaced nor removed, and is an *owner.ForeignError.
func (s Step) Apply(t transaction.Tree, mine func(name string, found owner.Mark) bool) error {
	if err := s.findForeign(t, mine); err != nil {
		return err
	}
	for _, name := range s.Leave { // they come back with the next step of the machine
		if err := suspendInstance(t, name, name); err != nil {
			return err
		}
	}
	switch {
	case s.Was == "" || s.Instance != nil && s.Instance.Name == s.Was:
	case s.Returns != "":
		if err := suspendInstance(t, s.Was, s.Returns); err != nil {
			return err
		}
	default:
		if err := Drop(t, s.Was); err != nil {
			return err
		}
	}
	set := s.Companions
	if s.Instance != nil {
		set = append(slices.Clone(set), *s.Instance)
	}
	for _, in := range set {
		if err := Set(t, in); err != nil {
			return err
		}
	}
	return nil
}

// editConfig changes the configuration and brings in line what follows from all instances of it.
func editConfig(t transaction.Tree, change func(*config)) error {
	c, err := parseConfig(t[Path].Content)
	if err != nil {
		return err
	}
	change(&c)
	c.deriveSyncGroups()
	c.deriveSecurity()
	c.deriveYield()
	before := modeBefore(t)
	content := c.toBytes()
	if len(c.chunks) == 0 && len(content) < 2 {
		delete(t, Path)
	} else {
		t.Put(Path, content, mode, "", "")
	}
	deriveUnit(t, c, before)
	dropScripts(t, c)
	secureMode(t, before)
	return nil
}

// deriveSyncGroups writes a block for every sync group that two or more of the provider's instances ask
// for: keepalived refuses a group of one. It carries the mark of its first instance.
func (c *config) deriveSyncGroups() {
	groups, owners, weighted := map[string][]string{}, map[string]owner.Mark{}, map[string]bool{}
	for _, k := range c.chunks {
		if group := k.groupOf(); group != "" && k.node.firstWord() == "vrrp_instance" {
			weighted[group] = weighted[group] || k.watchesFile(yieldName)
			groups[group] = append(groups[group], k.node.wordAt(1))
			owners[k.node.wordAt(1)] = k.ownerMark()
		}
	}
	ours := func(k chunk) bool {
		return len(k.markOf()) > len(groupMark) && k.markOf()[:len(groupMark)] == groupMark
	}
	c.removeChunks(ours)
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if members := slices.Sorted(slices.Values(groups[name])); len(members) > 1 {
			w := &writer{}
			w.openBlock("vrrp_sync_group %s", name)
			w.openBlock("group")
			for _, m := range members {
				w.writeLine("%s", m)
			}
			w.closeBlock()
			if weighted[name] { // the file has the same one for all of them
				w.writeLine("sync_group_tracking_weight")
			}
			w.closeBlock()
			c.putBlocks(matchNothing, formatMark(groupMark+`"`+name+`"`, owners[members[0]]), w.String())
		}
	}
}

// deriveSecurity switches script security on where a script of the provider's runs, unless a person did.
func (c *config) deriveSecurity() {
	c.removeChunks(func(k chunk) bool { return k.markOf() == securityMark })
	scripts := slices.ContainsFunc(c.chunks, func(k chunk) bool {
		return k.vipOf() != "" && k.node.firstWord() == "vrrp_script"
	})
	on := slices.ContainsFunc(c.chunks, func(k chunk) bool {
		return k.node.firstWord() == "global_defs" && slices.ContainsFunc(k.node.children, func(n node) bool {
			return n.firstWord() == "enable_script_security"
		})
	})
	if scripts && !on {
		// keepalived reads several global_defs as one.
		c.putBlocks(matchNothing, securityMark, "global_defs {\n    enable_script_security\n}\n")
	}
}

// errNotRunning is a daemon that serves nothing.
var errNotRunning = errors.New("keepalived does not run")

// modeBefore returns the permissions that the file had before the provider wrote to it; 0 where it made the file.
func modeBefore(t transaction.Tree) fs.FileMode {
	for line := range strings.Lines(string(t[releasePath].Content)) {
		if text, ok := strings.CutPrefix(line, modeMark); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(text), 8, 32)
			if err == nil {
				return fs.FileMode(n)
			}
		}
	}
	f, there := t[Path]
	if _, ours := t[releasePath]; ours || !there {
		return 0
	}
	return f.Perm()
}

// secureMode takes the file from the eyes of others while an instance of the provider's is in it, whose password it may hold,
// and gives it back the permissions from before with the last one.
func secureMode(t transaction.Tree, before fs.FileMode) {
	f, there := t[Path]
	if !there {
		return
	}
	if _, ours := t[releasePath]; ours {
		f.Mode &= mode
	} else if before != 0 {
		f.Mode = before
	}
	t[Path] = f
}
