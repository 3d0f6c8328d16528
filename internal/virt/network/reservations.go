package network

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"libvirt.org/go/libvirtxml"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// Reservations are what one resource has kept on one network.
type Reservations struct {
	Client *hypervisor.Client
	// Network is the network's name or UUID.
	Network string
	// Owner is what the resource may call its own. A transient network keeps no marks: what nobody marked there is a machine's own.
	Owner owner.Claim
	// OfMachine says that the resource is a machine of the hypervisor: it gives its addresses up by itself, when its guest has let go
	// of them, and waits for another machine's.
	OfMachine bool
	// ImportID is what `terraform import` takes for a reservation; "" for one that cannot be imported.
	ImportID string
}

// Put makes a reservation what it shall be: it adds the one that is not there, changes the one for the same machine (by MAC,
// DUID or name) and leaves an equal one alone. It works live on an active network and on the configuration of any, and takes
// turns with other changes of the network. One that the network lists itself (dhcp.hosts) is used as it is, and an equal one
// that nobody marked too. What another resource of this state has at the address makes room once this run takes it elsewhere or
// removes it, which is waited for; what anybody else has there is an error.
func (r Reservations) Put(ctx context.Context, h hypervisor.DHCPHost) error {
	return r.putReservation(ctx, h, r.ownsReservation, false)
}

// Add is Put for a reservation that must be new: an existing one for the same machine with another address is an error
// instead of being changed, and what a killed run left is taken over.
func (r Reservations) Add(ctx context.Context, h hypervisor.DHCPHost) error {
	return r.putReservation(ctx, h, r.mayTake, true)
}

// ownsReservation says whether a reservation of a network is the resource's own.
func (r Reservations) ownsReservation(n *hypervisor.Network, m owner.Mark) bool {
	return r.Owner.Owns(m) || r.OfMachine && m.ID == "" && !n.Persistent
}

func (r Reservations) mayTake(n *hypervisor.Network, m owner.Mark) bool {
	return r.ownsReservation(n, m) || r.Owner.MayTake(m)
}

// isOfSameState says whether a mark is one of the state that this resource is in.
func (r Reservations) isOfSameState(m owner.Mark) bool {
	return m.ID != "" && m.Workspace != "" && m.Workspace == r.Owner.Mark().Workspace
}

func (r Reservations) putReservation(ctx context.Context, h hypervisor.DHCPHost, mine func(*hypervisor.Network, owner.Mark) bool, fresh bool) error {
	c, what := r.Client, fmt.Sprintf("reserve %s on network %q", h, r.Network)
	r.awaitRoom(ctx, h)
	n, marks, release, err := r.lockNetwork(ctx)
	if err != nil {
		return err
	}
	defer release()
	used, err := r.usesExisting(n, marks[h.Key()], h, mine, fresh)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if used {
		return nil
	}
	mark := hostMark{Mark: r.Owner.Mark(), OfMachine: r.OfMachine}
	if n.Persistent && marks[h.Key()] != mark {
		if err := markHost(ctx, c, n, h.Key(), mark); err != nil {
			return err
		}
	}
	err = editDefinitions(ctx, c, what, n.UUID, func(n *hypervisor.Network, _ string, definition *libvirtxml.Network) ([]hypervisor.NetworkEdit, error) {
		edits, err := r.listEdits(n, definition, marks, h)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return edits, nil
	})
	if err != nil {
		return err
	}
	r.Owner.Run().Place(placement{c, n.UUID, h.IP}, h.Key())
	if err := restoreMark(ctx, c, n.UUID, h, mark); err != nil { // the reservation is made, and is not the less this resource's
		tflog.Warn(ctx, "whether a reservation kept its mark could not be asked", map[string]any{"network": n.Name, "reason": err.Error()})
	}
	return nil
}

// restoreMark marks a reservation that was made just now again, where another process took its mark away by a configuration that it had
// read before. In this process the network is locked.
func restoreMark(ctx context.Context, c *hypervisor.Client, uuid string, h hypervisor.DHCPHost, mark hostMark) error {
	for range 3 {
		n, err := c.Network(ctx, uuid)
		if err != nil {
			return err
		}
		marks, err := parseHostMarks(n.ConfigXML)
		if err != nil {
			return err
		}
		has, there := marks[h.Key()], findHost(n.Config, h.Key())
		if !n.Persistent || has.ID != "" || there == nil || *there != h {
			return nil
		}
		has.Mark, has.OfMachine = mark.Mark, mark.OfMachine
		if err := markHost(ctx, c, n, h.Key(), has); err != nil {
			return err
		}
	}
	return nil
}

// lockNetwork reads the network for a change of its reservations, and lets no other change it in this process before release.
func (r Reservations) lockNetwork(ctx context.Context) (n *hypervisor.Network, marks hostMarks, release func(), err error) {
	uuid, err := r.Client.NetworkUUID(ctx, r.Network)
	if err != nil {
		return nil, nil, nil, err
	}
	unlock := r.Client.LockNetwork(uuid)
	release = func() {
		r.Client.ForgetPlan()
		unlock()
	}
	if n, err = r.Client.Network(ctx, uuid); err == nil {
		marks, err = parseHostMarks(n.ConfigXML)
	}
	if err != nil {
		release()
	}
	return n, marks, release, err
}

