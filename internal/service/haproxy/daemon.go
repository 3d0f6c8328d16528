package haproxy

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/systemd"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Daemon is HAProxy in master-worker mode under systemd, as Debian and Fedora set it up.
type Daemon struct{}

var (
	_ transaction.Daemon   = Daemon{}
	_ transaction.Packaged = Daemon{}
	_ transaction.Stripper = Daemon{}
	_ transaction.Owners   = Daemon{}
	_ transaction.Witness  = Daemon{}
)

// Name implements transaction.Daemon.
func (Daemon) Name() string { return "haproxy" }

// Package implements transaction.Packaged.
func (Daemon) Package() (program, unit string) { return "haproxy", "haproxy.service" }

// Globs implements transaction.Daemon. Fedora's unit reads conf.d too.
func (Daemon) Globs() []string { return []string{ConfigPath, confDir + "*.cfg", UnitPath} }

const confDir = "/etc/haproxy/conf.d/"

// Strip implements transaction.Stripper.
func (Daemon) Strip(t transaction.Tree) error { return Strip(t) }

// Owners implements transaction.Owners.
func (Daemon) Owners(t transaction.Tree) []string { return Owners(t) }

// Running implements transaction.Daemon.
func (Daemon) Running(ctx context.Context, h host.Host) (bool, error) {
	return systemd.Running(ctx, h, "haproxy.service")
}

// checkScript asks the checker about the configuration as it is staged.
//
//go:embed check.sh
var checkScript string

// Check implements transaction.Daemon.
func (Daemon) Check(ctx context.Context, h host.Host, stage string, next transaction.Tree) error {
	client := ""
	if mentionsWord(next, "httpclient.") {
		client = "set"
	}
	_, err := h.Run(ctx, host.Script("haproxy -c", checkScript, ConfigPath, strings.TrimSuffix(confDir, "/"), client, stage, "", checkScript))
	var exit *host.ExitError
	switch {
	case errors.As(err, &exit) && exit.Code == exitNotMounted:
		return fmt.Errorf("mount what is staged over the live configuration on %s: %s", h, strings.TrimSpace(exit.Stderr)) // no refusal
	case errors.As(err, &exit):
		return &transaction.RefusedError{Err: refusal{words: checkerWords(exit.Stdout+exit.Stderr, stage, next), err: err}}
	}
	return err
}

// exitNotMounted is checkScript's status when it could not ask the checker.
const exitNotMounted = 70

// mentionsWord says whether a word is anywhere in the configuration.
func mentionsWord(t transaction.Tree, word string) bool {
	for _, f := range t {
		if bytes.Contains(f.Content, []byte(word)) {
			return true
		}
	}
	return false
}

// refusal is HAProxy's own words, with the section and the text of the line it means.
type refusal struct {
	words string
	err   error
}

func (r refusal) Error() string { return r.words }
func (r refusal) Unwrap() error { return r.err }

// placed matches the place in a message: "config : parsing [/etc/haproxy/haproxy.cfg:12]".
var (
	placed = regexp.MustCompile(`\[([^\]\s]+):(\d+)\]`)
	prefix = regexp.MustCompile(`^\[(ALERT|WARNING|NOTICE)\]\s*(?:\(\d+\)|\d+/\d+ \(\d+\))\s*:\s*`)
)

// checkerWords picks the alerts out of the checker's output; a message about a line is followed by it.
func checkerWords(output, stage string, next transaction.Tree) string {
	output = strings.ReplaceAll(output, stage, "")
	var alerts []string
	alert := false
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		if m := prefix.FindStringSubmatch(line); m != nil {
			alert = m[1] == "ALERT"
			line = prefix.ReplaceAllString(line, "")
		}
		if !alert || strings.Contains(line, "Error(s) found in configuration file") || strings.Contains(line, "Fatal errors found in configuration") {
			continue
		}
		if m := placed.FindStringSubmatch(line); m != nil {
			d := parseDocument(next[m[1]].Content)
			if n, err := strconv.Atoi(m[2]); err == nil && n >= 1 && n <= len(d.lines) {
				line += fmt.Sprintf("\n    in %s: %s", d.describeLine(n), strings.TrimSpace(d.lines[n-1]))
			}
		}
		alerts = append(alerts, line)
	}
	if len(alerts) == 0 {
		return strings.TrimSpace(output)
	}
	return "haproxy: " + strings.Join(alerts, "\n")
}

// UnitPath is the drop-in for HAProxy's systemd unit.
const UnitPath = "/etc/systemd/system/haproxy.service.d/virtcluster.conf"

// usualFiles is how many files systemd lets a service open (DefaultLimitNOFILE, systemd-system.conf(5)) where nobody set
// another limit. otherFiles is room for what HAProxy opens beside its connections: listeners, checks, threads, pipes.
const (
	usualFiles = 524288
	otherFiles = 65536
)

// renderUnit is the drop-in for a number of connections. HAProxy opens two files for each, and does not start where it may not.
// The limit is never below the usual one, so that other numbers of connections seldom change the drop-in: systemd reads
// all units again for a changed one.
func renderUnit(maxconn int64) string {
	return fmt.Sprintf("# Written by Terraform (virtcluster): files for the connections of maxconn.\n[Service]\nLimitNOFILE=1024:%d\n", openFiles(maxconn))
}

func openFiles(maxconn int64) int64 { return max(usualFiles, 2*maxconn+otherFiles) }

// deriveUnit puts the drop-in where the provider's base says how many connections there may be, and drops it elsewhere.
func deriveUnit(t transaction.Tree) {
	b, ok := parseDocument(t[ConfigPath].Content).readBase()
	if !ok || b.Maxconn == 0 {
		delete(t, UnitPath)
		return
	}
	t.Put(UnitPath, []byte(renderUnit(b.Maxconn)), 0o644, "", "")
}

// unitScript has systemd read a drop-in that came, changed or went, and lets a running HAProxy open as many files.
//
//go:embed unit.sh
var unitScript string

// activateUnit puts a changed drop-in into effect.
func activateUnit(ctx context.Context, h host.Host, prev, next transaction.Tree) error {
	if string(prev[UnitPath].Content) == string(next[UnitPath].Content) {
		return nil
	}
	files := ""
	if b, ok := parseDocument(next[ConfigPath].Content).readBase(); ok && b.Maxconn != 0 {
		files = strconv.FormatInt(openFiles(b.Maxconn), 10)
	}
	if _, err := h.Run(ctx, host.Script("read the drop-in of haproxy.service", unitScript, path.Dir(UnitPath), files)); err != nil {
		return fmt.Errorf("read the drop-in of haproxy.service on %s: %w", h, err)
	}
	return nil
}
