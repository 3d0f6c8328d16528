package machine

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Northbounds finds OVN's northbound database by a reference to the machine that has it; nil where that one is not to be asked.
type Northbounds func(ctx context.Context, machine string) (*ovn.Northbound, error)

// portName is the UUID of an interface that is on a network of OVN, which is what its port is called. It follows from the machine's own
// UUID, as a filter's does: a port that another machine or a person made has another one.
func portName(domain, mac string) string {
	space, err := uuid.Parse(domain)
	if err != nil {
		space = uuid.Nil // a machine that does not exist has no ports
	}
	return uuid.NewSHA1(space, []byte("port "+mac)).String()
}

// Port is a port of a network of OVN that an interface of the machine is bound to.
type Port struct {
	// At is a reference to the machine with the northbound database.
	At string
	ovn.GuestPort
	// path is the interface's, for messages.
	path []any
}

// networkPort returns the port of an interface; false where it is on no network of OVN.
func (i *InterfaceSpec) networkPort(domain string, path []any) (Port, bool) {
	at, network, err := ovn.SplitNetworkID(i.OVNNetwork)
	if err != nil {
		return Port{}, false
	}
	v4, _ := i.asksDHCP()
	p := Port{At: at, path: path, GuestPort: ovn.GuestPort{
		Name: portName(domain, i.MAC), Machine: domain, Network: network, MAC: i.MAC, DHCP: v4, Hostname: i.Hostname, Secure: i.PortSecurity, Allowed: i.AllowedAddresses, Groups: i.SecurityGroups,
	}}
	if i.IP.IsValid() {
		p.Addresses = append(p.Addresses, i.IP)
	}
	p.Addresses = append(p.Addresses, i.listAddresses()...)
	return p, true
}

// addPort adds the port of an interface that is on a network of OVN, and has its XML bound to it.
func (r *resolver) addPort(ctx context.Context, b *blueprint, n int, x *Interface) error {
	p, ok := r.spec.Interfaces[n].networkPort(b.machine.UUID, pathTo("network_interfaces", n))
	if !ok {
		return nil
	}
	b.ports = append(b.ports, p)
	x.Bridge, x.Port = ovn.IntegrationBridge, p.Name
	if r.existing != nil {
		if at := slices.IndexFunc(r.existing.Interfaces, func(e Interface) bool { return e.Port == x.Port }); at >= 0 {
			x.UserSpace = r.existing.Interfaces[at].UserSpace // a card that is plugged in keeps it
			return nil
		}
	}
	north, err := r.northbounds(ctx, p.At)
	if err != nil {
		return err
	}
	host, err := r.cache.askHostname(ctx, r.client)
	if err == nil {
		x.UserSpace, err = north.IsUserSpace(ctx, host)
	}
	return err
}

// openPort opens the store of a port. As with reservations, it is not marked as being made: the domain is.
func (s *Store) openPort(ctx context.Context, at, name string) (*ovn.Store[ovn.GuestPort], error) {
	north, err := s.northbounds(ctx, at)
	if err != nil {
		return nil, err
	}
	return ovn.OpenStore(north, ovn.NewPort(name), name, s.claim.Finished()), nil
}

// putPorts makes ports what they shall be, side by side: they go into the database together, and the chassis follow all of them at once.
func (s *Store) putPorts(ctx context.Context, ports []Port) error {
	return s.onPorts(len(ports), func(at int) ([]service.Problem, error) { return s.putPort(ctx, ports[at]) })
}

// onPorts does something with so many ports side by side, and keeps what there is to warn of.
func (s *Store) onPorts(many int, do func(at int) ([]service.Problem, error)) error {
	var group errgroup.Group
	warnings := make([][]service.Problem, many)
	for at := range many {
		group.Go(func() (err error) {
			warnings[at], err = do(at)
			return err
		})
	}
	err := group.Wait()
	s.warnings = append(s.warnings, slices.Concat(warnings...)...)
	return err
}

