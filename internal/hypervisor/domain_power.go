package hypervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"libvirt.org/go/libvirtxml"
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

// StartDomainAs starts a stopped machine with a configuration that counts for this start alone: when the machine stops, what is defined
// counts again. One that runs already, be it by somebody else's doing, is an Error.
func (c *Client) StartDomainAs(ctx context.Context, d *libvirtxml.Domain) error {
	text, err := d.Marshal()
	if err != nil {
		return fmt.Errorf("cannot render domain %q: %w", d.Name, err)
	}
	_, err = callOnce(ctx, c, fmt.Sprintf("start domain %q", d.Name), func(l *libvirt.Libvirt) (libvirt.Domain, error) {
		return l.DomainCreateXML(text, 0)
	})
	return err
}

// AskDomainToShutDown presses the power button, or has the guest agent do it; it does not wait.
func (c *Client) AskDomainToShutDown(ctx context.Context, uuid string) error {
	return c.onDomain(ctx, uuid, "shut down", func(l *libvirt.Libvirt, ref libvirt.Domain) error { return l.DomainShutdown(ref) })
}

// RebootDomain asks the guest to shut down and resets the machine once it did; it does not wait.
func (c *Client) RebootDomain(ctx context.Context, uuid string) error {
	return c.onDomain(ctx, uuid, "reboot", func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		return l.DomainReboot(ref, libvirt.DomainRebootDefault)
	})
}

// ResetDomain resets the machine as its reset button does: what it was started with stays.
func (c *Client) ResetDomain(ctx context.Context, uuid string) error {
	return c.onDomain(ctx, uuid, "reset", func(l *libvirt.Libvirt, ref libvirt.Domain) error { return l.DomainReset(ref, 0) })
}

// InterruptDomain sends the machine a non-maskable interrupt.
func (c *Client) InterruptDomain(ctx context.Context, uuid string) error {
	return c.onDomain(ctx, uuid, "interrupt", func(l *libvirt.Libvirt, ref libvirt.Domain) error { return l.DomainInjectNmi(ref, 0) })
}

// SetBootIndexes gives devices of a running machine, by their aliases, other places in the firmware's order of booting, which counts from
// the machine's next reset on; -1 takes one out of it. libvirt has no call for it, so QEMU is told itself.
func (c *Client) SetBootIndexes(ctx context.Context, uuid string, aliases []string, index func(alias string) int) error {
	return c.onDomain(ctx, uuid, "set the order of booting of", func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		for _, clearing := range []bool{true, false} { // no two devices may have one place, not even for a moment
			for _, alias := range aliases {
				place := -1
				if !clearing {
					place = index(alias)
				}
				err := tellQEMU(l, ref, alias, "qom-set", map[string]any{"path": "/machine/peripheral/" + alias, "property": "bootindex", "value": place})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// tellQEMU has QEMU itself do what libvirt has no call for, to the device of an alias.
func tellQEMU(l *libvirt.Libvirt, ref libvirt.Domain, alias, execute string, arguments map[string]any) error {
	command, err := json.Marshal(map[string]any{"execute": execute, "arguments": arguments})
	if err != nil {
		return err
	}
	said, err := l.QEMUDomainMonitorCommand(ref, string(command), 0)
	if err != nil {
		return err
	}
	var answer struct{ Error struct{ Desc string } }
	if err := json.Unmarshal([]byte(said), &answer); err != nil {
		return fmt.Errorf("understand QEMU's answer: %w", err)
	}
	if answer.Error.Desc != "" {
		return fmt.Errorf("QEMU says of %s: %s", alias, answer.Error.Desc)
	}
	return nil
}

// HasSavedState says whether a stopped machine would go on from where its memory was saved, instead of booting.
func (c *Client) HasSavedState(ctx context.Context, uuid string) (bool, error) {
	var saved int32
	err := c.onDomain(ctx, uuid, "look for the saved state of", func(l *libvirt.Libvirt, ref libvirt.Domain) (err error) {
		saved, err = l.DomainHasManagedSaveImage(ref, 0)
		return err
	})
	return saved != 0, err
}

// ChangeMedium changes what is in a drive, as if somebody took it out with a pin: a guest that holds it is not asked.
func (c *Client) ChangeMedium(ctx context.Context, uuid string, drive *libvirtxml.DomainDisk, live bool) error {
	text, err := drive.Marshal()
	if err != nil {
		return fmt.Errorf("cannot render drive: %w", err)
	}
	flags := libvirt.DomainDeviceModifyFlags(chooseImpact(live)) | libvirt.DomainDeviceModifyForce
	return c.onDomain(ctx, uuid, "change the medium of", func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		err := l.DomainUpdateDeviceFlags(ref, text, flags)
		if err == nil || !live || drive.Alias == nil {
			return err
		}
		// Of a drive that was plugged in while the machine ran, libvirt does not know that it has a tray (9.0), and a guest may close the
		// tray that libvirt has just opened.
		alias := drive.Alias.Name
		if tray := tellQEMU(l, ref, alias, "blockdev-open-tray", map[string]any{"id": alias, "force": true}); tray != nil {
			return errors.Join(err, tray)
		}
		err = l.DomainUpdateDeviceFlags(ref, text, flags)
		return errors.Join(err, tellQEMU(l, ref, alias, "blockdev-close-tray", map[string]any{"id": alias}))
	})
}

// TryDomain asks whether a machine could be started: it starts one that has no persistent configuration without letting its
// guest run, and powers it off. The error is the hypervisor's refusal; nothing is left in either case but its log there.
func (c *Client) TryDomain(ctx context.Context, d *libvirtxml.Domain) error {
	text, err := d.Marshal()
	if err != nil {
		return fmt.Errorf("cannot render domain %q: %w", d.Name, err)
	}
	// Should the connection break, libvirt powers it off by itself.
	const flags = libvirt.DomainStartPaused | libvirt.DomainStartAutodestroy
	_, err = callOnce(ctx, c, fmt.Sprintf("try domain %q", d.Name), withoutResult(func(l *libvirt.Libvirt) error {
		ref, err := l.DomainCreateXML(text, flags)
		if err != nil {
			return err
		}
		return l.DomainDestroyFlags(ref, libvirt.DomainDestroyDefault)
	}))
	return err
}
