package haproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// checkScript asks about the main file $1 and, where the unit reads it, the directory $2, as they are staged below $4. What is
// staged is mounted over the live paths, in a mount namespace of its own, for HAProxy finds other files relative to these
// (default-path), and to the directory that the unit runs in. Where there is no such namespace, the staged paths are checked
// as they are. Four fifths of a check go into reading the machine's certificate authorities for HAProxy's own HTTP client (2.6
// and later), so it is asked without them first, unless the configuration sets that client ($3). Only a yes counts: any other
// answer, an older HAProxy's too, which does not know the setting, is left to the check of these files alone.
const checkScript = `
cd /
main=$1 dir=$2 client=$3 stage=$4 mounted=$5
if [ -z "$mounted" ] && [ -e "$main" ] && unshare --mount true 2>/dev/null; then
	exec unshare --mount sh -c "$6" sh "$1" "$2" "$3" "$4" yes "$6"
elif [ -z "$mounted" ]; then
	main=$stage$main dir=$stage$dir
else
	mount --bind "$stage$main" "$main" || exit 70
	if [ -d "$stage$dir" ] && [ -d "$dir" ]; then mount --bind "$stage$dir" "$dir" || exit 70; fi
fi
if [ -d "$dir" ] && systemctl show --property=ExecStart,Environment haproxy.service | grep -q /etc/haproxy/conf.d; then
	set -- -f "$main" -f "$dir"
else
	set -- -f "$main"
fi
without_client() {
	haproxy -c -f /dev/stdin "$@" >/dev/null 2>&1 <<END
global
	httpclient.ssl.verify none
END
}
if [ "$client" != set ] && without_client "$@"; then exit 0; fi
exec haproxy -c "$@"`

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
