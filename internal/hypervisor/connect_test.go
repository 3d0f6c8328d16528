package hypervisor

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/digitalocean/go-libvirt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

// Procedures of libvirt's remote protocol (remote_protocol.x).
const (
	openProc     = 1
	authListProc = 66
)

// daemon is a libvirtd that knows how to be connected to and to tell its version; answer may replace or,
// with ok false, withhold the answer to anything else and hang up.
type daemon struct {
	connections atomic.Int32
	answer      func(proc uint32) (status uint32, payload []byte, ok bool)
}

func (d *daemon) serve(t *testing.T) (uri string) {
	t.Helper()
	return "qemu:///system?socket=" + serveSocket(t, func(conn net.Conn) {
		d.connections.Add(1)
		d.talk(conn)
	})
}

// serveSocket listens on a socket of its own until the test ends, and answers each connection; it returns the socket's path.
func serveSocket(t *testing.T, answer func(net.Conn)) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	serveListener(t, listener, answer)
	return path
}

// serveListener answers each connection until the test ends.
func serveListener(t *testing.T, listener net.Listener, answer func(net.Conn)) {
	t.Helper()
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go answer(conn)
		}
	}()
}

func (d *daemon) talk(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for {
		head := make([]byte, 28) // length, program, version, procedure, type, serial, status
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(head))-28); err != nil {
			return
		}
		status, payload, ok := uint32(0), []byte(nil), true
		switch proc := binary.BigEndian.Uint32(head[12:]); proc {
		case openProc:
		case authListProc:
			payload = []byte{0, 0, 0, 1, 0, 0, 0, 0}
		default:
			status, payload, ok = d.answer(proc)
		}
		if !ok {
			return
		}
		binary.BigEndian.PutUint32(head, uint32(28+len(payload)))
		binary.BigEndian.PutUint32(head[16:], 1)
		binary.BigEndian.PutUint32(head[24:], status)
		if _, err := conn.Write(append(head, payload...)); err != nil {
			return
		}
	}
}

// daemonError is libvirt's error message on the wire.
func refusal(code uint32, message string) []byte {
	out := binary.BigEndian.AppendUint32(nil, code)
	out = append(out, 0, 0, 0, 10, 0, 0, 0, 1)
	out = binary.BigEndian.AppendUint32(out, uint32(len(message)))
	out = append(out, message...)
	out = append(out, make([]byte, (4-len(message)%4)%4)...)
	return append(out, make([]byte, 64)...)
}

func version(l *libvirt.Libvirt) (uint64, error) { return l.ConnectGetVersion() }

func newClient(t *testing.T, uri string) *Client {
	t.Helper()
	c, err := New(uri, sshhost.Options{ConnectTimeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestACallConnectsOnceAndIsAnswered(t *testing.T) {
	d := &daemon{answer: func(uint32) (uint32, []byte, bool) { return 0, []byte{0, 0, 0, 0, 0, 0, 0x23, 0x28}, true }}
	c := newClient(t, d.serve(t))
	for range 3 {
		if got, err := callOnce(t.Context(), c, "read version", version); err != nil || got != 9000 {
			t.Fatalf("got %d, %v", got, err)
		}
	}
	if n := d.connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestAnIdempotentCallIsRepeatedWhenTheConnectionBreaks(t *testing.T) {
	var calls atomic.Int32
	d := &daemon{answer: func(uint32) (uint32, []byte, bool) { return 0, make([]byte, 8), calls.Add(1) > 1 }}
	c := newClient(t, d.serve(t))
	if _, err := callIdempotent(t.Context(), c, "read version", version); err != nil {
		t.Fatal(err)
	}
	if n := d.connections.Load(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

func TestAnOrdinaryCallIsNotRepeatedWhenTheConnectionBreaks(t *testing.T) {
	var calls atomic.Int32
	d := &daemon{answer: func(uint32) (uint32, []byte, bool) { calls.Add(1); return 0, nil, false }}
	c := newClient(t, d.serve(t))
	_, err := callOnce(t.Context(), c, `define network "a"`, version)
	if _, ok := errors.AsType[*BrokenError](err); !ok || calls.Load() != 1 {
		t.Fatalf("%d calls, %v", calls.Load(), err)
	}
	if IsNotFound(err) {
		t.Error("a broken connection must not count as absence")
	}
}

func TestACallIsRepeatedWhereTheModularDaemonBehindWasRestarted(t *testing.T) {
	var calls atomic.Int32
	d := &daemon{answer: func(uint32) (uint32, []byte, bool) {
		if calls.Add(1) == 1 {
			return 1, refusal(1, "internal error: client socket is closed"), true
		}
		return 0, make([]byte, 8), true
	}}
	c := newClient(t, d.serve(t))
	if _, err := callOnce(t.Context(), c, `define network "a"`, version); err != nil {
		t.Fatal(err)
	}
	if n := d.connections.Load(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

func TestRefusalsKeepLibvirtsWordsAndCode(t *testing.T) {
	for code, absent := range map[uint32]bool{42: true, 43: true, 49: true, 50: true, 57: true, 62: true, 9: false, 1: false} {
		d := &daemon{answer: func(uint32) (uint32, []byte, bool) { return 1, refusal(code, "Network not found: nope"), true }}
		_, err := callOnce(t.Context(), newClient(t, d.serve(t)), `read network "a"`, version)
		if IsNotFound(err) != absent || Code(err) != int(code) || !strings.Contains(err.Error(), "Network not found: nope") {
			t.Errorf("code %d: %v", code, err)
		}
	}
}

func TestACancelledCallReturnsAtOnce(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	d := &daemon{answer: func(uint32) (uint32, []byte, bool) { <-hang; return 0, nil, false }}
	c := newClient(t, d.serve(t))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := callOnce(ctx, c, "read version", version); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

func TestAnUnreachableHypervisorIsNamedWithAddressAndReason(t *testing.T) {
	c := newClient(t, "qemu:///system?socket=/nowhere/sock")
	_, err := callOnce(t.Context(), c, "read version", version)
	for _, want := range []string{"qemu:///system?socket=/nowhere/sock", "at /nowhere/sock", "no such file"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if IsNotFound(err) {
		t.Error("an unreachable hypervisor must not count as absence")
	}
}
