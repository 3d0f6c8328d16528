package hypervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// StartDomain makes a domain run: it starts a stopped one, resumes a paused one, and powers off and starts one whose
// guest crashed where libvirt was told to keep that (on_crash = preserve): its process is there, and of no use.
func (c *Client) StartDomain(ctx context.Context, uuid string) error {
	return c.onDomain(ctx, uuid, "start", func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		err := startDomain(l, ref)
		if err == nil {
			return nil
		}
		// It may be starting, or paused on its way, because of the same call on a connection that broke since.
		if state, _, look := l.DomainGetState(ref, 0); look == nil && libvirt.DomainState(state) == libvirt.DomainRunning {
			return nil
		}
		return err
	})
}

func startDomain(l *libvirt.Libvirt, ref libvirt.Domain) error {
	state, _, err := l.DomainGetState(ref, 0)
	if err != nil {
		return err
	}
	switch libvirt.DomainState(state) {
	case libvirt.DomainRunning, libvirt.DomainBlocked:
		return nil
	case libvirt.DomainPaused:
		return l.DomainResume(ref)
	case libvirt.DomainPmsuspended:
		return l.DomainPmWakeup(ref, 0)
	case libvirt.DomainCrashed:
		if err := l.DomainDestroyFlags(ref, libvirt.DomainDestroyDefault); err != nil {
			return err
		}
	}
	return l.DomainCreate(ref)
}

// ErrNoStoreReset says that the hypervisor's libvirt is too old to make a UEFI variable store anew.
var ErrNoStoreReset = errors.New("libvirt before 8.1 cannot make a UEFI variable store anew")

// storeResetSince is the version of libvirt that knows VIR_DOMAIN_START_RESET_NVRAM.
const storeResetSince = 8_001_000

// CanResetStore returns ErrNoStoreReset where ResetDomainStore cannot work.
func (c *Client) CanResetStore(ctx context.Context) error {
	version, err := callIdempotent(ctx, c, "ask for the version of libvirt", func(l *libvirt.Libvirt) (uint64, error) {
		return l.ConnectGetLibVersion()
	})
	if err == nil && version < storeResetSince {
		return ErrNoStoreReset
	}
	return err
}

// ResetDomainStore makes a stopped domain's UEFI variable store anew from its firmware's template. libvirt does that
// only at a start, so the machine is started without letting its guest run, and powered off.
func (c *Client) ResetDomainStore(ctx context.Context, uuid string) error {
	// Should the connection break, libvirt powers it off by itself.
	const flags = libvirt.DomainStartPaused | libvirt.DomainStartAutodestroy | libvirt.DomainStartResetNvram
	return c.onDomain(ctx, uuid, "make the variable store anew of", func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		if _, err := l.DomainCreateWithFlags(ref, uint32(flags)); err != nil {
			return err
		}
		return l.DomainDestroyFlags(ref, libvirt.DomainDestroyDefault)
	})
}

// StopDomain asks the guest to shut down and powers the machine off where it still runs after the grace
// period; with none it powers off at once. A stopped or absent domain is no error.
func (c *Client) StopDomain(ctx context.Context, uuid string, grace time.Duration) error {
	if grace > 0 {
		stopped, err := c.ShutDownDomain(ctx, uuid, grace)
		if stopped || err != nil {
			return err
		}
		tflog.Warn(ctx, "the guest did not shut down and is powered off", map[string]any{"domain": uuid, "after": grace.String()})
	}
	err := c.onDomain(ctx, uuid, "power off", func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		return l.DomainDestroyFlags(ref, libvirt.DomainDestroyDefault)
	})
	if IsNotFound(err) || Code(err) == int(libvirt.ErrOperationInvalid) {
		return nil // "domain is not running"
	}
	return err
}

// ShutDownDomain asks nicely, through the guest agent or ACPI, and says whether the guest obeyed in time. One that crashed is
// not asked.
func (c *Client) ShutDownDomain(ctx context.Context, uuid string, grace time.Duration) (stopped bool, err error) {
	deadline := time.Now().Add(grace)
	var asked time.Time
	for {
		state, err := c.domainState(ctx, uuid)
		if IsNotFound(err) || err == nil && state == libvirt.DomainShutoff {
			return true, nil
		}
		if err != nil || state == libvirt.DomainCrashed || time.Now().After(deadline) {
			return false, err
		}
		// A guest that is still booting does not listen, so it is asked again now and then.
		if time.Since(asked) > 5*time.Second {
			asked = time.Now()
			err := c.onDomain(ctx, uuid, "shut down", func(l *libvirt.Libvirt, ref libvirt.Domain) error { return l.DomainShutdown(ref) })
			if err != nil && Code(err) == 0 {
				return false, err // not libvirt's refusal
			}
			if err != nil {
				tflog.Debug(ctx, "the guest cannot be asked to shut down", map[string]any{"domain": uuid, "reason": err.Error()})
			}
		}
		if err := Pause(ctx, min(250*time.Millisecond, time.Until(deadline))); err != nil {
			return false, fmt.Errorf("wait for domain %s to shut down: %w", uuid, err)
		}
	}
}

func (c *Client) domainState(ctx context.Context, uuid string) (libvirt.DomainState, error) {
	ref, err := newDomainRef(uuid)
	if err != nil {
		return 0, err
	}
	return callIdempotent(ctx, c, fmt.Sprintf("read state of domain %s", uuid), func(l *libvirt.Libvirt) (libvirt.DomainState, error) {
		state, _, err := l.DomainGetState(ref, 0)
		return libvirt.DomainState(state), err
	})
}
