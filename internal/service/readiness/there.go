package readiness

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// There asks from a machine, by the programs that are on it.
type There struct{ Host host.Host }

// Ask implements Asker.
func (t There) Ask(ctx context.Context, c Condition) (string, error) {
	switch {
	case c.TCP != "":
		name, port, err := net.SplitHostPort(c.TCP)
		if err != nil {
			return "", err
		}
		if _, err := t.runRepeatable(ctx, host.Script("connect to "+c.TCP, connectScript, name, port)); err != nil {
			return "", err
		}
		return "connected", nil
	case c.DNS != "":
		out, err := t.runRepeatable(ctx, host.Cmd{Argv: []string{"getent", "ahosts", c.DNS}})
		if err != nil {
			if exit, ok := errors.AsType[*host.ExitError](err); ok && exit.Code == 2 {
				return "", fmt.Errorf("%s does not resolve %s", t.Host, c.DNS)
			}
			return "", err
		}
		return c.judgeAddresses(parseAddresses(string(out)))
	}
	return t.getURL(ctx, c)
}

// connectScript opens a connection by bash's own means, as a machine may have no nc.
const connectScript = `exec timeout 9 bash -c 'exec 3<>"/dev/tcp/$1/$2"' connect "$1" "$2"`

// parseAddresses reads what getent prints: an address at the beginning of each line.
func parseAddresses(out string) []netip.Addr {
	var all []netip.Addr
	for line := range strings.Lines(out) {
		if words := strings.Fields(line); len(words) > 0 {
			if a, err := netip.ParseAddr(words[0]); err == nil {
				all = append(all, a)
			}
		}
	}
	return all
}

// getScript asks for a URL: the body, and the status in a last line.
//
//go:embed get.sh
var getScript string

func (t There) getURL(ctx context.Context, c Condition) (string, error) {
	argv := []string{c.URL}
	if c.Insecure {
		argv = append(argv, "--insecure")
	}
	out, err := t.runRepeatable(ctx, host.ScriptWithInput("ask for "+c.URL, getScript, []byte(c.CACertificate), argv...))
	if err != nil {
		return "", err
	}
	at := strings.LastIndexByte(string(out), '\n')
	status, err := strconv.Atoi(strings.TrimSpace(string(out[at+1:])))
	if at < 0 || err != nil {
		return "", fmt.Errorf("curl on %s gave no status", t.Host)
	}
	return c.judgeAnswer(status, string(out[:at]))
}

// runRepeatable runs a command that may be run again.
func (t There) runRepeatable(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	cmd.Repeatable = true
	out, err := t.Host.Run(ctx, cmd)
	if exit, ok := errors.AsType[*host.ExitError](err); ok && exit.Code == 127 {
		return nil, fmt.Errorf("%w: install what is missing there, or leave `from` out", err)
	}
	return out, err
}
