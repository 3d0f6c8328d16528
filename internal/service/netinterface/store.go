package netinterface

import (
	"context"
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addressuse"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// Store is one interface of one machine.
type Store = hostnet.Store[Interface, found]

// kind is the interface of a name, as hostnet's store has it.
type kind struct{ name string }

// Open returns the store of an interface, with what its resource may call its own.
func Open(site hostnet.Site, name, importID string, claim owner.Claim) *Store {
	return hostnet.OpenStore[Interface, found](site, kind{name}, importID, "name", claim)
}

// found is an interface as the machine has it.
type found struct {
	hostnet.Machine
	Record
	// known says that Record is what this provider wrote.
	known bool
	link  hostnet.Link
	there bool
	// managers are what manages the machine's devices; before is what the interface has now, as configuration, where nothing of
	// this provider's keeps it.
	managers hostnet.Managers
	before   hostnet.DeviceSnapshot
	holder   hostnet.Holder
}

// Holder says whose the interface's configuration is.
func (f found) Holder() hostnet.Holder { return f.holder }

// Look reads what the machine has of the interface, and who configured it.
func (k kind) Look(ctx context.Context, h host.Host) (f found, err error) {
	if f.Machine, err = hostnet.Look(ctx, h); err != nil {
		return f, err
	}
	kept, err := hostnet.LookAtKept[Interface](ctx, h, "interface", k.name)
	if err != nil {
		return f, err
	}
	f.link, f.there = f.Link(k.name)
	f.holder = hostnet.Holder{There: kept.There, Mark: kept.Mark, What: fmt.Sprintf("the configuration of interface %q", k.name)}
	for _, r := range kept.Records {
		switch {
		// What nothing keeps over reboots has no mark but the record's.
		case !kept.There && r.Want.ActiveBackend == hostnet.Runtime || kept.There && r.Mark.Finished() == kept.Mark.Finished():
			f.Record, f.known = Record(r), true
			f.holder.There, f.holder.Mark = true, r.Mark
		case kept.LostMark():
			f.Record, f.known = Record(r), true
		}
	}
	if f.there && f.link.Master != "" {
		f.holder.There, f.holder.Fixed, f.holder.What = true, true, fmt.Sprintf("interface %q, which is in %s,", k.name, f.link.Master)
	}
	if f.managers, err = hostnet.LookAtManagers(ctx, h); err != nil || f.known || !f.there {
		return f, err
	}
	if f.before, err = hostnet.TakeSnapshot(ctx, h, f.Machine, f.managers.Of(k.name), k.name); err != nil {
		return f, err
	}
	if !kept.There {
		f.holder.There = f.holder.Fixed || f.before.Manager.Written() || len(f.Prefixes(k.name)) > 0
	}
	return f, nil
}

// Read is the interface as the machine has it. One that nobody configured is absent.
func (k kind) Read(f found) (Interface, error) {
	switch {
	case f.there && f.known:
		return f.readInterface(f.Machine), nil
	case f.there && f.holder.There:
		return Interface{
			Name: k.name, Addressing: f.before.Addressing, Backend: hostnet.Auto, ActiveBackend: f.before.Manager.Backend, RollbackTimeout: DefaultRollback,
			Active: f.Prefixes(k.name), MAC: f.link.Address,
		}, nil
	}
	return Interface{}, fmt.Errorf("a configuration of interface %q: %w", k.name, service.ErrAbsent)
}

// Complete chooses what keeps the configuration, and asks whether the addresses are free.
func (k kind) Complete(ctx context.Context, h host.Host, f found, want Interface) (Interface, error) {
	if !f.there {
		return want, service.At([]any{"name"}, fmt.Errorf("no interface %q: the machine has %q", k.name, f.Names()))
	}
	keeps := ""
	if f.known {
		keeps = f.Want.ActiveBackend
	}
	var err error
	if want.ActiveBackend, err = f.managers.Choose(want.Backend, keeps, []string{k.name}, func(int) []any { return []any{"name"} }); err != nil {
		return want, err
	}
	if want.ActiveBackend == hostnet.Runtime {
		for _, p := range want.WithoutManager() {
			return want, service.At(p.Path, fmt.Errorf("nothing manages %q on the machine: %s", k.name, p.Detail))
		}
	}
	if err := want.CheckNameservers(want.ActiveBackend); err != nil {
		return want, err
	}
	if err := f.CheckDefaultRoute(want.Addressing, []string{k.name}); err != nil {
		return want, err
	}
	if err := addressuse.CheckDevice(ctx, h, f.Machine, []string{k.name}, f.Mark, want.Addresses); err != nil {
		return want, err
	}
	return want, f.CheckOccupied(ctx, h, k.name, want.Addresses, hostnet.Patience)
}

// Warn says that the address goes by which the machine is reached.
func (k kind) Warn(f found, want Interface) []service.Problem {
	return f.WarnOfMove(k.name, want.Addressing, want.RollbackTimeout)
}

// WarnOfRemoval says that the address goes by which the machine is reached.
func (k kind) WarnOfRemoval(f found) []service.Problem {
	if !f.known {
		return nil
	}
	return f.WarnOfMove(k.name, f.Record.deviceBefore().Addressing, f.Record.Want.RollbackTimeout)
}

// Put is the change that gives the interface what it shall have.
func (k kind) Put(ctx context.Context, h host.Host, f found, want Interface, mark owner.Mark) (hostnet.Change, error) {
	want, err := k.Complete(ctx, h, f, want)
	if err != nil {
		return hostnet.Change{}, err
	}
	r := Record{Mark: mark, Want: want, Before: []hostnet.DeviceSnapshot{f.before}}
	var from hostnet.Desired
	if f.known {
		r.Before, from = f.Record.Before, f.toDesired()
	}
	c, err := f.Follow(ctx, h, from, r.toDesired())
	c.Files = append(c.Files, hostnet.Record[Interface](r).File("interface", k.name, want.ActiveBackend))
	c.Timeout = want.RollbackTimeout
	return c, err
}

// Drop is the change that gives the interface back what it had before.
func (k kind) Drop(ctx context.Context, h host.Host, f found) (c hostnet.Change, err error) {
	c.Timeout = DefaultRollback
	if f.known && f.there {
		if c, err = f.Follow(ctx, h, f.toDesired(), hostnet.Desired{}); err != nil {
			return c, err
		}
		c.Timeout = f.Want.RollbackTimeout
	} else {
		// Imported and never changed, or gone with its card: there is nothing to give back.
		for _, b := range hostnet.Backends {
			if !f.there || f.holder.Mark != (owner.Mark{}) {
				c.Files = append(c.Files, hostnet.File{Path: b.Path(k.name), Absent: true})
			}
		}
	}
	c.Files = append(c.Files, hostnet.WithoutRecord("interface", k.name)...)
	return c, nil
}