// putPort makes a port what it shall be. Where another port has its address, whose machine is of this run's state, it waits for that machine
// to give it up, as for a reservation: before, it gives its own addresses up, as the other machine may wait for one of them.
func (s *Store) putPort(ctx context.Context, want Port) (warnings []service.Problem, err error) {
	store, err := s.openPort(ctx, want.At, want.Name)
	if err != nil {
		return nil, err
	}
	began, gaveUp := time.Now(), false
	for {
		_, err := store.Create(ctx, want.GuestPort)
		taken, isTaken := errors.AsType[*ovn.TakenError](err)
		if err == nil {
			return store.Warnings(), nil
		}
		if !isTaken || !s.claim.Run().MayBeInState(taken.By) || time.Since(began) > leavingPatience && time.Since(s.cache.lastDestroy()) > leavingPatience {
			return nil, atInterface(want.path, err)
		}
		if !gaveUp {
			gaveUp = true
			bare := want.GuestPort
			bare.Addresses, bare.DHCP, bare.Secure = nil, false, false
			if _, err := store.Create(ctx, bare); err != nil {
				return nil, atInterface(want.path, err)
			}
		}
		if err := hypervisor.Pause(ctx, 200*time.Millisecond); err != nil {
			return nil, errors.Join(taken, err)
		}
	}
}

// atInterface says which attribute of an interface an error belongs to.
func atInterface(path []any, err error) error {
	if at, ok := errors.AsType[*service.AttributeError](err); ok {
		return service.At(pathBelow(path, at.Path...), at.Err)
	}
	return service.At(path, err)
}

// removePort takes a port away. One that became somebody else's stays: that is no reason to keep the machine.
func (s *Store) removePort(ctx context.Context, at, name string) (warnings []service.Problem, err error) {
	store, err := s.openPort(ctx, at, name)
	if err != nil {
		return nil, err
	}
	err = store.Delete(ctx)
	var foreign *owner.ForeignError
	if errors.As(err, &foreign) {
		tflog.Warn(ctx, "a port that is not the node's own stays", map[string]any{"port": name, "reason": err.Error()})
		return nil, nil
	}
	return store.Warnings(), err
}

// removePorts takes away all ports of the machine in the databases, but those that are kept.
func (s *Store) removePorts(ctx context.Context, domain string, databases []string, kept []Port) error {
	for _, at := range databases {
		north, err := s.northbounds(ctx, at)
		if err != nil {
			return err
		}
		isKept := func(name string) bool {
			return slices.ContainsFunc(kept, func(p Port) bool {
				there, err := s.northbounds(ctx, p.At)
				return p.Name == name && err == nil && there == north // one machine has several references
			})
		}
		names, err := north.PortsOf(ctx, domain)
		if err != nil {
			return err
		}
		names = slices.DeleteFunc(names, isKept)
		if err := s.onPorts(len(names), func(n int) ([]service.Problem, error) { return s.removePort(ctx, at, names[n]) }); err != nil {
			return err
		}
	}
	return nil
}

// beginPortMoves has the machine's ports of OVN follow it from the source to the target at the moment at which its guest goes on there.
func (r *relocation) beginPortMoves(ctx context.Context) error {
	if len(r.b.ports) == 0 {
		return nil
	}
	from, err := r.source.cache.askHostname(ctx, r.source.client)
	if err != nil {
		return err
	}
	to, err := r.target.cache.askHostname(ctx, r.target.client)
	if err != nil {
		return err
	}
	return r.target.movePorts(ctx, r.moved, func(m ovn.Mover) ([]service.Problem, error) { return m.Begin(ctx, from, to) })
}

// endPortMoves has ports that followed the machine be as before. A machine without ports on the way asks no database to change anything.
func (s *Store) endPortMoves(ctx context.Context) error {
	return s.movePorts(ctx, s.known, func(m ovn.Mover) ([]service.Problem, error) { return m.End(ctx) })
}

// movePorts does something with the machine's ports in each database that it has some in, and keeps what there is to warn of.
func (s *Store) movePorts(ctx context.Context, known *Spec, move func(ovn.Mover) ([]service.Problem, error)) error {
	for _, at := range listDatabases(known.Interfaces, nil) {
		north, err := s.northbounds(ctx, at)
		if err != nil {
			return err
		}
		warnings, err := move(ovn.Mover{North: north, Machine: known.UUID, Owns: s.claim.Owns})
		s.warnings = append(s.warnings, warnings...)
		if err != nil {
			return err
		}
	}
	return nil
}

