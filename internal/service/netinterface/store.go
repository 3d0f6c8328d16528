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
	kept, err := hostnet.LookAtKept(ctx, h, "interface", k.name)
	if err != nil {
		return f, err
	}
	f.link, f.there = f.Link(k.name)
	f.holder = hostnet.Holder{There: kept.There, Mark: kept.Mark, What: fmt.Sprintf("the configuration of interface %q", k.name)}
	for path, text := range kept.Records {
		if text == "" {
			continue
		}
		r, err := ParseRecord(k.name, []byte(text))
		if err != nil {
			return f, fmt.Errorf("read %s on %s: %w", path, h, err)
		}
		// What nothing keeps over reboots has no mark but the record's.
		if !kept.There && r.Want.ActiveBackend == hostnet.Runtime || kept.There && r.Mark.Finished() == kept.Mark.Finished() {
			f.Record, f.known = r, true
			f.holder.There, f.holder.Mark = true, r.Mark
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
	return f.WarnOfMove(k.name, f.Record.Before.Addressing, f.Record.Want.RollbackTimeout)
}

// Put is the change that gives the interface what it shall have.
func (k kind) Put(ctx context.Context, h host.Host, f found, want Interface, mark owner.Mark) (c hostnet.Change, err error) {
	if want, err = k.Complete(ctx, h, f, want); err != nil {
		return c, err
	}
	was, r := f.Record, Record{Mark: mark, Want: want, Before: f.Record.Before}
	had := was.Want.Settings()
	if !f.known {
		r.Before, had = f.before, f.before.Settings
	}
	if want.ActiveBackend == hostnet.Runtime {
		var do, undo hostnet.Batch
		add := f.Exchange(k.name, had, want.Settings(), &do, &undo)
		do.Add("link set dev %s up", k.name)
		do.Give(k.name, add)
		undo.Give(k.name, f.Settings(k.name))
		c.Do, c.Undo = hostnet.RunBatch(do, false), hostnet.RunBatch(undo, true)
	} else {
		var from []hostnet.Setup
		if f.known {
			from = []hostnet.Setup{was.toSetup()}
		}
		if c, err = hostnet.ChangeSetups(ctx, h, hostnet.Backends[want.ActiveBackend], from, []hostnet.Setup{r.toSetup()}, mark); err != nil {
			return c, err
		}
		if !f.known {
			c.Do = askScript(k.name, r.Before, want.Addressing) + c.Do + leaveScript(k.name, r.Before, want.Addressing)
			c.Undo += giveBack(k.name, r.Before)
		}
	}
	setMTU(&c, k.name, r.chooseMTU(was, f.link.MTU), f.link.MTU)
	keepNeighbours(&c, f.Machine, k.name)
	c.Files = append(c.Files, hostnet.File{Path: recordPath(want), Content: string(r.Render()), Mode: 0o600})
	c.GivenUp, c.Timeout = hostnet.GatewaysOf(hostnet.Without(had, want.Settings())), want.RollbackTimeout
	return c, nil
}

// Drop is the change that gives the interface back what it had before.
func (k kind) Drop(ctx context.Context, h host.Host, f found) (c hostnet.Change, err error) {
	for _, backend := range []string{hostnet.Runtime, hostnet.Auto} {
		c.Files = append(c.Files, hostnet.File{Path: hostnet.RecordPath("interface", k.name, backend), Absent: true})
	}
	c.Timeout = DefaultRollback
	if !f.known || !f.there {
		// Imported and never changed, or gone with its card: there is nothing to give back.
		for _, b := range hostnet.Backends {
			if !f.there || f.holder.Mark != (owner.Mark{}) {
				c.Files = append(c.Files, hostnet.File{Path: b.Path(k.name), Absent: true})
			}
		}
		return c, nil
	}
	r := f.Record
	has := r.Want.Settings()
	if r.Want.ActiveBackend == hostnet.Runtime {
		var do, undo hostnet.Batch
		add := f.Exchange(k.name, has, r.Before.Settings, &do, &undo)
		do.Give(k.name, add)
		undo.Give(k.name, f.Settings(k.name))
		c.Do, c.Undo = hostnet.RunBatch(do, false), hostnet.RunBatch(undo, true)
	} else {
		kept, err := hostnet.ChangeSetups(ctx, h, hostnet.Backends[r.Want.ActiveBackend], []hostnet.Setup{r.toSetup()}, nil, owner.Mark{})
		if err != nil {
			return c, err
		}
		c.Files = append(kept.Files, c.Files...)
		c.Do, c.Undo = kept.Do+leaveScript(k.name, hostnet.DeviceSnapshot{Settings: has}, r.Before.Addressing)+giveBack(k.name, r.Before), kept.Undo
	}
	setMTU(&c, k.name, r.mtuBefore(f.link.MTU), f.link.MTU)
	keepNeighbours(&c, f.Machine, k.name)
	c.GivenUp, c.Timeout = hostnet.GatewaysOf(hostnet.Without(has, r.Before.Settings)), r.Want.RollbackTimeout
	return c, nil
}

// mtuBefore is what the interface had, where this provider changed it.
func (r Record) mtuBefore(now int) int {
	if r.Want.MTU != 0 {
		return r.Before.MTU
	}
	return now
}

func recordPath(i Interface) string {
	return hostnet.RecordPath("interface", i.Name, i.ActiveBackend)
}

// askScript is the script that takes the addresses of an interface which is to ask for one, before it does: managers leave them beside the
// lease, and wait for none where there is an address.
func askScript(name string, before hostnet.DeviceSnapshot, want hostnet.Addressing) string {
	if !want.DHCP || before.Addressing.DHCP {
		return ""
	}
	return hostnet.TakeQuietly(name, hostnet.Addressing{Addresses: before.Addressing.Addresses}.Settings())
}

// leaveScript is the script that takes from the interface what it had and shall not have any more: managers leave what they did not give.
func leaveScript(name string, before hostnet.DeviceSnapshot, want hostnet.Addressing) string {
	if want.DHCP {
		return "" // what is there may be the lease
	}
	return hostnet.TakeQuietly(name, hostnet.Without(before.Settings, want.Settings()))
}

// giveBack is the script that gives the interface what it had before where nothing else does.
func giveBack(name string, before hostnet.DeviceSnapshot) string {
	if before.Manager.Backend != hostnet.Runtime {
		return ""
	}
	var b hostnet.Batch
	b.Give(name, before.Settings)
	return hostnet.RunBatch(b, true)
}

// keepNeighbours has a change leave the interface the neighbours that are written down for it.
func keepNeighbours(c *hostnet.Change, now hostnet.Machine, name string) {
	do, undo := now.MoveNeighbours(name, name)
	c.Do, c.Undo = c.Do+do, c.Undo+undo
}

// setMTU adds a new MTU to a change.
func setMTU(c *hostnet.Change, name string, mtu, now int) {
	if mtu == now {
		return
	}
	c.Do += fmt.Sprintf("ip link set dev %s mtu %d\n", name, mtu)
	c.Undo += fmt.Sprintf("ip link set dev %s mtu %d\n", name, now)
}
