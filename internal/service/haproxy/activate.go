package haproxy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// activateScript has the master process reload, or starts HAProxy, now and at boot, where it does not run. After a
// reload it waits for the new worker: until it is a process, and then, where the socket $1 is known, until it answers
// there by way of the script $2. Asking is left until then, and pauses grow, because on a slow machine every question
// takes from the time that the new worker needs to start. A unit that reloads by a check and a signal, as the
// distributions' do, is given the signal alone: these very bytes were checked a moment ago, and a check costs a third
// of a reload. A master whose new configuration does not work (an address in use, which the checker cannot see) keeps
// the old worker and says so in the journal only, in several messages. Those of an earlier reload may be milliseconds
// old, and one that is late does not count once the new worker is there. Of a start that failed, the last words may be on
// their way into the journal yet, and those of the stop before it are no reason.
const activateScript = `
log() { journalctl --no-pager --output=cat --unit=haproxy.service "$@"; }
start() {
	systemctl reset-failed haproxy.service 2>/dev/null
	started=$(date +%s.%N)
	systemctl enable --quiet haproxy.service && systemctl start haproxy.service && exit 0
	journalctl --sync 2>/dev/null
	log "--since=@$started" >&2
	exit 2
}
state= main= signal= other=
while IFS== read -r key value; do
	case $key=$value in
	ActiveState=*) state=$value ;;
	MainPID=*) main=$value ;;
	ExecReload=*/haproxy\ *-c\ *) signal= ;;
	ExecReload=*/kill\ -USR2\ '$MAINPID'\ \;*) signal=yes ;;
	ExecReload=*) other=yes ;;
	esac
done <<END
$(systemctl show --property=ActiveState,MainPID,ExecReload haproxy.service)
END
case $state in
active | reloading) ;;
*) start ;;
esac
workers() { read -r children <"/proc/$main/task/$main/children"; children=" $children "; }
fresh() { # one of the processes that was not there before
	for pid; do
		case $before in
		*" $pid "*) ;;
		*) return 0 ;;
		esac
	done
	return 1
}
serves() {
	workers
	fresh $children || return 1
	if [ -z "$1" ]; then sleep 0.5; else fresh $(echo "show info" | sh -c "$2" sh "$1" 2>/dev/null | sed -n "s/^Pid: //p") || return 1; fi
	[ -d "/proc/$pid" ]
}
pause() {
	case $1 in
	[1-4]) sleep 0.02 ;;
	[5-7]) sleep 0.05 ;;
	[89]) sleep 0.1 ;;
	*) sleep 0.25 ;;
	esac
}
since=$(date +%s.%N)
workers
before=$children
if [ "$signal" = yes ] && [ -z "$other" ]; then kill -USR2 "$main"; else systemctl reload haproxy.service; fi && {
	i=0 failed=0
	while [ $i -lt 120 ] && [ $failed -lt 2 ]; do
		serves "$@" && exit 0
		i=$((i+1))
		pause $i
		if [ $i -ge 8 ] && [ $((i%4)) = 0 ] && log "--since=@$since" | grep -q -e "Failed to load" -e "Reload failed" -e "Loading failure"; then failed=$((failed+1)); fi
	done
}
log "--since=@$since" >&2
exit 1`

// exitNotStarted is activateScript's status when HAProxy did not run and does not start.
const exitNotStarted = 2

// Activate implements transaction.Daemon: nothing where only comments differ, the runtime API where only
// servers do and HAProxy allows it, a reload otherwise. None of them drops a connection.
func (d Daemon) Activate(ctx context.Context, h host.Host, prev, next transaction.Tree) error {
	if err := activateUnit(ctx, h, prev, next); err != nil {
		return err
	}
	changes, ok := serverChanges(prev, next)
	if ok && len(changes) == 0 && d.Verify(ctx, h, next) == nil {
		return nil
	}
	if ok && len(changes) > 0 {
		err := d.changeServers(ctx, h, prev, next, changes)
		if err == nil {
			return nil
		}
		tflog.Info(ctx, "HAProxy does not take this at run time, so it is reloaded", map[string]any{"host": h.String(), "reason": err.Error()})
	}
	socket := ""
	if api, err := openSocket(h, next, isSocket); err == nil {
		socket = api.socket
	}
	_, err := h.Run(ctx, host.Script("reload haproxy", activateScript, socket, talkScript))
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

// changeServers makes server changes at run time. Whatever it leaves half done, a reload mends.
func (d Daemon) changeServers(ctx context.Context, h host.Host, prev, next transaction.Tree, changes []serverChange) error {
	api, err := openRuntime(h, prev)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if err := c.runChange(ctx, api); err != nil {
			return err
		}
	}
	return d.Verify(ctx, h, next)
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
