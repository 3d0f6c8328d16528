package haproxy

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// ErrNoSocket says that the configuration opens no socket that would do, so HAProxy cannot be asked.
var ErrNoSocket = errors.New("HAProxy's configuration has no stats socket that can be used here: a virtcluster_haproxy opens one")

// talkScript passes standard input to the socket $1 with what the machine has: Debian always has perl,
// Fedora mostly python3, and none of the three is everywhere.
const talkScript = `
if command -v socat >/dev/null; then exec socat -t 60 - "UNIX-CONNECT:$1"; fi
if command -v perl >/dev/null; then exec perl -MSocket -e '
	socket(S, PF_UNIX, SOCK_STREAM, 0) && connect(S, sockaddr_un($ARGV[0])) or die "$ARGV[0]: $!\n";
	local $/; print S scalar <STDIN>; S->flush; shutdown(S, 1); print scalar <S>' "$1"; fi
if command -v python3 >/dev/null; then exec python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(sys.stdin.buffer.read()); s.shutdown(1)
while (b := s.recv(65536)): sys.stdout.buffer.write(b)' "$1"; fi
echo "none of socat, perl and python3 is installed" >&2; exit 69`

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
