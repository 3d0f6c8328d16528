package bridge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// DefaultRollback is long enough for a slow switch to learn, short enough to wait for.
const DefaultRollback = time.Minute

// Store is one bridge on one machine.
type Store = hostnet.Store[Bridge, found]

// kind is the bridge of a name, as hostnet's store has it.
type kind struct{ name string }

// Open returns the store of a bridge, with what its resource may call its own.
func Open(site hostnet.Site, name, importID string, claim owner.Claim) *Store {
	return hostnet.OpenStore[Bridge, found](site, kind{name}, importID, "name", claim)
}

// found is a bridge as the machine has it.
type found struct {
	hostnet.Machine
	// Record is what this provider wrote of it, where known: it counts while the bridge, or what keeps it, carries its mark.
	Record
	known bool
	name  string
	// mark is whose the bridge is, there whether anything of its name is: the device, or what makes it at the next start.
	mark  owner.Mark
	there bool
	// unkept are the devices of those of its VLANs that the manager would not make at the machine's next start.
	unkept []string
}

// Holder says what has the bridge's name.
func (f found) Holder() hostnet.Holder {
	h := hostnet.Holder{There: f.there, Mark: f.mark, What: fmt.Sprintf("bridge %q", f.name)}
	link, running := f.Link(f.name)
	if !running {
		h.What += ", which is recorded although it is gone,"
	} else if link.LinkInfo.Kind != "bridge" {
		h.What, h.Fixed = fmt.Sprintf("device %q, which is no bridge,", f.name), true
	}
	return h
}

// isRunning says whether the device is there.
func (f found) isRunning() bool {
	_, ok := f.Link(f.name)
	return ok
}

// Look reads the machine, and what is recorded of the bridge.
func (k kind) Look(ctx context.Context, h host.Host) (f found, err error) {
	f.name = k.name
	if f.Machine, err = hostnet.Look(ctx, h); err != nil {
		return f, err
	}
	kept, err := hostnet.LookAtKept[Bridge](ctx, h, "bridge", k.name)
	if err != nil {
		return f, err
	}
	link, running := f.Link(k.name)
	f.there, f.mark = running, owner.Parse(link.Alias)
	if kept.There {
		f.there, f.mark = true, kept.Mark
	}
	for _, r := range kept.Records {
		if !f.there && r.Want.ActiveBackend == hostnet.Runtime {
			// What somebody deleted of a bridge that nothing keeps has no mark but the record's, which is gone with the next start.
			f.there, f.mark = true, r.Mark
		}
		if r.Mark.Finished() == f.mark.Finished() && r.Mark != (owner.Mark{}) || kept.LostMark() {
			f.Record, f.known = Record(r), true
		}
	}
	if f.known {
		return f, f.findUnkept(ctx, h)
	}
	if !running || link.LinkInfo.Kind != "bridge" {
		return f, nil
	}
	f.Record = importRecord(f.Machine, k.name)
	if !kept.There {
		err = f.adoptFiles(ctx, h)
	}
	return f, err
}

// findUnkept looks which VLANs would not be there at the next start: another file may count for their parent since they were made, as that of a
// virtcluster_interface, or none any more.
func (f *found) findUnkept(ctx context.Context, h host.Host) error {
	if len(f.Want.VLANs) == 0 || f.Want.ActiveBackend != hostnet.Networkd && f.Want.ActiveBackend != hostnet.Netplan {
		return nil
	}
	managers, err := hostnet.LookAtManagers(ctx, h)
	if err != nil {
		return err
	}
	for _, v := range f.Want.VLANs {
		kept, err := v.IsKept(ctx, h, managers, VLANDevice(v))
		if err != nil {
			return err
		}
		if !kept {
			f.unkept = append(f.unkept, VLANDevice(v))
		}
	}
	return nil
}

