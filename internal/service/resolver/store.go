package resolver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// The files that carry what this provider configured.
const (
	resolvConf   = "/etc/resolv.conf"
	resolvedFile = "/etc/systemd/resolved.conf.d/90-virtcluster.conf"
	nmFile       = "/etc/NetworkManager/conf.d/90-virtcluster.conf"
	dnsmasqFile  = "/etc/NetworkManager/dnsmasq.d/90-virtcluster.conf"
)

// rollback is how long the machine waits to be reached again before it goes back by itself.
const rollback = 30 * time.Second

// Store is how one machine resolves names.
type Store = hostnet.Store[Resolver, found]

// kind is a machine's resolver, as hostnet's store has it: a machine has one.
type kind struct{}

// Open returns the store of a machine's resolver, with what its resource may call its own.
func Open(site hostnet.Site, importID string, claim owner.Claim) *Store {
	return hostnet.OpenStore[Resolver, found](site, kind{}, importID, "host", claim)
}

// found is how the machine resolves names now.
type found struct {
	// target is what /etc/resolv.conf leads to, text its content, and permissions, owner and group are the file's.
	target, text string
	permissions  fs.FileMode
	owner, group string
	// file is the one that this provider wrote, own its content; "" where there is none.
	file, own string
	// resolved says whether systemd-resolved runs, mode is what NetworkManager does with names: "" where it does not run.
	resolved bool
	mode     string
	// rewriters are what else writes /etc/resolv.conf.
	rewriters
}

// Holder says whose the configuration is. What a person wrote is kept beside it, and no obstacle.
func (f found) Holder() hostnet.Holder {
	if f.file == "" && f.hook != "" {
		return hostnet.Holder{There: true, Mark: owner.Parse(headOf(f.hook)), What: "the resolver's configuration in " + hookFile}
	}
	return hostnet.Holder{There: f.file != "", Mark: owner.Parse(headOf(f.own)), What: "the resolver's configuration in " + f.file}
}

func headOf(text string) string {
	_, after, _ := strings.Cut(text, "# virtcluster backend=")
	line, _, _ := strings.Cut(after, "\n")
	return line
}

// lookScript prints what resolves the machine's names, and then each file of this provider, with a newline behind it. Arguments: files.
const lookScript = `echo "target $(readlink -f /etc/resolv.conf)"
echo "stat $(stat -L -c '%a %U %G' /etc/resolv.conf 2>/dev/null)"
if systemctl is-active --quiet systemd-resolved 2>/dev/null; then echo resolved; fi
if systemctl is-active --quiet NetworkManager 2>/dev/null; then
  echo "mode $(busctl get-property org.freedesktop.NetworkManager /org/freedesktop/NetworkManager/DnsManager org.freedesktop.NetworkManager.DnsManager Mode 2>/dev/null | tr -d '"' | cut -d' ' -f2)"
fi
` + rewritersScript + `for file; do if [ -f "$file" ]; then echo "== $file"; cat "$file"; echo; fi; done`

// Look reads how the machine resolves names.
func (kind) Look(ctx context.Context, h host.Host) (f found, err error) {
	cmd := host.Script("look at the resolver", lookScript, resolvConf, resolvedFile, nmFile, dnsmasqFile, hookFile)
	cmd.Repeatable = true
	out, err := h.Run(ctx, cmd)
	if err != nil {
		return f, fmt.Errorf("look at how %s resolves names: %w", h, err)
	}
	parts := strings.Split("\n"+strings.TrimSuffix(string(out), "\n"), "\n== ")
	for line := range strings.Lines(parts[0]) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "target":
			f.target = value
		case "stat":
			f.readStat(value)
		case "resolved":
			f.resolved = true
		case "mode":
			f.mode = value
		case "client":
			f.clients = append(f.clients, value)
		case "hooks":
			f.takesHook = true
		}
	}
	for _, part := range parts[1:] {
		path, text, _ := strings.Cut(part, "\n")
		if path == resolvConf {
			f.text = text
		}
		if path == hookFile {
			f.hook = text
			continue
		}
		if path != resolvConf || strings.Contains(text, "# virtcluster backend=") {
			f.file, f.own = path, text
		}
	}
	return f, nil
}

// readStat reads what stat(1) says of /etc/resolv.conf: mode, owner and group.
func (f *found) readStat(text string) {
	words := strings.Fields(text)
	if len(words) != 3 {
		return // there is none
	}
	if permissions, err := strconv.ParseUint(words[0], 8, 32); err == nil {
		f.permissions, f.owner, f.group = fs.FileMode(permissions).Perm(), words[1], words[2]
	}
}

// resolvConf is the machine's own file with another content: its mode and owner stay.
func (f found) resolvConf(text string) hostnet.File {
	file := hostnet.File{Path: resolvConf, Content: text, Mode: 0o644}
	if f.permissions != 0 {
		file.Mode, file.Owner, file.Group = f.permissions, f.owner, f.group
	}
	return file
}

// writingBackend is the backend that decides what the machine's programs ask.
func (f found) writingBackend() string {
	switch {
	case strings.HasPrefix(f.target, "/run/systemd/resolve/") || f.mode == "systemd-resolved":
		return Resolved
	case strings.HasPrefix(f.target, "/run/NetworkManager/") || strings.Contains(f.text, "# Generated by NetworkManager"):
		return NetworkManager
	}
	return File
}

func backendOf(file string) string {
	switch file {
	case resolvedFile:
		return Resolved
	case nmFile, dnsmasqFile:
		return NetworkManager
	}
	return File
}

