package hypervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
)

// Migration is how a machine goes to another hypervisor while it runs, with copies of its disks.
type Migration struct {
	// Live is what runs there, and Config what its next start there uses: the machine's own XML, with the files and networks of the other
	// hypervisor.
	Live, Config *libvirtxml.Domain
	// Disks are the targets of the disks whose content is copied, into files that are there and as large; the others are there already.
	Disks []string
	// BandwidthMiB bounds what is sent in a second; 0 does not.
	BandwidthMiB int64
	// Paused has the guest wait on the other hypervisor until somebody lets it go on.
	Paused bool
}

// UnsettledError says that a migration broke where neither hypervisor alone knows how it ended.
type UnsettledError struct{ Err error }

func (e *UnsettledError) Error() string { return e.Err.Error() }

func (e *UnsettledError) Unwrap() error { return e.Err }

// MigratableDomain reads what runs of a domain, and its configuration, as another hypervisor can take them.
func (c *Client) MigratableDomain(ctx context.Context, uuid string) (live, config *libvirtxml.Domain, err error) {
	ref, err := newDomainRef(uuid)
	if err != nil {
		return nil, nil, err
	}
	type both struct{ live, config *libvirtxml.Domain }
	got, err := callIdempotent(ctx, c, "read domain "+uuid+" for a migration", func(l *libvirt.Libvirt) (all both, err error) {
		if all.live, err = domainXML(l, ref, libvirt.DomainXMLSecure|libvirt.DomainXMLMigratable); err != nil {
			return all, err
		}
		all.config, err = domainXML(l, ref, libvirt.DomainXMLSecure|libvirt.DomainXMLInactive)
		return all, err
	})
	return got.live, got.config, err
}

// IsPersistent says whether a domain is defined; one that runs without being defined is gone when it ends, and so is one that a migration
// is still filling.
func (c *Client) IsPersistent(ctx context.Context, uuid string) (bool, error) {
	persistent := int32(0)
	err := c.onDomain(ctx, uuid, "ask whether it is defined of", func(l *libvirt.Libvirt, ref libvirt.Domain) (err error) {
		persistent, err = l.DomainIsPersistent(ref)
		return err
	})
	return persistent != 0, err
}

// HoldDomain starts a stopped machine without letting its guest run, so that it can be migrated. It stays so until it is powered off.
func (c *Client) HoldDomain(ctx context.Context, uuid string) error {
	ref, err := newDomainRef(uuid)
	if err != nil {
		return err
	}
	_, err = callOnce(ctx, c, "start, held, domain "+uuid, withoutResult(func(l *libvirt.Libvirt) error {
		_, err := l.DomainCreateWithFlags(ref, uint32(libvirt.DomainStartPaused))
		return err
	}))
	return err
}

// migration is one that is under way. Its connections are nobody else's: where this process ends, libvirt sees them closed, and takes back
// what it did so far.
type migration struct {
	Migration
	ref        libvirt.Domain
	source, to *Client
	from, into *libvirt.Libvirt
	cookie     []byte
	params     []libvirt.TypedParam
	flags      libvirt.DomainMigrateFlags
}

// MigrateDomain moves a machine that runs to another hypervisor, and returns when it runs there and is defined there. Here it is off
// then, and still defined. It runs on here after any error but an *UnsettledError: there, the two hypervisors have to be asked where it is.
//
// The two hypervisors talk to each other directly, by libvirt's ports, at the name that the other one has for itself; this process takes
// them through the five steps of libvirt's protocol (virDomainMigrateVersion3Full).
func (c *Client) MigrateDomain(ctx context.Context, to *Client, uuid string, how Migration) (err error) {
	ref, err := newDomainRef(uuid)
	if err != nil {
		return err
	}
	m := &migration{Migration: how, ref: ref, source: c, to: to}
	if m.from, err = c.openConnection(ctx); err != nil {
		return err
	}
	defer func() { _ = m.from.Disconnect() }()
	if m.into, err = to.openConnection(ctx); err != nil {
		return err
	}
	defer func() { _ = m.into.Disconnect() }()
	if err := m.setParameters(how); err != nil {
		return err
	}
	if err := m.beginOnSource(ctx); err != nil {
		return err
	}
	sent := m.prepareTarget(ctx)
	if sent == nil {
		failpoint.Hit("node/prepared")
		sent = m.sendMachine(ctx)
	}
	failpoint.Hit("node/performed")
	return m.finishOnTarget(context.WithoutCancel(ctx), sent)
}

