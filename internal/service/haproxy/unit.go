package haproxy

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"strconv"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

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
