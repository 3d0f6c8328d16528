package ovn_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// cutMachine is a machine whose connections are cut at a transaction that inserts rows: once for each call of cutNext.
type cutMachine struct {
	machine
	// sent says that the server gets the transaction, and only its answer is lost; before is what is done first.
	sent   bool
	before func()
	armed  atomic.Bool
	cuts   atomic.Int32
}

func (m *cutMachine) cutNext(sent bool, before func()) {
	m.sent, m.before = sent, before
	m.armed.Store(true)
}

func (m *cutMachine) DialUnix(ctx context.Context, path string) (net.Conn, error) {
	c, err := m.machine.DialUnix(ctx, path)
	return &cutConn{Conn: c, machine: m}, err
}

type cutConn struct {
	net.Conn
	machine *cutMachine
	deaf    atomic.Bool
}

// Write passes what is written, but a transaction that is to be cut, or what follows it.
func (c *cutConn) Write(text []byte) (int, error) {
	m := c.machine
	if !bytes.Contains(text, []byte(`"transact"`)) || !bytes.Contains(text, []byte(`"insert"`)) || !m.armed.CompareAndSwap(true, false) {
		return c.Conn.Write(text)
	}
	m.cuts.Add(1)
	if m.before != nil {
		m.before()
	}
	if m.sent {
		c.deaf.Store(true)
		return c.Conn.Write(text)
	}
	return 0, errors.Join(io.ErrClosedPipe, c.Close())
}

// Read passes what the server says until its answer to what is cut: that one is lost, after the server has made the transaction.
func (c *cutConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if c.deaf.Load() {
		return 0, io.EOF
	}
	return n, err
}

// A transaction whose connection is lost is made once, whether or not the server had it; what somebody else took meanwhile is not.
func TestAccOVNTransactionOfALostConnection(t *testing.T) {
	acctest.InSandbox(t)
	at, _, nb := openCentral(t)
	m := &cutMachine{machine: at}
	n := ovn.NewNorthbound(m, nil)
	t.Cleanup(n.Close)
	connect := func(t *testing.T) {
		t.Helper()
		if _, err := n.Notes(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 5 { // the client notices a lost connection in more than one way, by chance
		for name, sent := range map[string]bool{"unsent": false, "unanswered": true} {
			name += string(rune('0' + round))
			t.Run(name, func(t *testing.T) {
				connect(t)
				m.cutNext(sent, nil)
				if err := makeTogether(t.Context(), n, name)[0]; err != nil {
					t.Error(err)
				}
				if found := strings.Fields(nb("--bare", "--columns=name", "find", "Logical_Switch", "name="+name)); len(found) != 1 {
					t.Errorf("there is %v", found)
				}
				if marks := nb("--bare", "--columns=external_ids", "find", "Logical_Switch", "name="+name); strings.Contains(marks, "creating=") {
					t.Errorf("the mark is not finished: %s", marks)
				}
			})
		}
	}
	if told := strings.Fields(nb("--bare", "--columns=_uuid", "find", "DHCP_Options")); len(told) != 10 {
		t.Errorf("10 networks tell their guests %d things", len(told))
	}
	connect(t)
	m.cutNext(false, func() { nb("ls-add", "taken") })
	if err := makeTogether(t.Context(), n, "taken")[0]; !errors.As(err, new(*owner.ForeignError)) {
		t.Errorf("what somebody took while the connection was lost: %v", err)
	}
	if found := strings.Fields(nb("--bare", "--columns=external_ids", "find", "Logical_Switch", "name=taken")); len(found) != 0 {
		t.Errorf("it has %v", found)
	}
	if cuts := m.cuts.Load(); cuts != 11 {
		t.Errorf("the connection was cut %d times", cuts)
	}
}
