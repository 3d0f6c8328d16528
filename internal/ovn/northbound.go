package ovn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Northbound is the northbound database of a machine, with the southbound one beside it, which says how far each chassis has followed.
type Northbound struct {
	North, South *Database
	// changes are those that are about to be made.
	changes changes

	mu sync.Mutex
	// lagging are the chassis that did not follow in time: nobody waits for one again until it has.
	lagging map[string]bool
}

// NewNorthbound returns the northbound database of a machine, which may be one of several; reach returns the others by their endpoints.
func NewNorthbound(m Machine, reach func(ctx context.Context, endpoint string) (Machine, error)) *Northbound {
	p := &places{first: m, reach: reach}
	return &Northbound{North: &Database{kind: NorthDB, places: p}, South: &Database{kind: SouthDB, places: p}, lagging: map[string]bool{}}
}

// SetMembers notes the endpoints of all machines that have these databases, the first one's among them: what asks the databases goes to the one
// that leads from now on. Fewer than two are none.
func (n *Northbound) SetMembers(endpoints []string) {
	if n.North.places.setMembers(endpoints) {
		n.Close()
	}
}

// Members returns the endpoints of all machines that have these databases, nil where one does or the others are not known.
func (n *Northbound) Members() []string { return n.North.places.listAll() }

// LearnMembers is SetMembers where nobody has said anything yet.
func (n *Northbound) LearnMembers(endpoints []string) { n.North.places.learnMembers(endpoints) }

// Close ends the connections.
func (n *Northbound) Close() {
	n.North.Close()
	n.South.Close()
}

// String names it in messages.
func (n *Northbound) String() string { return n.North.String() }

// followLimit is how long a change waits for chassis. One that does nothing else has a change within 50 ms.
const followLimit = 10 * time.Second

// LagError says that chassis do not have a change that is made.
type LagError struct{ Chassis []string }

func (e *LagError) Error() string {
	return fmt.Sprintf("the database has it, and of these chassis it is not known: %s. Look whether ovn-controller runs there, and reaches the databases (`ovn-appctl -t ovn-controller connection-status`); "+
		"it follows by itself once it does", strings.Join(e.Chassis, ", "))
}

// Commit makes the change that plan returns the operations of, in one transaction with those that others want at the same time, and waits until
// every chassis follows. Those that do not are a *LagError: the change is made all the same.
func (n *Northbound) Commit(ctx context.Context, plan func(ctx context.Context) ([]ovsdb.Operation, error)) error {
	counter, err := n.commitWithOthers(ctx, true, plan)
	if err != nil || counter == 0 {
		return err
	}
	return n.awaitChassis(ctx, counter)
}

// CommitQuietly is Commit of what no chassis has to follow.
func (n *Northbound) CommitQuietly(ctx context.Context, plan func(ctx context.Context) ([]ovsdb.Operation, error)) error {
	_, err := n.commitWithOthers(ctx, false, plan)
	return err
}

// Sync waits until every chassis has what the databases hold now. Those that do not follow are a *LagError.
func (n *Northbound) Sync(ctx context.Context) error {
	comment := "every chassis has what is here"
	return n.Commit(ctx, func(context.Context) ([]ovsdb.Operation, error) {
		return []ovsdb.Operation{{Op: ovsdb.OperationComment, Comment: &comment}}, nil
	})
}

// usualMTU is what fits into the tunnels of an underlay with packets of 1500 bytes.
const usualMTU = 1500 - Tunnel

// MTU is the largest packet that fits into the tunnels, as far as who brought OVN up has noted it.
func (n *Northbound) MTU(ctx context.Context) (int64, error) {
	global, err := n.findGlobal(ctx)
	if err != nil {
		return 0, err
	}
	if noted, err := strconv.ParseInt(global.ExternalIDs[mtuKey], 10, 64); err == nil {
		return noted, nil
	}
	return usualMTU, nil
}

// ErrUninitialized is the error of what asks a database that runs and has no row in NB_Global yet, which ovn-northd and ovn-nbctl make.
var ErrUninitialized = errors.New("has no row in NB_Global")

// findGlobal returns the one row of NB_Global.
func (n *Northbound) findGlobal(ctx context.Context) (*Global, error) {
	g, err := Row(ctx, n.North, All[Global])
	if err == nil && g == nil {
		err = fmt.Errorf("%s %w", n, ErrUninitialized)
	}
	return g, err
}

// awaitChassis waits until every chassis has the change of a number.
func (n *Northbound) awaitChassis(ctx context.Context, config int) error {
	end := time.Now().Add(followLimit)
	for {
		behind, err := n.listLagging(ctx, config)
		if err != nil {
			return err
		}
		n.mu.Lock()
		for name := range n.lagging {
			if !slices.Contains(behind, name) {
				delete(n.lagging, name)
			}
		}
		awaited := slices.ContainsFunc(behind, func(name string) bool { return !n.lagging[name] })
		if !awaited || time.Now().After(end) {
			for _, name := range behind {
				n.lagging[name] = true
			}
		}
		n.mu.Unlock()
		if len(behind) == 0 {
			return nil
		}
		if !awaited || time.Now().After(end) {
			return &LagError{n.describeChassis(ctx, behind)}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// listLagging lists the chassis that do not have the change of a number, by their ids.
func (n *Northbound) listLagging(ctx context.Context, config int) (names []string, err error) {
	rows, err := Rows(ctx, n.South, func(p *Progress) bool { return p.Config < config })
	for _, p := range rows {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names, err
}

// describeChassis names chassis by their hosts, where the database knows these.
func (n *Northbound) describeChassis(ctx context.Context, ids []string) (all []string) {
	for _, id := range ids {
		if c, err := Row(ctx, n.South, func(c *ChassisRow) bool { return c.Name == id }); err == nil && c != nil && c.Hostname != "" {
			id = fmt.Sprintf("%s (%s)", c.Hostname, id)
		}
		all = append(all, id)
	}
	return all
}

// ExplainStopped returns an error of a read as a *service.UnseenError where the server does not run: that proves nothing of what the database holds.
func (n *Northbound) ExplainStopped(err error) error {
	stopped, is := errors.AsType[*StoppedError](err)
	if !is {
		return err
	}
	return &service.UnseenError{Why: fmt.Sprintf("%s takes no connections, so what is known of it stays: start it there by `systemctl start ovn-central`, or apply its `virtcluster_ovn`. The answer was: %v", n, stopped), Err: err}
}

// isLag says whether an error is one of chassis that do not follow alone.
func isLag(err error) bool { return errors.As(err, new(*LagError)) }
