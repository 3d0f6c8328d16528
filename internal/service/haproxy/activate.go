package haproxy

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// activateScript has the master process reload and waits for the new worker, or starts HAProxy where it does not run.
//
//go:embed activate.sh
var activateScript string

// exitNotStarted is activateScript's status when HAProxy did not run and does not start.
const exitNotStarted = 2

// Activate implements transaction.Daemon: nothing where only comments differ, the runtime API where only
// servers do and HAProxy allows it, a reload otherwise. None of them drops a connection.
func (d Daemon) Activate(ctx context.Context, h host.Host, prev, next transaction.Tree) error {
	if err := activateUnit(ctx, h, prev, next); err != nil {
		return err
	}
	commands, reload := planLive(prev, next)
	if reload == "" {
		err := d.changeLive(ctx, h, prev, next, commands)
		if err == nil {
			return nil
		}
		reload = err.Error()
	}
	tflog.Info(ctx, "HAProxy does not take this at run time, so it is reloaded", map[string]any{"host": h.String(), "reason": reload})
	socket, repeat := "", func() {}
	if api, err := openSocket(h, next, isSocket); err == nil {
		socket = api.socket
	}
	if api, err := openRuntime(h, prev); err == nil {
		repeat = keepOrders(ctx, api, prev, next)
	}
	_, err := h.Run(ctx, host.Script("reload haproxy", activateScript, socket, talkScript))
	if err == nil {
		repeat()
	}
	var exit *host.ExitError
	if errors.As(err, &exit) {
		verb := "reload"
		if exit.Code == exitNotStarted {
			verb = "start"
		}
		return refusal{words: fmt.Sprintf("%s haproxy on %s: %s", verb, h, checkerWords(exit.Stderr, "", next)), err: err}
	}
	return err
}

// Verify implements transaction.Daemon: HAProxy runs, and has the provider's proxies and servers of next
// where their number, address, weight and state can be asked for.
func (d Daemon) Verify(ctx context.Context, h host.Host, next transaction.Tree) error {
	_, err := d.Witness(ctx, h, next)
	return err
}

// Witness implements transaction.Witness: what AskRunning would ask is a part of what Verify does.
func (d Daemon) Witness(ctx context.Context, h host.Host, next transaction.Tree) (any, error) {
	var stats statTable
	var servers serverTable
	api, err := openRuntime(h, next)
	hasSocket := err == nil
	g, asking := errgroup.WithContext(ctx)
	if hasSocket {
		g.Go(func() (err error) { stats, servers, err = api.statsAndServers(asking); return err })
	}
	// A process that answers need not be the unit's; one that does not run is the reason for all that follows.
	running, err := d.Running(ctx, h)
	asked := g.Wait()
	if err != nil {
		return nil, err
	}
	if !running {
		return nil, fmt.Errorf("haproxy.service is not active on %s", h)
	}
	if !hasSocket {
		return Running{}, nil
	}
	if asked != nil {
		return nil, asked
	}
	if problems := findMissing(next, stats, servers); len(problems) > 0 {
		return nil, fmt.Errorf("HAProxy on %s does not serve what is in %s: %s", h, ConfigPath, strings.Join(problems, "; "))
	}
	return Running{servers, plainWeights(next)}, nil
}
