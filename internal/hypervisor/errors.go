package hypervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/digitalocean/go-libvirt"
)

// ErrNotFound is libvirt's own word that a domain, snapshot, checkpoint, network, pool, volume, filter, interface or device does
// not exist. No lost connection ever matches it.
var ErrNotFound = errors.New("not found")

// notFound are the codes by which libvirt says that a thing of some kind does not exist (virterror.h).
var notFound = []libvirt.ErrorNumber{
	libvirt.ErrNoDomain, libvirt.ErrNoNetwork, libvirt.ErrNoStoragePool, libvirt.ErrNoStorageVol,
	libvirt.ErrNoNodeDevice, libvirt.ErrNoInterface, libvirt.ErrNoNwfilter, libvirt.ErrNoNwfilterBinding,
	libvirt.ErrNoSecret, libvirt.ErrNoDomainSnapshot, libvirt.ErrNoDomainCheckpoint, libvirt.ErrNoDomainMetadata, libvirt.ErrNoNetworkMetadata, libvirt.ErrNoNetworkPort,
}

// Error is libvirt's refusal of one call, in its own words.
type Error struct {
	// What was attempted: `define network "kimgtnet0"`.
	What string
	// Code is libvirt's virErrorNumber.
	Code    int
	Message string
}

// Error carries libvirt's own words and code.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: libvirt: %s (code %d)", e.What, e.Message, e.Code)
}

// Is matches ErrNotFound by the code.
func (e *Error) Is(target error) bool {
	return target == ErrNotFound && slices.Contains(notFound, libvirt.ErrorNumber(e.Code))
}

// IsNotFound tells a proven "does not exist" from every other error.
func IsNotFound(err error) bool { return errors.Is(err, ErrNotFound) }

// IsNoPool says that there is no such storage pool, which IsNotFound says too. It proves nothing about the files that were in it.
func IsNoPool(err error) bool { return Code(err) == int(libvirt.ErrNoStoragePool) }

// IsUnsupported says that the hypervisor's driver cannot do what was asked at all, as the test driver cannot do much.
func IsUnsupported(err error) bool { return Code(err) == int(libvirt.ErrNoSupport) }

// Code is libvirt's error code, or 0 where the error is not libvirt's.
func Code(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return 0
}

// UnreachableError says that a hypervisor could not be connected to.
type UnreachableError struct {
	URI string
	// Address that was tried: "/var/run/libvirt/libvirt-sock", "root@kvm1:22".
	Address string
	Err     error
	// Remedy is a sentence that says the way out, without its full stop; "" for none.
	Remedy string
}

func (e *UnreachableError) Error() string {
	text := fmt.Sprintf("hypervisor %s cannot be reached at %s: %v", e.URI, e.Address, e.Err)
	if e.Remedy != "" {
		text += ". " + e.Remedy
	}
	return text
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// BrokenError says that the connection broke while a call was under way, so nobody knows whether it took effect.
type BrokenError struct {
	URI, What string
	Err       error
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("%s: the connection to hypervisor %s broke before the answer came, so it may or may not have taken effect; the next apply looks: %v", e.What, e.URI, e.Err)
}

func (e *BrokenError) Unwrap() error { return e.Err }

// explainError wraps an error of go-libvirt for the call that it ended.
func explainError(what string, err error) error {
	if e, ok := errors.AsType[libvirt.Error](err); ok {
		return &Error{What: what, Code: int(e.Code), Message: e.Message}
	}
	if errors.Is(err, libvirt.ErrUnsupported) {
		return fmt.Errorf("%s: the hypervisor's libvirt is too old for this: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// isUnsent says that a call failed because the connection was closed before anything was sent: go-libvirt
// answers with EINVAL then.
func isUnsent(err error) bool { return errors.Is(err, syscall.EINVAL) || isClosedBehind(err) }

// isClosedBehind says that virtqemud has lost the daemon that answers such calls, as when virtnetworkd was
// restarted: it keeps one connection to each for every client, and makes no other for as long as the client
// stays (measured with libvirt 11.3). libvirt has no code for it but that of any internal error, so its words
// must tell.
func isClosedBehind(err error) bool {
	e, ok := errors.AsType[libvirt.Error](err)
	return ok && libvirt.ErrorNumber(e.Code) == libvirt.ErrInternalError && strings.Contains(e.Message, "client socket is closed")
}

// breaksConnection says that the connection is of no further use.
func breaksConnection(err error) bool {
	if isClosedBehind(err) {
		return true
	}
	if _, libvirtSaid := errors.AsType[libvirt.Error](err); libvirtSaid {
		return false
	}
	if _, network := errors.AsType[net.Error](err); network {
		return true
	}
	return isUnsent(err) || slices.ContainsFunc([]error{
		libvirt.ErrInterrupted, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, syscall.EPIPE, syscall.ECONNRESET,
	}, func(sign error) bool { return errors.Is(err, sign) })
}

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
