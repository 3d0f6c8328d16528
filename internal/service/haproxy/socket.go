package haproxy

import (
	"context"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// ErrNoSocket says that the configuration opens no socket that would do, so HAProxy cannot be asked.
var ErrNoSocket = errors.New("HAProxy's configuration has no stats socket that can be used here: a virtcluster_haproxy opens one")

// talkScript passes standard input to a socket and prints the answer.
//
//go:embed talk.sh
var talkScript string

// runtimeAPI is HAProxy's runtime API over a socket on a machine.
type runtimeAPI struct {
	host   host.Host
	socket string
}

// openRuntime finds a socket that may change servers.
func openRuntime(h host.Host, t transaction.Tree) (runtimeAPI, error) {
	return openSocket(h, t, isAdminSocket)
}

// openSocket finds a socket that the configuration opens, in the main file first: HAProxy may not read the others.
func openSocket(h host.Host, t transaction.Tree, suits func(words []string) bool) (runtimeAPI, error) {
	for _, name := range append([]string{ConfigPath}, sortedKeys(t)...) {
		if socket, there := parseDocument(t[name].Content).findSocket(suits); there {
			return runtimeAPI{host: h, socket: socket}, nil
		}
	}
	return runtimeAPI{}, ErrNoSocket
}

// findSocket finds a socket that a file opens in any case.
func (d *document) findSocket(suits func(words []string) bool) (socket string, there bool) {
	for _, s := range d.listSections() {
		for _, line := range d.bodyOf(s) {
			if words, _ := rawWords(line); s.kind == "global" && !s.conditional && suits(words) {
				return words[2], true
			}
		}
	}
	return "", false
}

// isSocket says whether the words of a line open a socket that has a path, which is how it is found here.
func isSocket(words []string) bool {
	return len(words) > 2 && words[0] == "stats" && words[1] == "socket" && path.IsAbs(words[2])
}

// isAdminSocket says whether it may change servers too.
func isAdminSocket(words []string) bool {
	i := slices.Index(words, "level")
	return isSocket(words) && i > 0 && i+1 < len(words) && words[i+1] == "admin"
}

// askCommand sends one command and returns the answer without its last blank line.
func (r runtimeAPI) askCommand(ctx context.Context, command string) (string, error) {
	out, err := r.host.Run(ctx, host.ScriptWithInput("ask "+r.socket, talkScript, []byte(command+"\n"), r.socket))
	if err != nil {
		return "", fmt.Errorf("ask HAProxy %q: %w", command, err)
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// tellCommand sends a command that changes something. HAProxy has no status: it is silent or says one of the
// expected beginnings when it did it.
func (r runtimeAPI) tellCommand(ctx context.Context, command string, expected ...string) error {
	answer, err := r.askCommand(ctx, command)
	if err != nil {
		return err
	}
	answer = strings.TrimSpace(answer)
	if answer == "" || slices.ContainsFunc(expected, func(e string) bool { return strings.Contains(answer, e) }) {
		return nil
	}
	return fmt.Errorf("HAProxy says to %q: %s", command, answer)
}

func pauseFor(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stat is a line of `show stat`: a frontend, a backend or a server. Fields are by HAProxy's names.
type stat map[string]string

func (s stat) numberOf(field string) int64 {
	n, _ := strconv.ParseInt(s[field], 10, 64) // an empty field is a zero in HAProxy's table
	return n
}

// statTable is `show stat`: proxy name, then "FRONTEND", "BACKEND" or a server's name.
type statTable map[string]map[string]stat

func (r runtimeAPI) readStats(ctx context.Context) (statTable, error) {
	out, err := r.askCommand(ctx, "show stat")
	if err != nil {
		return nil, err
	}
	return parseStats(out)
}

func parseStats(out string) (statTable, error) {
	reader := csv.NewReader(strings.NewReader(strings.TrimPrefix(strings.TrimSpace(out), "# ")))
	reader.FieldsPerRecord = -1
	rows, err := reader.ReadAll()
	if err != nil || len(rows) == 0 || len(rows[0]) < 2 || rows[0][0] != "pxname" {
		return nil, fmt.Errorf("HAProxy's statistics are not the table they should be: %.80q", out)
	}
	table := statTable{}
	for _, row := range rows[1:] {
		s := stat{}
		for i, name := range rows[0] {
			if i < len(row) && name != "" {
				s[name] = row[i]
			}
		}
		if table[s["pxname"]] == nil {
			table[s["pxname"]] = map[string]stat{}
		}
		table[s["pxname"]][s["svname"]] = s
	}
	return table, nil
}