// setParameters sets what all steps are given.
func (m *migration) setParameters(how Migration) error {
	live, err := how.Live.Marshal()
	if err != nil {
		return fmt.Errorf("cannot render domain %q: %w", how.Live.Name, err)
	}
	config, err := how.Config.Marshal()
	if err != nil {
		return fmt.Errorf("cannot render domain %q: %w", how.Config.Name, err)
	}
	m.flags = libvirt.MigrateLive | libvirt.MigratePersistDest | libvirt.MigrateChangeProtection | libvirt.MigrateAutoConverge
	m.addText(libvirt.MigrateParamDestName, how.Live.Name)
	m.addText(libvirt.MigrateParamDestXML, live)
	m.addText(libvirt.MigrateParamPersistXML, config)
	if len(how.Disks) > 0 {
		m.flags |= libvirt.MigrateNonSharedDisk
	}
	for _, target := range how.Disks {
		m.addText(libvirt.MigrateParamMigrateDisks, target)
	}
	if how.BandwidthMiB > 0 {
		m.params = append(m.params, libvirt.TypedParam{Field: libvirt.MigrateParamBandwidth, Value: *libvirt.NewTypedParamValueUllong(uint64(how.BandwidthMiB))})
	}
	if how.Paused {
		m.flags |= libvirt.MigratePaused
	}
	return nil
}

func (m *migration) addText(field, text string) {
	m.params = append(m.params, libvirt.TypedParam{Field: field, Value: *libvirt.NewTypedParamValueString(text)})
}

// replaceText gives a parameter another value, or adds it.
func (m *migration) replaceText(field, text string) {
	for i := range m.params {
		if m.params[i].Field == field {
			m.params[i].Value = *libvirt.NewTypedParamValueString(text)
			return
		}
	}
	m.addText(field, text)
}

// beginOnSource asks the source, which says what the other one is to run.
func (m *migration) beginOnSource(ctx context.Context) error {
	type answer struct {
		cookie []byte
		xml    string
	}
	got, err := migrationStep(ctx, "begin the migration of domain "+m.Live.Name, m.source, m.from, func(l *libvirt.Libvirt) (a answer, err error) {
		a.cookie, a.xml, err = l.DomainMigrateBegin3Params(m.ref, m.params, uint32(m.flags))
		return a, err
	})
	m.cookie = got.cookie
	m.replaceText(libvirt.MigrateParamDestXML, got.xml)
	return err
}

// prepareTarget has the other one wait for the machine, and say where.
func (m *migration) prepareTarget(ctx context.Context) error {
	type answer struct {
		cookie []byte
		uri    libvirt.OptString
	}
	got, err := migrationStep(ctx, "prepare the migration of domain "+m.Live.Name, m.to, m.into, func(l *libvirt.Libvirt) (a answer, err error) {
		a.cookie, a.uri, err = l.DomainMigratePrepare3Params(m.params, m.cookie, uint32(m.flags&^libvirt.MigrateAutoConverge))
		return a, err
	})
	m.cookie = got.cookie
	if len(got.uri) > 0 {
		m.replaceText(libvirt.MigrateParamURI, got.uri[0])
	}
	return err
}

// abortPatience is how long the source may take to end a migration that it is told to end.
const abortPatience = time.Minute

