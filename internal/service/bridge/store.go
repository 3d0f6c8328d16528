package bridge

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addressuse"
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

func recordPath(name, backend string) string { return hostnet.RecordPath("bridge", name, backend) }

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
	kept, err := hostnet.LookAtKept(ctx, h, "bridge", k.name)
	if err != nil {
		return f, err
	}
	link, running := f.Link(k.name)
	f.there, f.mark = running, owner.Parse(link.Alias)
	if kept.There {
		f.there, f.mark = true, kept.Mark
	}
	for path, text := range kept.Records {
		if text == "" {
			continue
		}
		r, err := ParseRecord(k.name, []byte(text))
		if err != nil {
			return f, fmt.Errorf("read %s on %s: %w", path, h, err)
		}
		if !f.there && r.Want.ActiveBackend == hostnet.Runtime {
			// What somebody deleted of a bridge that nothing keeps has no mark but the record's, which is gone with the next start.
			f.there, f.mark = true, r.Mark
		}
		if r.Mark.Finished() == f.mark.Finished() && r.Mark != (owner.Mark{}) {
			f.Record, f.known = r, true
		}
	}
	if !running || f.known || link.LinkInfo.Kind != "bridge" {
		return f, nil
	}
	f.Record = importRecord(f.Machine, k.name)
	if !kept.There {
		err = f.adoptFiles(ctx, h)
	}
	return f, err
}

// Read is the bridge as the machine has it.
func (k kind) Read(f found) (Bridge, error) {
	b, there := readBridge(f.Machine, k.name, f.Record, f.known)
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
	r, err := k.makeRecord(ctx, h, want, f)
	want.ActiveBackend = r.Want.ActiveBackend
	return want, err
}

// makeRecord is the record of the bridge as it shall be, from what the machine has.
func (k kind) makeRecord(ctx context.Context, h host.Host, b Bridge, f found) (Record, error) {
	r, err := b.beginRecord(f.Machine, f.Record)
	if err == nil && f.Adopted != nil {
		err = b.fitsAdopted(f.Record)
	}
	if err != nil {
		return r, err
	}
	managers := hostnet.Managers{Installed: map[string]bool{hostnet.Runtime: true}}
	if b.Backend != hostnet.Runtime {
		if managers, err = hostnet.LookAtManagers(ctx, h); err != nil {
			return r, err
		}
	}
	if r.Want.ActiveBackend, err = managers.Choose(b.Backend, f.Record.Want.ActiveBackend, b.allDevices(), func(int) []any { return []any{"interfaces"} }); err != nil {
		return r, err
	}
	if f.isLost() {
		if err := f.checkReturn(ctx, h, r); err != nil {
			return r, err
		}
	}
	r.Want.VLANs = slices.Clone(r.Want.VLANs)
	for i, v := range r.Want.VLANs {
		r.Want.VLANs[i].Manager = managers.Of(v.Parent)
		if r.Want.ActiveBackend == hostnet.Networkd && managers.Of(v.Parent).File == "" {
			return r, service.At([]any{"interfaces"}, fmt.Errorf("systemd-networkd has no .network file for %s, which shall have a VLAN: give it one, or choose the backend \"runtime\"", v.Parent))
		}
	}
	for i, p := range r.Before {
		if p.Manager.Backend == "" {
			if err := refuseKept(ctx, h, p.Name); err != nil {
				return r, err
			}
			r.Before[i].Manager = managers.Of(p.Name)
			if err := hostnet.LookAtNames(ctx, h, p.Name, r.Before[i].Manager, &r.Before[i].Addressing); err != nil {
				return r, err
			}
		}
	}
	if err := b.needsManager(r.Want.ActiveBackend); err != nil {
		return r, err
	}
	if b.VLANFiltering {
		if err := checkVLANFiltering(ctx, h); err != nil {
			return r, err
		}
	}
	if len(b.allDevices()) == 0 {
		return r, nil
	}
	asked := b.allDevices()[0]
	if f.isRunning() {
		asked = b.Name
	}
	if err := addressuse.CheckDevice(ctx, h, f.Machine, append(b.allDevices(), b.Name), f.Record.Mark, b.Addresses); err != nil {
		return r, err
	}
	return r, f.CheckOccupied(ctx, h, asked, b.Addresses, hostnet.Patience)
}

// refuseKept refuses an interface that a virtcluster_interface configures, of this state or of another: the bridge would write its own
// configuration over that one, and take it away with itself.
func refuseKept(ctx context.Context, h host.Host, name string) error {
	kept, err := hostnet.LookAtKept(ctx, h, "interface", name)
	if err != nil {
		return err
	}
	recorded := slices.ContainsFunc(slices.Collect(maps.Values(kept.Records)), func(text string) bool { return text != "" })
	if !kept.There && !recorded {
		return nil
	}
	whose := "a virtcluster_interface"
	if kept.Mark.ID != "" {
		whose += " (" + kept.Mark.String() + ")"
	}
	return service.At([]any{"interfaces"}, fmt.Errorf("%s configures interface %q of %s: have that destroyed first, in an apply of its own", whose, name, h))
}

