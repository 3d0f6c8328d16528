// Package ovn is OVN's databases as plain values and stores: what resources keep in the northbound one, who follows it, and the settings by
// which a machine does.
package ovn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"reflect"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/ovn-kubernetes/libovsdb/client"
	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

// Machine is one whose databases are reached by their sockets, and whose files can be read.
type Machine interface {
	fmt.Stringer
	DialUnix(ctx context.Context, path string) (net.Conn, error)
	Read(ctx context.Context, path string) ([]byte, error)
}

// dialLimit bounds how long it takes to connect and to read all that is monitored, and answerLimit a transaction.
const (
	dialLimit   = 30 * time.Second
	answerLimit = 30 * time.Second
)

// Database is one database of a machine: its rows as the server tells of them, and transactions. It connects on first use, and again
// when the connection broke.
type Database struct {
	kind Kind
	// places are where it is; the Open vSwitch of a machine is on that one alone.
	places *places

	mu      sync.Mutex
	client  client.Client
	forward *forward
}

// NewDatabase returns a database of a machine.
func NewDatabase(m Machine, k Kind) *Database { return &Database{kind: k, places: &places{first: m}} }

// String names the database in messages: "OVN_Northbound on root@10.0.0.1".
func (d *Database) String() string { return d.kind.Name + " on " + d.places.first.String() }

// Close ends the connection.
func (d *Database) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.close()
}

// close ends the connection. The mutex is held.
func (d *Database) close() {
	if d.client != nil {
		d.client.Close()
		d.forward.close()
		d.client, d.forward = nil, nil
	}
}

// drop ends a connection that turned out to be lost, which it does not always say itself: another one is made then.
func (d *Database) drop(c client.Client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.client == c {
		d.close()
	}
}

// connect returns the live connection.
func (d *Database) connect(ctx context.Context) (client.Client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.client != nil && d.client.Connected() {
		return d.client, nil
	}
	d.close()
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	c, f, err := d.dialServer(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", d, err)
	}
	d.client, d.forward = c, f
	return c, nil
}

// dialServer connects to the leader of a cluster, where one is known, and to the one machine otherwise. That one may know of the others.
func (d *Database) dialServer(ctx context.Context) (client.Client, *forward, error) {
	if members := d.places.listAll(); members != nil {
		return d.dialLeader(ctx, members)
	}
	c, f, err := d.dialMachine(ctx, d.places.first)
	if errors.As(err, new(*StoppedError)) && d.places.askMachine(ctx) {
		return d.dialLeader(ctx, d.places.listAll())
	}
	if err != nil || d.kind.Name != NorthDB.Name {
		return c, f, err
	}
	var globals []Global
	if err := c.List(ctx, &globals); err == nil && len(globals) == 1 && d.places.setMembers(listMembers(globals[0].ExternalIDs)) {
		c.Close()
		f.close()
		return d.dialLeader(ctx, d.places.listAll())
	}
	return c, f, nil
}

// dialLeader connects to the machine that leads. One that stops to lead closes the connection, and one that did so meanwhile refuses it.
func (d *Database) dialLeader(ctx context.Context, members []string) (client.Client, *forward, error) {
	for {
		m, err := d.places.findLeader(ctx, d.kind, members)
		if err != nil {
			return nil, nil, err
		}
		c, f, err := d.dialMachine(ctx, m, client.WithLeaderOnly(true))
		if err == nil || ctx.Err() != nil {
			return c, f, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, err
		case <-time.After(probeInterval):
		}
	}
}

func (d *Database) dialMachine(ctx context.Context, m Machine, options ...client.Option) (client.Client, *forward, error) {
	rows, err := model.NewClientDBModel(d.kind.Name, d.kind.tables)
	if err != nil {
		return nil, nil, err
	}
	f, err := listen(ctx, func(ctx context.Context) (net.Conn, error) { return m.DialUnix(ctx, d.kind.Socket) })
	if err != nil {
		return nil, nil, err
	}
	c, err := client.NewOVSDBClient(rows, append(options, client.WithEndpoint("unix:"+f.path))...)
	if err == nil {
		if err = c.Connect(ctx); err != nil && isRefusal(f.readRefusal()) {
			err = &StoppedError{Err: f.readRefusal()}
		} else if err != nil {
			err = errors.Join(f.readRefusal(), err)
		}
	}
	if err == nil {
		if _, err = c.Monitor(ctx, d.kind.newMonitor(c)); err != nil {
			c.Close()
		}
	}
	if err != nil {
		f.close()
		return nil, nil, err
	}
	f.stopListening() // the client connects once
	return c, f, nil
}

// StoppedError says that nobody takes connections at a database's socket, on a machine that answers: its server is stopped, or the user may
// not ask it.
type StoppedError struct{ Err error }

func (e *StoppedError) Error() string { return e.Err.Error() }

// Unwrap returns the machine's refusal.
func (e *StoppedError) Unwrap() error { return e.Err }

