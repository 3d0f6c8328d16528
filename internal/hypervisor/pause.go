package hypervisor

import (
	"context"
	"errors"
	"time"
)

// Pause waits, or returns the context's error when that ends first.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Retry looks until that is not to be done again, or patience is over, and returns what the last look said. Where the context ends
// meanwhile, its error is joined to that.
func Retry(ctx context.Context, patience, pause time.Duration, look func() (again bool, err error)) error {
	for deadline := time.Now().Add(patience); ; {
		again, err := look()
		if !again || time.Now().After(deadline) {
			return err
		}
		if ended := Pause(ctx, pause); ended != nil {
			return errors.Join(err, ended)
		}
	}
}
