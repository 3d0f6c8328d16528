package haproxy

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
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

// openSocket finds a socket that the configuration opens.
func openSocket(h host.Host, t transaction.Tree, suits func(words []string) bool) (runtimeAPI, error) {
	for _, name := range sortedKeys(t) {
		d := parseDocument(t[name].Content)
		for _, s := range d.listSections() {
			for _, line := range d.bodyOf(s) {
				words, _ := rawWords(line)
				if s.kind == "global" && suits(words) && path.IsAbs(words[2]) {
					return runtimeAPI{host: h, socket: words[2]}, nil
				}
			}
		}
	}
	return runtimeAPI{}, ErrNoSocket
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
