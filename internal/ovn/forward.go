package ovn

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
)

// forward is a socket of this machine, in a directory that only its user may enter, that leads to another machine's: the OVSDB client dials
// by itself.
type forward struct {
	path     string
	listener net.Listener
	end      context.CancelFunc

	mu      sync.Mutex
	refused error
}

// listen makes a forward to what dial connects to. It ends by close, and not with the context.
func listen(ctx context.Context, dial func(context.Context) (net.Conn, error)) (*forward, error) {
	directory, err := os.MkdirTemp("", "virtcluster-ovn-")
	if err != nil {
		return nil, err
	}
	f := &forward{path: filepath.Join(directory, "s")}
	if f.listener, err = net.Listen("unix", f.path); err != nil {
		_ = os.RemoveAll(directory)
		return nil, err
	}
	ctx, f.end = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		for {
			near, err := f.listener.Accept()
			if err != nil {
				return // it is closed
			}
			go f.pass(ctx, near, dial)
		}
	}()
	return f, nil
}

// pass connects both ends, until one of them ends.
func (f *forward) pass(ctx context.Context, near net.Conn, dial func(context.Context) (net.Conn, error)) {
	defer func() { _ = near.Close() }()
	far, err := dial(ctx)
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.refused = err
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })
	go func() {
		defer cancel()
		_, _ = io.Copy(near, far)
	}()
	_, _ = io.Copy(far, near)
}

// readRefusal is why the other machine was not reached, nil where it was.
func (f *forward) readRefusal() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refused
}

// stopListening takes the socket away, of which nothing is left then where the provider is killed. Who is connected stays so.
func (f *forward) stopListening() {
	_ = f.listener.Close()
	_ = os.RemoveAll(filepath.Dir(f.path))
}

func (f *forward) close() {
	f.end()
	f.stopListening()
}
