package bind

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/systemd"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Daemon is named, for transactions.
type Daemon struct{}

var (
	_ transaction.Daemon   = Daemon{}
	_ transaction.Packaged = Daemon{}
	_ transaction.Keeper   = Daemon{}
)

// Name implements transaction.Daemon.
func (Daemon) Name() string { return "bind" }

// Package implements transaction.Packaged.
func (Daemon) Package() (program, unit string) { return "named", "named.service" }

// Globs implements transaction.Daemon.
func (Daemon) Globs() []string { return listGlobs() }

// Strip implements transaction.Stripper.
func (Daemon) Strip(t transaction.Tree) error {
	c, err := readConfig(t)
	if err != nil {
		return absentIsFine(err)
	}
	if s := c.serverStatement(); s != nil {
		removeStatement(c.file, s)
	}
	for _, s := range c.viewStatements() {
		c.removeView(s)
	}
	everywhere, err := parseConf(t, c.everywherePath())
	if err != nil {
		return err
	}
	everywhere.Statements = slices.DeleteFunc(everywhere.Statements, isOurZone)
	c.writeZoneFile(zoneHolder{everywhere, c.everywherePath()})
	for p := range t {
		if strings.HasPrefix(p, c.zonesDirectory()) {
			delete(t, p)
		}
	}
	if _, taken := t[c.originalPath()]; !taken {
		return nil
	}
	return c.saveConfig()
}

// Owners implements transaction.Owners.
func (Daemon) Owners(t transaction.Tree) []string {
	c, err := readConfig(t)
	if err != nil {
		return nil
	}
	var owners []string
	part := func(what string, m owner.Mark) { owners = append(owners, fmt.Sprintf("%s (%s)", what, m)) }
	if s := c.serverStatement(); s != nil {
		part("server", markOf(s))
	}
	for _, v := range c.viewStatements() {
		part("view "+v.Arg(0), markOf(v))
	}
	c.eachZone(func(z *namedconf.Statement, views []string) {
		zone := fmt.Sprintf("zone %s in view %s", z.Arg(0), strings.Join(views, ", "))
		part(zone, markOf(z))
		content, ok := t[path.Clean(fileOf(z))]
		if !ok {
			return
		}
		sets := parseZoneFile(z.Arg(0), content.Content).owned
		for _, set := range sortedSets(sets) {
			part(fmt.Sprintf("record set %s %s of %s", set.name, set.rrType, zone), sets[set].mark)
		}
	})
	return owners
}

// checkScript runs named-checkconf over the configuration directory as it will be.
//
//go:embed check.sh
var checkScript string

// Check implements transaction.Daemon with named-checkconf -z, which loads every zone of every view.
func (Daemon) Check(ctx context.Context, h host.Host, stage string, next transaction.Tree) error {
	d, ok := distributionOf(next)
	if !ok {
		return errNotInstalled
	}
	argv := []string{"unshare", "--mount", "sh", "-c", checkScript, "sh", stage, d.main, d.dir}
	_, err := h.Run(ctx, host.Cmd{Argv: argv})
	var exit *host.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	return &transaction.RefusedError{Err: fmt.Errorf("named-checkconf -z: %s", checkerWords(exit))}
}

// checkerWords are what the checker complains of, without the zones that it loaded.
func checkerWords(exit *host.ExitError) string {
	var words []string
	for line := range strings.Lines(exit.Stderr + "\n" + exit.Stdout) {
		line = strings.TrimSpace(line)
		if line == "" || strings.Contains(line, ": loaded serial ") {
			continue
		}
		words = append(words, line)
	}
	if len(words) == 0 {
		return fmt.Sprintf("exit status %d", exit.Code)
	}
	return strings.Join(words, "\n")
}

// Running implements transaction.Daemon.
func (Daemon) Running(ctx context.Context, h host.Host) (bool, error) {
	return systemd.Running(ctx, h, "named.service")
}

// activateScript makes named load what is on disk.
//
//go:embed activate.sh
var activateScript string