// placement is an address on a network of one connection, as this run remembers for which machine it keeps that (owner.Run.Place).
type placement struct {
	client  *hypervisor.Client
	network string
	ip      netip.Addr
}

// existing is what a network has for the machine of a reservation that is to be put.
type existing int

const (
	// toPut is nothing, or what may be changed into what is wanted.
	toPut existing = iota
	// asWanted is used as it is, and stays when nobody wants it any more.
	asWanted
	// listedOtherwise is in the network's own list, and another address or name.
	listedOtherwise
	// madeBefore is a machine's own, with another address, where a new one is wanted.
	madeBefore
	// others is another resource's, or a person's.
	others
)

// classifyExisting says what a network has for the machine of a reservation, and in which words.
func (r Reservations) classifyExisting(n *hypervisor.Network, mark hostMark, h hypervisor.DHCPHost, mine func(*hypervisor.Network, owner.Mark) bool, fresh bool) (existing, hypervisor.DHCPHost) {
	runs, has := findHost(n.Live, h.Key()), findHost(n.Config, h.Key())
	there := cmp.Or(runs, has)
	if there == nil {
		return toPut, h
	}
	half := n.Active() && n.Persistent && (runs == nil || has == nil)
	whole := n.Active() == (runs != nil) && (!n.Persistent || has != nil && *has == h)
	// A machine has a name of its own by default: the list need not have it.
	sameName := h.Name == "" || there.Name == h.Name || there.Name == "" && r.OfMachine
	switch {
	case mark.Listed && there.IP == h.IP && sameName:
		return asWanted, *there
	case mark.Listed:
		return listedOtherwise, *there
	case mine(n, mark.Mark) && fresh && there.IP != h.IP && r.OfMachine:
		return madeBefore, *there
	case mine(n, mark.Mark):
		return toPut, *there
	case half && r.isOfSameState(mark.Mark):
		return toPut, *there // the other half was taken away by hand: it is gone for the resource that made it
	case *there == h && mark.ID == "" && whole:
		return asWanted, *there
	case *there == h && mark.ID == "":
		return toPut, *there
	}
	return others, *there
}

// findHost finds the reservation of a key in a definition, which may be nil; nil where there is none.
func findHost(definition *libvirtxml.Network, key string) *hypervisor.DHCPHost {
	if definition == nil {
		return nil
	}
	for _, h := range hypervisor.DHCPHosts(definition) {
		if h.Key() == key {
			return &h
		}
	}
	return nil
}

// usesExisting says whether there is a reservation for the machine already that is used as it is. Where another resource's or a
// person's is in the way, the error names its owner.
func (r Reservations) usesExisting(n *hypervisor.Network, mark hostMark, h hypervisor.DHCPHost, mine func(*hypervisor.Network, owner.Mark) bool, fresh bool) (bool, error) {
	switch found, there := r.classifyExisting(n, mark, h, mine, fresh); found {
	case asWanted:
		return true, nil
	case listedOtherwise:
		return false, fmt.Errorf("the network's dhcp.hosts keeps %s (%q): write that address and name, or change it there", there, there.Name)
	case madeBefore:
		return false, fmt.Errorf("the machine has a reservation already: %s", there)
	case others:
		return false, r.newForeignError(n, there, mark.Mark)
	}
	return false, nil
}

func (r Reservations) newForeignError(n *hypervisor.Network, h hypervisor.DHCPHost, whose owner.Mark) error {
	return r.Owner.NewForeignError("reservation "+h.String(), fmt.Sprintf("network %q", n.Name), r.ImportID, whose)
}

// GivesWayInPlan says whether a reservation in the way may be one of this state, which the plan takes elsewhere or removes: two of the
// plan that want one address are a matter of their claims. What this plan does not read, as it is of chosen resources only (-target)
// or of another provider block, is known when the apply has waited for it: with -parallelism=1 a plan reads it after this.
func (r Reservations) GivesWayInPlan(n *hypervisor.Network, other hypervisor.DHCPHost) bool {
	marks, err := readSharedMarks(n)
	mark := marks[other.Key()]
	if err != nil || mark.Listed || r.Owner.Owns(mark.Mark) {
		return err == nil && !mark.Listed
	}
	return !r.OfMachine && !mark.OfMachine && r.Owner.Run().MayBeInState(mark.Mark)
}

// ListsReservation says whether a network lists a reservation itself.
func ListsReservation(n *hypervisor.Network, h hypervisor.DHCPHost) bool {
	marks, err := readSharedMarks(n)
	return err == nil && marks[h.Key()].Listed
}

