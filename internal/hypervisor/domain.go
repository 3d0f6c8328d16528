package hypervisor

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// Domain is one domain as the hypervisor has it.
type Domain struct {
	Name string
	// UUID is spelled as libvirt does: 8-4-4-4-12 in lower case.
	UUID string
	// Config is the persistent configuration: what the next start uses.
	Config *libvirtxml.Domain
	// Live is the configuration that the running machine has; nil where it does not run.
	Live *libvirtxml.Domain
	// State is libvirt's word for it: "running", "paused", "shutoff", "crashed", …
	State     string
	Autostart bool
}

// Active says whether a machine process exists, paused or not.
func (d *Domain) Active() bool { return d.Live != nil }

// domainStates are virDomainState's values in virsh's words.
var domainStates = map[libvirt.DomainState]string{
	libvirt.DomainNostate: "no state", libvirt.DomainRunning: "running", libvirt.DomainBlocked: "running",
	libvirt.DomainPaused: "paused", libvirt.DomainShutdown: "in shutdown", libvirt.DomainShutoff: "shutoff",
	libvirt.DomainCrashed: "crashed", libvirt.DomainPmsuspended: "pmsuspended",
}

// newDomainRef addresses a domain by its UUID alone, which is all that libvirt's daemon looks at, so that no
// call is spent on a lookup.
func newDomainRef(uuid string) (libvirt.Domain, error) {
	raw, err := hex.DecodeString(strings.ReplaceAll(uuid, "-", ""))
	if err != nil || len(raw) != libvirt.UUIDBuflen {
		return libvirt.Domain{}, fmt.Errorf("%q is not a UUID", uuid)
	}
	return libvirt.Domain{Name: uuid, UUID: libvirt.UUID(raw), ID: -1}, nil
}

// formatUUID spells a UUID as libvirt does.
func formatUUID(u libvirt.UUID) string {
	h := hex.EncodeToString(u[:])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// IsUUID says whether a text is a UUID, so that it cannot be taken for a name.
func IsUUID(text string) bool {
	_, err := newDomainRef(text)
	return err == nil && len(text) == len("00000000-0000-0000-0000-000000000000")
}

// Domain reads a domain by its UUID. The error is ErrNotFound where libvirt knows none.
func (c *Client) Domain(ctx context.Context, uuid string) (*Domain, error) {
	ref, err := newDomainRef(uuid)
	if err != nil {
		return nil, err
	}
	return callIdempotent(ctx, c, fmt.Sprintf("read domain %s", uuid), func(l *libvirt.Libvirt) (*Domain, error) {
		return readDomain(l, ref)
	})
}

// DomainByName reads a domain by its name. The error is ErrNotFound where libvirt knows none.
func (c *Client) DomainByName(ctx context.Context, name string) (*Domain, error) {
	return callIdempotent(ctx, c, fmt.Sprintf("read domain %q", name), func(l *libvirt.Libvirt) (*Domain, error) {
		ref, err := l.DomainLookupByName(name)
		if err != nil {
			return nil, err
		}
		return readDomain(l, ref)
	})
}

// Domains reads all domains. One that vanishes meanwhile is left out.
func (c *Client) Domains(ctx context.Context) ([]*Domain, error) {
	return callIdempotent(ctx, c, "list domains", func(l *libvirt.Libvirt) ([]*Domain, error) {
		refs, _, err := l.ConnectListAllDomains(1, 0)
		if err != nil {
			return nil, err
		}
		return readAll(refs, func(ref libvirt.Domain) (*Domain, error) { return readDomain(l, ref) })
	})
}

// readAll reads all that references are of. What vanishes meanwhile is left out.
func readAll[R, T any](refs []R, read func(R) (T, error)) ([]T, error) {
	all := make([]T, 0, len(refs))
	for _, ref := range refs {
		one, err := read(ref)
		if IsNotFound(explainError("", err)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func readDomain(l *libvirt.Libvirt, ref libvirt.Domain) (*Domain, error) {
	// Without "secure" a redefine would lose the passwords of graphical consoles.
	d := &Domain{}
	var err error
	if d.Config, err = domainXML(l, ref, libvirt.DomainXMLInactive|libvirt.DomainXMLSecure); err != nil {
		return nil, err
	}
	d.Name, d.UUID = d.Config.Name, d.Config.UUID
	state, _, err := l.DomainGetState(ref, 0)
	if err != nil {
		return nil, err
	}
	d.State = domainStates[libvirt.DomainState(state)]
	switch libvirt.DomainState(state) {
	case libvirt.DomainShutoff, libvirt.DomainNostate:
	default:
		if d.Live, err = domainXML(l, ref, libvirt.DomainXMLSecure); err != nil {
			return nil, err
		}
		if d.Live.ID == nil {
			d.Live = nil // it stopped between the two calls
		}
	}
	autostart, err := l.DomainGetAutostart(ref)
	d.Autostart = autostart != 0
	return d, err
}

func domainXML(l *libvirt.Libvirt, ref libvirt.Domain, flags libvirt.DomainXMLFlags) (*libvirtxml.Domain, error) {
	text, err := l.DomainGetXMLDesc(ref, flags)
	if err != nil {
		return nil, err
	}
	d := &libvirtxml.Domain{}
	if err := d.Unmarshal(text); err != nil {
		return nil, fmt.Errorf("cannot understand the domain's XML: %w", err)
	}
	return d, nil
}

// DefineDomain makes a domain or, where one of its UUID exists, replaces its persistent configuration. A
// configuration that libvirt refuses leaves everything as it was.
func (c *Client) DefineDomain(ctx context.Context, d *libvirtxml.Domain) error {
	text, err := d.Marshal()
	if err != nil {
		return fmt.Errorf("cannot render domain %q: %w", d.Name, err)
	}
	// The UUID is the caller's, so that a second define is the first one over again.
	_, err = callIdempotent(ctx, c, fmt.Sprintf("define domain %q", d.Name), func(l *libvirt.Libvirt) (libvirt.Domain, error) {
		return l.DomainDefineXML(text)
	})
	return err
}

// UndefineDomain removes a stopped domain with its NVRAM, saved state and snapshot records; an absent one is
// no error.
func (c *Client) UndefineDomain(ctx context.Context, uuid string) error {
	const flags = libvirt.DomainUndefineNvram | libvirt.DomainUndefineManagedSave | libvirt.DomainUndefineSnapshotsMetadata | libvirt.DomainUndefineCheckpointsMetadata
	return ignoreAbsence(c.onDomain(ctx, uuid, "undefine", func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		return l.DomainUndefineFlags(ref, flags)
	}))
}

// onDomain makes a call that may be made twice.
func (c *Client) onDomain(ctx context.Context, uuid, verb string, fn func(*libvirt.Libvirt, libvirt.Domain) error) error {
	ref, err := newDomainRef(uuid)
	if err != nil {
		return err
	}
	_, err = callIdempotent(ctx, c, fmt.Sprintf("%s domain %s", verb, uuid), withoutResult(func(l *libvirt.Libvirt) error { return fn(l, ref) }))
	return err
}