// Read is the bridge as the machine has it.
func (k kind) Read(f found) (Bridge, error) {
	b, there := readBridge(f.Machine, k.name, f.Record, f.known)
	b.VLANs = slices.DeleteFunc(b.VLANs, func(v hostnet.VLANOptions) bool { return slices.Contains(f.unkept, VLANDevice(v)) })
	if !f.known && f.Adopted != nil {
		b.ActiveBackend = f.Adopted.Manager.Backend
	}
	if !there && f.Holder().Fixed {
		return b, nil // whose it is decides
	}
	if !there {
		return b, fmt.Errorf("bridge %q: %w", k.name, service.ErrAbsent)
	}
	return b, nil
}

// Complete says what keeps the bridge.
func (k kind) Complete(ctx context.Context, h host.Host, f found, want Bridge) (Bridge, error) {
	r, err := k.completeRecord(ctx, h, want, f)
	want.ActiveBackend = r.Want.ActiveBackend
	return want, err
}

// Warn says that the address moves by which the machine is reached, or goes, and that others have addresses on the interfaces.
func (k kind) Warn(f found, want Bridge) []service.Problem {
	problems := append(f.WarnOfHeld(want.physicalInterfaces(), "bridge "+k.name), f.warnOfReturn(want)...)
	if f.isRunning() && !want.Inherit {
		return append(problems, f.WarnOfMove(k.name, want.Addressing, want.RollbackTimeout)...)
	}
	return append(problems, f.WarnOfTaking(want.physicalInterfaces(), "bridge "+k.name, want.RollbackTimeout)...)
}

// WarnOfRemoval says that the address by which the machine is reached goes back to an interface.
func (k kind) WarnOfRemoval(f found) []service.Problem {
	if !f.known || !f.isRunning() {
		return nil
	}
	var problems []service.Problem
	if err := f.inUse(); err != nil && f.Adopted == nil {
		problems = append(problems, service.Warningf(nil, "The bridge is in use", "the destroy refuses unless that is gone by then: %s", err))
	}
	if !f.Reaches(k.name) {
		return problems
	}
	return append(problems, service.Warningf(nil, "The address that Terraform comes through moves",
		"the machine is reached by %s, which is on bridge %s, and without it %s has what it had before: where the machine does not answer within %s, it goes back by itself",
		f.Reached, k.name, strings.Join(f.Record.Want.physicalInterfaces(), ", "), f.Record.Want.RollbackTimeout))
}

// Put is the change that makes the bridge, or changes it in place.
func (k kind) Put(ctx context.Context, h host.Host, f found, want Bridge, mark owner.Mark) (hostnet.Change, error) {
	record, err := k.completeRecord(ctx, h, want, f)
	if err != nil {
		return hostnet.Change{}, err
	}
	record.Mark = mark
	var from hostnet.Desired
	if f.known || f.isRunning() && f.Adopted == nil {
		from = f.toDesired()
	}
	c, err := f.Follow(ctx, h, from, record.toDesired())
	c.Files = append(c.Files, hostnet.Record[Bridge](record).File("bridge", k.name, record.Want.ActiveBackend))
	c.Timeout = record.Want.RollbackTimeout
	return c, err
}

// Drop gives the interfaces back what the bridge took from them.
func (k kind) Drop(ctx context.Context, h host.Host, f found) (hostnet.Change, error) {
	if !f.known && f.Adopted != nil {
		return hostnet.Change{}, nil // imported and never changed: a person's files make it as it is
	}
	if err := f.inUse(); err != nil && f.Adopted == nil {
		return hostnet.Change{}, fmt.Errorf("on %s: %w", h, err)
	}
	c, timeout := hostnet.Change{}, DefaultRollback
	if f.isRunning() || f.known {
		var err error
		if c, err = f.Follow(ctx, h, f.toDesired(), hostnet.Desired{}); err != nil {
			return c, fmt.Errorf("on %s: %w", h, err)
		}
		timeout = f.Want.RollbackTimeout
	}
	c.Files, c.Timeout = append(c.Files, hostnet.WithoutRecord("bridge", k.name)...), timeout
	return c, nil
}
