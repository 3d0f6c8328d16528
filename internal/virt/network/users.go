package network

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

// users are what needs a network.
type users struct {
	// others are machines and reservations that are not this state's, running or not.
	others []string
	// running are machines that run on the network, whosever they are.
	running []string
}

// leavingPatience is how long a destroy of a network waits for this state's machines on it to go: they may be about to, where the
// configuration names the network without referring to it.
var leavingPatience = 30 * time.Second

// checkUnused returns an error where something that is not this state's needs the network, or a machine runs on it. What this state has
// there without running is no obstacle: it is the state's own to leave without a network. waits says that the obstacle is nothing but
// this state's machines that run.
func (s *Store) checkUnused(ctx context.Context, n *hypervisor.Network) (waits bool, err error) {
	found, err := s.findUsers(ctx, n)
	switch {
	case err != nil:
		return false, err
	case len(found.others) > 0:
		return false, newNeededError(n, found.others)
	case len(found.running) > 0:
		return true, fmt.Errorf("network %q is in use by running machines: %s; stop or remove them first", n.Name, strings.Join(found.running, ", "))
	}
	return false, nil
}

// MayDelete implements crud.Keeper. What runs on the network may have ended by the time of the apply.
func (s *Store) MayDelete(ctx context.Context) error {
	n, err := s.Client.Network(ctx, s.Ref)
	if err != nil {
		return nil //nolint:nilerr // the apply tells
	}
	if found, err := s.findUsers(ctx, n); err == nil && len(found.others) > 0 {
		return newNeededError(n, found.others)
	}
	return nil
}

func newNeededError(n *hypervisor.Network, others []string) error {
	return fmt.Errorf("network %q is needed by what is not this state's: %s; remove those first, or leave the network to them with: terraform state rm ADDRESS", n.Name, strings.Join(others, ", "))
}

// awaitUnused returns when nothing stands in the way of removing the network any more.
func (s *Store) awaitUnused(ctx context.Context, n *hypervisor.Network) error {
	return hypervisor.Retry(ctx, leavingPatience, 500*time.Millisecond, func() (bool, error) { return s.checkUnused(ctx, n) })
}

// findUsers returns what needs a network now.
func (s *Store) findUsers(ctx context.Context, read *hypervisor.Network) (users, error) {
	n, err := s.Client.Network(ctx, read.UUID)
	if hypervisor.IsNotFound(err) {
		return users{}, nil
	}
	if err != nil {
		return users{}, err
	}
	domains, err := s.Client.Domains(ctx)
	if err != nil {
		return users{}, err
	}
	marks, err := parseHostMarks(n.ConfigXML)
	if err != nil {
		return users{}, err
	}
	found := findUsers(n, marks, domains, s.Owner.Mark().Workspace)
	if n.Active() {
		on, err := listInterfacesOn(ctx, s.Client, n.Name, n.OwnBridge())
		if err != nil {
			return found, err
		}
		for _, i := range on {
			found.running = append(found.running, i.Domain)
		}
		slices.Sort(found.running)
		found.running = slices.Compact(found.running)
	}
	return found, nil
}

// findUsers returns what of a network's reservations and of a hypervisor's machines is not a workspace's and needs the network.
func findUsers(n *hypervisor.Network, marks hostMarks, domains []*hypervisor.Domain, workspace string) users {
	var found users
	note := func(what string) {
		if !slices.Contains(found.others, what) {
			found.others = append(found.others, what)
		}
	}
	own := map[string]bool{} // MAC addresses of this state's machines: a network that is transient keeps no marks
	for _, d := range domains {
		isOwn := workspace != "" && metadata.MachineWorkspace(d.Config) == workspace
		for _, x := range slices.Concat(listInterfaces(d.Config), listInterfaces(d.Live)) {
			if isOwn && x.MAC != nil {
				own[strings.ToLower(x.MAC.Address)] = true
			}
			if !isOwn && isOn(x, n) {
				note(fmt.Sprintf("the domain %q", d.Name))
			}
		}
	}
	for _, h := range slices.Concat(hypervisor.DHCPHosts(n.Config), hypervisor.DHCPHosts(n.Current())) {
		switch m := marks[h.Key()]; {
		case m.Listed && !m.Before, m.ID != "" && m.Workspace == workspace, m.ID == "" && !m.Listed && own[strings.ToLower(h.MAC)]:
		case m.ID == "":
			note(fmt.Sprintf("a person's reservation (%s)", h))
		default:
			note(fmt.Sprintf("the reservation of another state (%s, owner %s)", h, m.ID))
		}
	}
	return found
}

func listInterfaces(d *libvirtxml.Domain) []libvirtxml.DomainInterface {
	if d == nil || d.Devices == nil {
		return nil
	}
	return d.Devices.Interfaces
}

// isOn says whether an interface is plugged into a network, by its name or by the bridge that it has of its own.
func isOn(x libvirtxml.DomainInterface, n *hypervisor.Network) bool {
	switch {
	case x.Source == nil:
		return false
	case x.Source.Network != nil:
		return x.Source.Network.Network == n.Name
	case x.Source.Bridge != nil:
		return n.OwnBridge() != "" && x.Source.Bridge.Bridge == n.OwnBridge()
	}
	return false
}
