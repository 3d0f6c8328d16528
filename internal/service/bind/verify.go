package bind

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"path"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

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