// Activate implements transaction.Daemon: it reloads the zones whose files changed, each in its view, and
// reconfigures named, which loads new zones, where its own configuration changed. Other zones are not loaded again.
func (Daemon) Activate(ctx context.Context, h host.Host, prev, next transaction.Tree) error {
	write, removed := prev.Changes(next)
	unchanged := len(write)+len(removed) == 0
	d, _ := distributionOf(next)
	changed := func(p string) bool { return !strings.HasPrefix(p, d.zonesDirectory()) }
	mode, emptied := "", ""
	if slices.ContainsFunc(write, changed) || slices.ContainsFunc(removed, changed) || unchanged {
		mode = "reconfig"
	}
	if len(removed) > 0 {
		emptied = d.dir + "/virtcluster"
	}
	zones, err := listServed(next)
	if err != nil {
		return err
	}
	before, err := listServed(prev)
	if err != nil {
		before = zones // a reload too many does no harm
	}
	var input bytes.Buffer
	for _, z := range zones {
		known := slices.ContainsFunc(before, func(b servedZone) bool { return b.zone == z.zone && b.view == z.view })
		if unchanged || known && slices.Contains(write, z.file) {
			z.writeLine(&input)
		}
	}
	_, err = h.Run(ctx, host.ScriptWithInput("make named serve it", activateScript, input.Bytes(), append([]string{mode, emptied}, viewsGone(prev, next)...)...))
	return err
}

// viewsGone lists the views that one tree has and another one has not.
func viewsGone(prev, next transaction.Tree) []string {
	left, err := viewNames(next)
	if err != nil {
		return nil
	}
	had, _ := viewNames(prev)
	return slices.DeleteFunc(had, func(name string) bool { return slices.Contains(left, name) })
}

// viewNames lists the views of a configuration's main file.
func viewNames(t transaction.Tree) ([]string, error) {
	c, err := readConfig(t)
	if err != nil {
		return nil, absentIsFine(err)
	}
	var names []string
	for _, s := range c.file.Statements {
		if isView(s) {
			names = append(names, s.Arg(0))
		}
	}
	return names, nil
}

// verifyScript proves that named answers and serves the serials of its input.
//
//go:embed verify.sh
var verifyScript string

// Verify implements transaction.Daemon.
func (Daemon) Verify(ctx context.Context, h host.Host, next transaction.Tree) error {
	zones, err := listServed(next)
	if err != nil {
		return err
	}
	var input bytes.Buffer
	for _, z := range zones {
		z.writeLine(&input)
	}
	cmd := host.ScriptWithInput("ask named what it serves", verifyScript, input.Bytes())
	cmd.Repeatable = true
	_, err = h.Run(ctx, cmd)
	return err
}

// servedZone is a zone of ours that named must serve.
type servedZone struct {
	zone, view, file string
	serial           uint32
}

func (z servedZone) writeLine(b *bytes.Buffer) {
	fmt.Fprintf(b, "%s %s %d\n", z.zone, z.view, z.serial)
}

// listServed lists the primary zones in our views with the serials of their files.
func listServed(t transaction.Tree) ([]servedZone, error) {
	c, err := readConfig(t)
	if err != nil {
		return nil, absentIsFine(err)
	}
	var zones []servedZone
	c.eachZone(func(s *namedconf.Statement, views []string) {
		content, ok := t[path.Clean(fileOf(s))]
		if !ok {
			return
		}
		for _, view := range views {
			zones = append(zones, servedZone{s.Arg(0), view, fileOf(s), serialOf(content.Content)})
		}
	})
	return zones, nil
}

// serialOf reads the serial of a file that this package rendered, without parsing all of it.
func serialOf(content []byte) uint32 {
	head := content
	if at := bytes.Index(content, []byte("\tSOA\t")); at >= 0 {
		if end := bytes.IndexByte(content[at:], '\n'); end >= 0 {
			head = content[:at+end+1]
		}
	}
	origin := ""
	for line := range bytes.Lines(head) {
		if words := bytes.Fields(line); len(words) == 2 && string(words[0]) == "$ORIGIN" {
			origin = strings.TrimSuffix(string(words[1]), ".")
		}
	}
	return parseZoneFile(origin, head).serial
}

var _ transaction.Prober = Daemon{}

// probeScript asks named for its status.
//
//go:embed probe.sh
var probeScript string

// Probe implements transaction.Prober: what named shall load it is told by rndc, which may lack the key or the permission.
func (Daemon) Probe(ctx context.Context, h host.Host) error {
	_, err := h.Run(ctx, host.RepeatableScript("rndc status", probeScript))
	return err
}