// Read is the resolver as this provider configured it.
func (kind) Read(f found) (Resolver, error) {
	if f.file == "" && f.hook != "" {
		// Somebody wrote the file anew all the same, or a person emptied it.
		r := parseWritten(f.hook)
		r.ActiveBackend = File
		return r, nil
	}
	if f.file == "" {
		return Resolver{}, fmt.Errorf("a resolver's configuration of this provider: %w", service.ErrAbsent)
	}
	r := parseWritten(f.own)
	r.ActiveBackend = backendOf(f.file)
	if f.file == resolvConf && f.needsHook() && f.hook == "" {
		r.ActiveBackend = dhclient // which writes the file anew at the next lease
	}
	return r, nil
}

// Complete chooses what resolves the names.
func (kind) Complete(_ context.Context, _ host.Host, f found, want Resolver) (Resolver, error) {
	here := []any{"backend"}
	writer := f.writingBackend()
	want.ActiveBackend = want.Backend
	if want.Backend == Auto || want.Backend == "" {
		want.ActiveBackend = writer
	}
	switch active := want.ActiveBackend; {
	case active == Resolved && !f.resolved:
		return want, service.At(here, errors.New("systemd-resolved does not run on the machine: write \"auto\", or install and start it"))
	case active == Resolved && writer != Resolved:
		return want, service.At(here, fmt.Errorf("%s does not lead to systemd-resolved, so the machine's programs do not ask it: link it to /run/systemd/resolve/stub-resolv.conf, or write \"auto\"", resolvConf))
	case active == NetworkManager && f.mode == "":
		return want, service.At(here, errors.New("NetworkManager does not run on the machine: write \"auto\", or install and start it"))
	case active != writer:
		return want, service.At(here, fmt.Errorf("%s is written by %s, which would overwrite it: write \"auto\" or %q", resolvConf, writer, writer))
	case active == File && f.target != resolvConf:
		return want, service.At(here, fmt.Errorf("%s is a link to %s, which something else writes: make it a file, or let systemd-resolved or NetworkManager write it", resolvConf, f.target))
	case active == NetworkManager && len(want.Domains) > 0 && f.mode != "dnsmasq":
		return want, service.At([]any{"domains"}, errors.New("NetworkManager asks all its name servers about every name here: leave domains out, install systemd-resolved, or set dns=dnsmasq in NetworkManager.conf"))
	}
	if f.file != "" && f.hook != "" && owner.Parse(headOf(f.hook)) != owner.Parse(headOf(f.own)) {
		return want, service.At(here, fmt.Errorf("%s is somebody else's: remove it, or rename it", hookFile))
	}
	for _, p := range want.findUnfit(want.ActiveBackend) {
		return want, service.At(p.Path, errors.New(p.Detail))
	}
	return want, nil
}

// reloadScript is the script that has a backend follow its files. systemd starts a unit five times in ten seconds and no sixth time, so changes
// that follow each other closely begin to count anew.
func reloadScript(backend string) string {
	switch backend {
	case Resolved:
		return "systemctl reset-failed systemd-resolved 2>/dev/null || :\nsystemctl restart systemd-resolved\n"
	case NetworkManager:
		return "nmcli general reload\n"
	}
	return ""
}

// Put is the change that has the machine ask the name servers.
func (k kind) Put(ctx context.Context, h host.Host, f found, want Resolver, mark owner.Mark) (c hostnet.Change, err error) {
	if want, err = k.Complete(ctx, h, f, want); err != nil {
		return c, err
	}
	file := hostnet.File{Mode: 0o644}
	var more []hostnet.File
	switch {
	case want.ActiveBackend == Resolved:
		file.Path, file.Content = resolvedFile, want.renderResolved(mark)
	case want.ActiveBackend == NetworkManager && len(want.Domains) > 0:
		file.Path, file.Content = dnsmasqFile, want.renderDNSMasq(mark)
	case want.ActiveBackend == NetworkManager:
		file.Path, file.Content = nmFile, want.renderNetworkManager(mark)
	default:
		file = f.resolvConf(want.putInto(f.text, f.permissions != 0, mark))
		if f.needsHook() || f.hook != "" {
			more = append(more, hostnet.File{Path: hookFile, Content: want.renderHook(mark), Mode: 0o755})
		}
	}
	c = hostnet.Change{Files: append(more, file), Do: reloadScript(want.ActiveBackend), Timeout: rollback}
	c.Undo = c.Do
	if f.file != "" && f.file != file.Path {
		old := k.removeChange(f)
		c.Files, c.Do, c.Undo = append(old.Files, c.Files...), old.Do+c.Do, old.Undo+c.Undo
	}
	return c, nil
}

// Drop is the change after which the machine asks whom it asked before.
func (k kind) Drop(_ context.Context, _ host.Host, f found) (hostnet.Change, error) {
	return k.removeChange(f), nil
}

func (kind) removeChange(f found) hostnet.Change {
	c := hostnet.Change{Do: reloadScript(backendOf(f.file)), Timeout: rollback}
	switch f.file {
	case "":
	case resolvConf:
		file := f.resolvConf("")
		before, there := dropFrom(f.own)
		file.Content, file.Absent = before, !there
		c.Files = append(c.Files, file)
	default:
		c.Files = append(c.Files, hostnet.File{Path: f.file, Absent: true})
	}
	if f.hook != "" {
		c.Files = append(c.Files, hostnet.File{Path: hookFile, Absent: true})
	}
	c.Undo = c.Do
	if f.file == resolvedFile {
		c.Do += "rmdir /etc/systemd/resolved.conf.d 2>/dev/null || :\n"
	}
	return c
}