// vlanScript prints "none" where the kernel knows no VLANs in bridges.
//
//go:embed vlans.sh
var vlanScript string

// checkVLANFiltering refuses VLANs in a bridge of a kernel without CONFIG_BRIDGE_VLAN_FILTERING: systemd-networkd makes a bridge without
// them there and does not say so.
func checkVLANFiltering(ctx context.Context, h host.Host) error {
	cmd := host.Script("look for VLANs of bridges", vlanScript)
	cmd.Repeatable = true
	out, err := h.Run(ctx, cmd)
	if err == nil && strings.TrimSpace(string(out)) != "" {
		err = service.At([]any{"vlan_filtering"}, fmt.Errorf("the kernel of %s knows no VLANs in bridges (CONFIG_BRIDGE_VLAN_FILTERING): leave out vlan_filtering", h))
	}
	return err
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
func (k kind) Put(ctx context.Context, h host.Host, f found, want Bridge, mark owner.Mark) (c hostnet.Change, err error) {
	running := f.isRunning()
	was := f.Record
	record, err := k.makeRecord(ctx, h, want, f)
	if err != nil {
		return c, err
	}
	record.Mark = mark
	had := was.ownSettings()
	if !running {
		had = record.settingsBefore()
	}
	switch {
	case record.Want.ActiveBackend != hostnet.Runtime:
		from := &was
		if !f.known && (!running || f.Adopted != nil) {
			from = nil
		}
		if c, err = changeKept(ctx, h, f.Machine, from, &record); err != nil {
			return c, err
		}
		if !f.known && f.Adopted != nil && !record.ownAddressing().DHCP {
			// Managers leave what they did not give.
			c.Do += hostnet.TakeQuietly(k.name, hostnet.Without(was.ownSettings(), record.ownSettings()))
			c.Undo += hostnet.TakeQuietly(k.name, hostnet.Without(record.ownSettings(), was.ownSettings())) + giveBack(record)
		}
	case running:
		do, undo := record.Update(f.Machine, was)
		heed, forget := record.heedRouters(was)
		c.Do, c.Undo = hostnet.RunBatch(do, false)+heed+was.askRouters(f.Machine, record), hostnet.RunBatch(undo, true)+forget
	default:
		do, undo := record.Make(f.Machine)
		heed, forget := record.heedRouters(Record{})
		c.Do, c.Undo = hostnet.RunBatch(do, false)+heed, hostnet.RunBatch(undo, true)+forget
	}
	record.takeNeighbours(f, &c)
	c.Files = append(c.Files, hostnet.File{Path: recordPath(k.name, record.Want.ActiveBackend), Content: string(record.Render()), Mode: 0o600})
	c.GivenUp, c.Timeout = hostnet.GatewaysOf(hostnet.Without(had, record.ownSettings())), record.Want.RollbackTimeout
	return c, nil
}

// Drop gives the interfaces back what the bridge took from them.
func (k kind) Drop(ctx context.Context, h host.Host, f found) (c hostnet.Change, err error) {
	for _, backend := range []string{hostnet.Runtime, hostnet.Auto} {
		c.Files = append(c.Files, hostnet.File{Path: recordPath(k.name, backend), Absent: true})
	}
	if !f.isRunning() && !f.known {
		return hostnet.Change{Files: c.Files, Timeout: DefaultRollback}, nil
	}
	if err := f.inUse(); err != nil && f.Adopted == nil {
		return c, fmt.Errorf("on %s: %w", h, err)
	}
	r := f.Record
	if !f.known && f.Adopted != nil {
		return hostnet.Change{}, nil // imported and never changed: a person's files make it as it is
	}
	if r.Want.ActiveBackend != hostnet.Runtime {
		kept, err := changeKept(ctx, h, f.Machine, &r, nil)
		if err != nil {
			return c, err
		}
		c.Do, c.Undo, c.Files = kept.Do, kept.Undo, append(kept.Files, c.Files...)
		if r.Adopted != nil && !r.Adopted.Addressing.DHCP {
			c.Do += hostnet.TakeQuietly(k.name, hostnet.Without(r.ownSettings(), r.settingsBefore())) + giveBack(r)
		}
	} else if f.isLost() {
		do, undo := r.Return(f.Machine)
		c.Do, c.Undo = hostnet.RunBatch(do, false)+r.askRouters(f.Machine, Record{}), hostnet.RunBatch(undo, true)
	} else {
		do, undo := r.Unmake(f.Machine)
		c.Do, c.Undo = hostnet.RunBatch(do, false)+r.askRouters(f.Machine, Record{}), hostnet.RunBatch(undo, true)
	}
	r.returnNeighbours(f, &c)
	c.GivenUp, c.Timeout = hostnet.GatewaysOf(hostnet.Without(r.ownSettings(), r.settingsBefore())), r.Want.RollbackTimeout
	return c, nil
}
