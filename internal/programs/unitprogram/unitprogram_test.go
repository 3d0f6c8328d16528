package unitprogram

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestAFileIsReadBackWithoutItsFirstLine(t *testing.T) {
	t.Parallel()
	type config struct{ Name string }
	content, err := Encode("whose it is", config{"x"})
	if err != nil || string(content) != "// whose it is\n{\n  \"Name\": \"x\"\n}\n" {
		t.Fatalf("%v: %s", err, content)
	}
	var back config
	if err := Decode(content, &back); err != nil || back.Name != "x" {
		t.Errorf("%v: %+v", err, back)
	}
	if err := Decode([]byte(`{"Other": 1}`), &back); err == nil {
		t.Error("what has no place is taken")
	}
}

func TestSystemdIsToldWhereItAsks(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	if err := Ready(); err != nil {
		t.Error(err)
	}
	at := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenPacket("unixgram", at)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", at)
	if err := Ready(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 64)
	if n, _, err := socket.ReadFrom(said); err != nil || string(said[:n]) != "READY=1" {
		t.Errorf("%v: %q", err, said[:n])
	}
}

// TestAProgramFollowsItsSignals has a program reload, repeat, and end by each of the reasons that it has to.
func TestAProgramFollowsItsSignals(t *testing.T) { //nolint:paralleltest // a signal goes to all of the process
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		reload error
		end    func(fail chan<- error, stop func())
		want   error
	}{
		"its context ends":      {nil, func(_ chan<- error, stop func()) { stop() }, nil},
		"it is told to end":     {nil, func(chan<- error, func()) { _ = syscall.Kill(os.Getpid(), syscall.SIGTERM) }, nil},
		"a server fails":        {nil, func(fail chan<- error, _ func()) { fail <- broken }, broken},
		"it cannot read a file": {broken, func(chan<- error, func()) {}, broken},
	} {
		t.Run(name, func(t *testing.T) {
			socket, err := net.ListenPacket("unixgram", filepath.Join(t.TempDir(), "notify"))
			if err != nil {
				t.Fatal(err)
			}
			defer socket.Close()
			t.Setenv("NOTIFY_SOCKET", socket.LocalAddr().String())
			awaitReady := func() {
				t.Helper()
				_ = socket.SetReadDeadline(time.Now().Add(10 * time.Second))
				if _, _, err := socket.ReadFrom(make([]byte, 64)); err != nil {
					t.Fatalf("it is not ready: %v", err)
				}
			}
			fail, repeated, closed := make(chan error, 1), make(chan bool, 1), false
			p := Program{
				Reload: func(context.Context) error { return c.reload },
				Repeat: func(context.Context) {
					select {
					case repeated <- true:
					default:
					}
				},
				Interval: time.Millisecond,
			}
			p.AddServer(func(context.Context) error { return <-fail }, func() error { closed = true; return nil })
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 1)
			go func() { ended <- p.Run(ctx) }()
			awaitReady()
			<-repeated
			if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			if c.reload == nil {
				awaitReady()
			}
			c.end(fail, stop)
			if err := <-ended; !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("it ends with %v, want %v", err, c.want)
			}
			if err := p.Close(); err != nil || !closed {
				t.Errorf("%v: its port is closed: %t", err, closed)
			}
		})
	}
}