// awaitRoom waits until the resource of this state that has a reservation's address or name begins to take it elsewhere or to remove
// it in this run. It waits before the network is locked, so that other changes of that go on. A machine waits in its own way.
func (r Reservations) awaitRoom(ctx context.Context, h hypervisor.DHCPHost) {
	n, err := r.Client.Network(ctx, r.Network)
	if err != nil || r.OfMachine {
		return // what comes next tells
	}
	marks, err := parseHostMarks(n.ConfigXML)
	if err != nil {
		return
	}
	for _, other := range hypervisor.DHCPHosts(n.Current()) {
		mark := marks[other.Key()]
		inTheWay := other.Key() != h.Key() && (other.IP == h.IP || SameName(h, other))
		if key, here := r.Owner.Run().FindPlaced(placement{r.Client, n.UUID, other.IP}); inTheWay && !mark.OfMachine && !mark.Listed && (!here || key != other.Key()) {
			r.Owner.Run().AwaitInState(ctx, mark.Mark, owner.AwaitApply)
		}
	}
}

// givesWayInApply says whether a reservation is one of this state that this run changes or removes, and has not put where it is: the
// plan has found no two resources that want one address. What a machine has, and what a machine wants, is waited for.
func (r Reservations) givesWayInApply(n *hypervisor.Network, mark hostMark, other hypervisor.DHCPHost) bool {
	key, here := r.Owner.Run().FindPlaced(placement{r.Client, n.UUID, other.IP})
	return r.Owner.Run().IsInState(mark.Mark) && !r.OfMachine && !mark.OfMachine && !mark.Listed && (!here || key != other.Key())
}

// markHost notes in the network's configuration whose a reservation is; the zero mark takes the note away.
func markHost(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network, key string, mark hostMark) error {
	root, err := parseXML(n.ConfigXML)
	if err != nil {
		return err
	}
	marks := readHostMarks(root)
	was := maps.Clone(marks)
	if marks[key] = mark; mark == (hostMark{}) {
		delete(marks, key)
	}
	if maps.Equal(was, marks) {
		return nil
	}
	writeHostMarks(root, marks)
	return writeConfiguration(ctx, c, n, renderXML(root)+"\n")
}

// Update turns one reservation into another: in place where the machine is the same, else by taking the old one away first,
// because libvirt refuses two of one address.
func (r Reservations) Update(ctx context.Context, was, want hypervisor.DHCPHost) error {
	if was.Key() != want.Key() {
		if err := r.Remove(ctx, was); err != nil {
			return err
		}
	}
	return r.Put(ctx, want)
}

// Remove takes a reservation away; one that is not there, or an absent network, is no error. One of the machine that has
// another address by now is not touched, and neither is one that the network lists itself. Another owner's is an
// *owner.ForeignError.
func (r Reservations) Remove(ctx context.Context, h hypervisor.DHCPHost) error {
	err := r.removeReservation(ctx, h)
	if hypervisor.IsNotFound(err) {
		return nil
	}
	return err
}

func (r Reservations) removeReservation(ctx context.Context, h hypervisor.DHCPHost) error {
	c, what := r.Client, fmt.Sprintf("remove reservation %s on network %q", h, r.Network)
	n, marks, release, err := r.lockNetwork(ctx)
	if err != nil {
		return err
	}
	defer release()
	mark := marks[h.Key()]
	same := func(other hypervisor.DHCPHost) bool { return other.Key() == h.Key() && other.IP == h.IP }
	has := func(is func(hypervisor.DHCPHost) bool) bool {
		return slices.ContainsFunc(hypervisor.DHCPHosts(n.Config), is) || slices.ContainsFunc(hypervisor.DHCPHosts(n.Current()), is)
	}
	there := has(same)
	if !there && has(func(other hypervisor.DHCPHost) bool { return other.Key() == h.Key() }) {
		return nil // the machine has another address by now, and the mark is that one's
	}
	if there && !mark.Listed {
		if !r.ownsReservation(n, mark.Mark) {
			return r.newForeignError(n, h, mark.Mark)
		}
		err = editDefinitions(ctx, c, what, n.UUID, func(_ *hypervisor.Network, _ string, definition *libvirtxml.Network) ([]hypervisor.NetworkEdit, error) {
			for _, other := range hypervisor.DHCPHosts(definition) {
				if same(other) { // wherever it is: the network may have left the subnet of its address
					return []hypervisor.NetworkEdit{newHostEdit(hypervisor.EditDelete, findReservationSubnet(definition, other), other, nil)}, nil
				}
			}
			return nil, nil
		})
		if err != nil {
			return err
		}
	}
	r.Owner.Run().Remove(placement{c, n.UUID, h.IP}, h.Key())
	if mark.ID == "" || !r.Owner.Owns(mark.Mark) || !n.Persistent {
		return nil
	}
	if n, err = c.Network(ctx, n.UUID); err != nil {
		return err
	}
	mark.Mark, mark.OfMachine = owner.Mark{}, false
	return markHost(ctx, c, n, h.Key(), mark)
}
