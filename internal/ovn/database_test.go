package ovn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/ovn-kubernetes/libovsdb/client"
)

func TestABrokenConnectionIsToldFromARefusal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"ended before the answer":    {io.ErrUnexpectedEOF, true},
		"ended before the question":  {client.ErrNotConnected, true},
		"ended while it was written": {fmt.Errorf("transact: %w", &net.OpError{Op: "write", Err: syscall.EPIPE}), true},
		"reset":                      {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, true},
		"closed here":                {net.ErrClosed, true},
		"no answer in time":          {context.DeadlineExceeded, false},
		"refused":                    {errors.New("constraint violation"), false},
		"changed meanwhile":          {ErrChanged, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := isBroken(c.err); got != c.want {
				t.Errorf("%v: %v, want %v", c.err, got, c.want)
			}
		})
	}
}