// AbandonPorts takes away the ports of a machine whose hypervisor is lost: another machine may have their addresses then.
func (s *Store) AbandonPorts(ctx context.Context) error {
	return s.removePorts(ctx, s.known.UUID, listDatabases(s.known.Interfaces, nil), nil)
}

// listDatabases returns the databases of OVN that machines have ports in: references to their machines, by interfaces as they are known, or
// as marks have them.
func listDatabases(interfaces []InterfaceSpec, marked []MarkedInterface) []string {
	var all []string
	add := func(network string) {
		if at, _, err := ovn.SplitNetworkID(network); err == nil && !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	for _, i := range interfaces {
		add(i.OVNNetwork)
	}
	for _, k := range marked {
		add(k.OVN)
	}
	return all
}

// putPorts makes the ports what they shall be, before the machine is plugged into them.
func (u *update) putPorts(ctx context.Context) error {
	for _, p := range u.ports {
		store, err := u.store.openPort(ctx, p.At, p.Name)
		if err != nil {
			return err
		}
		former, err := store.Get(ctx)
		isNew := errors.Is(err, service.ErrAbsent)
		if err != nil && !isNew {
			return atInterface(p.path, err)
		}
		u.onFailure(func(ctx context.Context) error {
			if !isNew {
				_, err := store.Create(ctx, former)
				return err
			}
			return u.removeUnpluggedPort(ctx, p)
		})
		if err := u.store.putPorts(ctx, []Port{p}); err != nil {
			return err
		}
	}
	failpoint.Hit("node/ported")
	return nil
}

// removeUnpluggedPort takes a new port back, unless the machine got the interface that it is for.
func (u *update) removeUnpluggedPort(ctx context.Context, p Port) error {
	d, err := u.c.Domain(ctx, u.d.UUID)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(Read(d.Config).Interfaces, func(i Interface) bool { return i.Port == p.Name }) {
		return nil
	}
	return u.store.onPorts(1, func(int) ([]service.Problem, error) { return u.store.removePort(ctx, p.At, p.Name) })
}

// readPort reads what OVN has for an interface that is bound to a port: nothing of it where somebody removed that. Without a database to ask,
// it is what the mark says, and where that database is stopped, a *service.UnseenError: an apply of what runs it is planned beside the machine.
func (i *InterfaceSpec) readPort(ctx context.Context, find Northbounds, was *InterfaceSpec, marked MarkedInterface, port string) error {
	i.Bridge, i.OVNNetwork = "", marked.OVN
	if i.OVNNetwork == "" && was != nil {
		i.OVNNetwork = was.OVNNetwork
	}
	at, known, err := ovn.SplitNetworkID(i.OVNNetwork)
	if err != nil {
		return nil //nolint:nilerr // a person wrote it into the mark: what is not known to be a network has no port to read
	}
	north, err := find(ctx, at)
	if err != nil {
		return err
	}
	if north == nil {
		i.IP, _ = netip.ParseAddr(marked.IP)
		return nil
	}
	got, ids, err := ovn.NewPort(port).Look(ctx, north)
	if err != nil {
		return north.ExplainStopped(err)
	}
	if ids == nil {
		i.OVNNetwork, i.PortSecurity, i.AllowedAddresses = "", false, nil // and with it what it was in
		return nil
	}
	if got.Network != known {
		i.OVNNetwork = ovn.FormatNetworkID(at, got.Network)
	}
	i.drawn = got.Drawn
	if !i.drawn.IsValid() {
		i.drawn = got.IPv6
	}
	i.PortSecurity, i.AllowedAddresses, i.SecurityGroups = got.Secure, got.Allowed, got.Groups
	if was != nil && slices.Equal(slices.Sorted(slices.Values(was.SecurityGroups)), got.Groups) {
		i.SecurityGroups = was.SecurityGroups // their order means nothing
	}
	inside := i.listAddresses()
	i.Addresses = slices.DeleteFunc(i.Addresses, func(p netip.Prefix) bool { return !slices.Contains(got.Addresses, p.Addr()) && p.Addr() != got.IPv6 })
	for _, a := range got.Addresses {
		if got.DHCP && a.Is4() && !slices.Contains(inside, a) {
			i.IP = a
			if got.Hostname != "" {
				i.Hostname = got.Hostname
			}
			break
		}
	}
	return nil
}