// isRefusal says whether a machine answered that nobody takes connections at a socket.
func isRefusal(err error) bool {
	_, forwarded := errors.AsType[*sshhost.ForwardError](err)
	return forwarded || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// Rows returns the rows of a table that are meant, in no order; T is the table's row type. Their lists and maps are those of the connection, which
// never changes them, and nobody else may: it would take longer to copy those of ten thousand ports than all else.
func Rows[T any](ctx context.Context, d *Database, meant func(*T) bool) (rows []T, err error) {
	all, err := d.listRows(ctx, d.kind.tableOf(new(T)))
	for _, row := range all {
		if row, is := row.(*T); is && meant(row) {
			rows = append(rows, *row)
		}
	}
	return rows, err
}

// listRows returns all rows of a table, as the connection has them.
func (d *Database) listRows(ctx context.Context, table string) (map[string]model.Model, error) {
	for {
		c, err := d.connect(ctx)
		if err != nil {
			return nil, err
		}
		if rows := c.Cache(); rows != nil {
			return rows.Table(table).RowsShallow(), nil
		}
		d.drop(c)
	}
}

// Row returns the one row that is meant, nil where there is none. Several are an error.
func Row[T any](ctx context.Context, d *Database, meant func(*T) bool) (*T, error) {
	rows, err := Rows(ctx, d, meant)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	if len(rows) > 1 {
		return nil, fmt.Errorf("%s has %d rows in %s where one is meant", d, len(rows), d.kind.tableOf(new(T)))
	}
	return &rows[0], nil
}

// selectRows asks for columns of the rows of a table that meet all conditions, for once: the table is not monitored.
func (d *Database) selectRows(ctx context.Context, table string, meant []ovsdb.Condition, columns ...string) ([]ovsdb.Row, error) {
	c, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	question := ovsdb.Operation{Op: ovsdb.OperationSelect, Table: table, Where: meant, Columns: columns}
	results, err := c.Transact(ctx, question)
	if isLost(c, err) {
		d.drop(c)
	}
	if err == nil {
		_, err = ovsdb.CheckOperationResults(results, []ovsdb.Operation{question})
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", table, d, err)
	}
	return results[0].Rows, nil
}

// Find fills in the row that has the values of one of its table's indexes: a port by its name. It says whether there is one.
func Find[T any](ctx context.Context, d *Database, row *T) (bool, error) {
	c, err := d.connect(ctx)
	if err != nil {
		return false, err
	}
	err = c.Get(ctx, row)
	if errors.Is(err, client.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s of %s: %w", d.kind.tableOf(row), d, err)
	}
	return true, nil
}

// All means every row.
func All[T any](*T) bool { return true }

// ErrChanged says that a transaction was refused, as what it is based upon is not so any more.
var ErrChanged = errors.New("somebody else changed it meanwhile")

// errLost says that the connection broke in the middle of a transaction: nobody knows whether it was made.
var errLost = errors.New("the connection was lost")

// isLost says whether a request failed as its connection broke. The client says so itself only a moment later, when all that used the connection has ended.
func isLost(c client.Client, err error) bool {
	return err != nil && (isBroken(err) || !c.Connected())
}

// isBroken says whether an error is one of a connection that ended: when it was to be written to, or before the answer came.
func isBroken(err error) bool {
	return slices.ContainsFunc([]error{client.ErrNotConnected, io.ErrUnexpectedEOF, io.EOF, io.ErrClosedPipe, net.ErrClosed, syscall.EPIPE, syscall.ECONNRESET}, func(broken error) bool {
		return errors.Is(err, broken)
	})
}

// transact makes a transaction, all of it or nothing. Its own changes are in the rows when it returns.
func (d *Database) transact(ctx context.Context, operations []ovsdb.Operation) error {
	c, err := d.connect(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	results, err := failpoint.Send(ctx, "a transaction of "+d.kind.Name, func() ([]ovsdb.OperationResult, error) { return c.Transact(ctx, operations...) })
	if err != nil {
		if isLost(c, err) {
			d.drop(c)
			err = errors.Join(errLost, err)
		}
		return fmt.Errorf("change %s: %w", d, err)
	}
	failures, err := ovsdb.CheckOperationResults(results, operations)
	if _, timedOut := errors.AsType[*ovsdb.TimedOut](err); timedOut {
		return fmt.Errorf("change %s: %w", d, ErrChanged)
	}
	for _, failure := range failures {
		if _, timedOut := failure.(*ovsdb.TimedOut); timedOut {
			return fmt.Errorf("change %s: %w", d, ErrChanged)
		}
		err = errors.Join(err, failure)
	}
	if err != nil {
		return fmt.Errorf("change %s: %w", d, err)
	}
	return nil
}

// commitTries is how often a transaction is begun whose connection is lost.
const commitTries = 3

// Commit makes the transaction that plan returns, which looks at the rows as they are. Where the connection is lost in the middle it is
// planned again: what was made then is there. No operations are no transaction.
func (d *Database) Commit(ctx context.Context, plan func(ctx context.Context) ([]ovsdb.Operation, error)) error {
	for try := 1; ; try++ {
		operations, err := plan(ctx)
		if err != nil || len(operations) == 0 {
			return err
		}
		if err = d.transact(ctx, operations); err == nil || !errors.Is(err, errLost) || try == commitTries || ctx.Err() != nil {
			return err
		}
	}
}

func typeOf(row any) reflect.Type { return reflect.TypeOf(row).Elem() }