// sendMachine has the source send the machine. When the context ends first, the source is told to stop.
func (m *migration) sendMachine(ctx context.Context) error {
	type answer struct {
		cookie []byte
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		what := "migrate domain " + m.Live.Name
		cookie, err := migrationStep(context.WithoutCancel(ctx), what, m.source, m.from, func(l *libvirt.Libvirt) ([]byte, error) {
			return l.DomainMigratePerform3Params(m.ref, nil, m.params, m.cookie, m.flags)
		})
		done <- answer{cookie, err}
	}()
	every := time.NewTicker(500 * time.Millisecond)
	defer every.Stop()
	ended, giveUp := ctx.Done(), (<-chan time.Time)(nil)
	var stopped error
	for {
		select {
		case a := <-done:
			m.cookie = a.cookie
			if stopped != nil && a.err != nil {
				return fmt.Errorf("migrate domain %s: %w (%w)", m.Live.Name, stopped, a.err)
			}
			return a.err
		case <-ended:
			ended, stopped, giveUp = nil, context.Cause(ctx), time.After(abortPatience)
		case <-giveUp: // the source sees that the connection is closed, and stops by itself
			_ = m.from.Disconnect()
			return &UnsettledError{fmt.Errorf("migrate domain %s: %w, and hypervisor %s did not stop it in %s", m.Live.Name, stopped, m.source.URI(), abortPatience)}
		case <-every.C:
			failpoint.Hit("node/migrating")
			if stopped != nil {
				m.stopSending(ctx)
			}
		}
	}
}

// stopSending tells the source to stop. It refuses where it has not begun yet, or has ended: then it is told again, or has answered.
func (m *migration) stopSending(ctx context.Context) {
	err := m.source.onDomain(context.WithoutCancel(ctx), formatUUID(m.ref.UUID), "stop the migration of", func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		return l.DomainAbortJob(ref)
	})
	if err != nil {
		tflog.Debug(ctx, "a migration could not be stopped yet", map[string]any{"domain": m.Live.Name, "reason": err.Error()})
	}
}

// finishOnTarget has the other one let the guest go on, or forget it after an error, and tells the source which of both it was.
func (m *migration) finishOnTarget(ctx context.Context, sent error) error {
	if errors.As(sent, new(*UnsettledError)) {
		return sent
	}
	what := "finish the migration of domain " + m.Live.Name
	cookie, arrived := migrationStep(ctx, what, m.to, m.into, func(l *libvirt.Libvirt) ([]byte, error) {
		_, cookie, err := l.DomainMigrateFinish3Params(m.params, m.cookie, uint32(m.flags&^libvirt.MigrateAutoConverge), toFlag(sent != nil))
		return cookie, err
	})
	if arrived != nil && Code(arrived) == 0 && sent == nil {
		return &UnsettledError{arrived}
	}
	failpoint.Hit("node/finished")
	if sent == nil {
		sent = arrived
	}
	what = "confirm the migration of domain " + m.Live.Name
	_, confirmed := migrationStep(ctx, what, m.source, m.from, withoutResult(func(l *libvirt.Libvirt) error {
		return l.DomainMigrateConfirm3Params(m.ref, m.params, cookie, uint32(m.flags), toFlag(sent != nil))
	}))
	switch {
	case sent != nil && Code(sent) == 0 && confirmed != nil:
		return &UnsettledError{errors.Join(sent, confirmed)}
	case sent != nil:
		return sent
	case confirmed != nil:
		return &UnsettledError{confirmed}
	}
	return nil
}

// migrationStep makes one call of a migration, on the migration's own connection, which is not made anew: without it there is nothing to go
// on with.
func migrationStep[T any](ctx context.Context, what string, c *Client, l *libvirt.Libvirt, fn func(*libvirt.Libvirt) (T, error)) (T, error) {
	got, err := failpoint.Send(ctx, what, func() (T, error) { return runAbandonable(ctx, l, fn) })
	switch {
	case err == nil:
		return got, nil
	case ctx.Err() != nil:
		return got, fmt.Errorf("%s on hypervisor %s: %w", what, c.URI(), context.Cause(ctx))
	case breaksConnection(err):
		return got, &BrokenError{URI: c.URI(), What: what, Err: err}
	}
	return got, explainError(what, err)
}
