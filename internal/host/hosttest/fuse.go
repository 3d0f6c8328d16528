//go:build unix

package hosttest

import (
	"context"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Fuse is a machine whose client is killed (SIGKILL) before or after its n-th use.
type Fuse struct {
	host.Host
	left atomic.Int32
}

// NewFuse burns down at step n: every use of the machine is two steps, before and after.
func NewFuse(h host.Host, n int) *Fuse {
	f := &Fuse{Host: h}
	f.left.Store(int32(n)) //nolint:gosec // a test's number of steps
	return f
}

func (f *Fuse) burnOnce() {
	if f.left.Add(-1) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// Run implements host.Host.
func (f *Fuse) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	f.burnOnce()
	defer f.burnOnce()
	return f.Host.Run(ctx, cmd)
}

// Write implements host.Host.
func (f *Fuse) Write(ctx context.Context, file host.File) error {
	f.burnOnce()
	defer f.burnOnce()
	return f.Host.Write(ctx, file)
}

// Lock implements host.Host; giving the lock back is a use, too.
func (f *Fuse) Lock(ctx context.Context, name string) (func(), error) {
	f.burnOnce()
	defer f.burnOnce()
	unlock, err := f.Host.Lock(ctx, name)
	return func() { f.burnOnce(); unlock(); f.burnOnce() }, err
}
