package keepalived

import (
	"maps"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// scriptDir holds the scripts that the provider puts on a machine: script security wants them where only root can write.
const scriptDir = "/etc/keepalived/virtcluster"

// scriptMode lets any user run a script, and root alone change it.
const scriptMode = 0o755

// isScript says whether what is tracked is a script, by its path or its content.
func (t Track) isScript() bool { return t.Script != "" || t.Content != "" }

// scriptPath is the file that a script's content is put in.
func (in Instance) scriptPath(t Track) string { return scriptDir + "/" + in.trackName(t) }

// scriptCommand is what keepalived runs for a script.
func (in Instance) scriptCommand(t Track) string {
	if t.Content != "" {
		return in.scriptPath(t)
	}
	return t.Script
}

// withScripts is the instance with the content of the scripts that the provider put on the machine. One that is missing, or
// that not everybody can run, stays a path, and so shows as another script.
func (in Instance) withScripts(t transaction.Tree) Instance {
	in.Track = slices.Clone(in.Track)
	for i, track := range in.Track {
		f, there := t[track.Script]
		if there && track.Script == in.scriptPath(track) && f.Perm() == scriptMode {
			in.Track[i].Script, in.Track[i].Content = "", string(f.Content)
		}
	}
	return in
}

// putScripts puts the contents of the instance's scripts into a tree.
func (in Instance) putScripts(t transaction.Tree) {
	for _, track := range in.Track {
		if track.Content != "" {
			path := in.scriptPath(track)
			t[path] = host.File{Path: path, Content: []byte(track.Content), Mode: scriptMode, Owner: "root", Group: "root"}
		}
	}
}

// dropScripts takes the scripts out of a tree that its configuration does not run any more.
func dropScripts(t transaction.Tree, c config) {
	run := map[string]bool{}
	for _, k := range c.chunks {
		if k.node.firstWord() != "vrrp_script" {
			continue
		}
		for _, n := range k.node.children {
			if n.firstWord() == "script" {
				run[n.wordAt(1)] = true
			}
		}
	}
	for path := range t {
		if strings.HasPrefix(path, scriptDir+"/") && !run[path] {
			delete(t, path)
		}
	}
}

// sameScripts says whether the scripts of two instances have the same content.
func (in Instance) sameScripts(other Instance) bool {
	content := func(of Instance) map[string]string {
		all := map[string]string{}
		for _, t := range of.Track {
			if t.Content != "" {
				all[t.Name] = t.Content
			}
		}
		return all
	}
	a, b := content(in), content(other)
	return maps.Equal(a, b)
}

// listInterpreters lists the programs that run the scripts of a tree, by the scripts' paths.
func listInterpreters(t transaction.Tree) map[string]string {
	all := map[string]string{}
	for path, f := range t {
		if strings.HasPrefix(path, scriptDir+"/") {
			all[path] = findInterpreter(string(f.Content))
		}
	}
	return all
}

// findInterpreter is the program that a script's first line names; "" where it names none.
func findInterpreter(content string) string {
	line, _, _ := strings.Cut(content, "\n")
	rest, ok := strings.CutPrefix(line, "#!")
	if words := strings.Fields(rest); ok && len(words) > 0 && strings.HasPrefix(words[0], "/") {
		return words[0]
	}
	return ""
}
