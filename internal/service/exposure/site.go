package exposure

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// planPatience is how long a plan waits for somebody on the wire: it may ask for hundreds of addresses, and the apply asks again.
const planPatience = 300 * time.Millisecond

// Locate completes an exposure with what follows from the machine's network: the device that its address is on, and the subnets
// that its targets are in. It refuses what the machine could not lead anywhere, and an address that somebody else on the
// wire answers for.
func Locate(ctx context.Context, h host.Host, tree transaction.Tree, want Exposure) (Exposure, error) {
	m, err := hostnet.Look(ctx, h)
	if err != nil {
		return want, err
	}
	if want, err = want.completeOn(m, h); err != nil {
		return want, err
	}
	return want, want.checkWire(ctx, h, m, tree, hostnet.Patience)
}

// PreviewLocate returns why the apply would refuse an exposure with the machine's network as it is now, nil for nothing. A plan warns of
// it, and no more: what it makes or removes besides may change that network. Of an exposure that is there already it says nothing.
func PreviewLocate(ctx context.Context, e *transaction.Engine, h host.Host, want Exposure) error {
	tree, m, err := transaction.Ask(ctx, e, h, Daemon{}, func(ctx context.Context, h host.Host, _ transaction.Tree) (hostnet.Machine, error) {
		return hostnet.Look(ctx, h)
	})
	if err == nil && len(m.Links) == 0 { // what is exposed is not live, so nothing was asked
		m, err = hostnet.Look(ctx, h)
	}
	if err != nil {
		return nil //nolint:nilerr // the apply says so
	}
	live, err := Find(tree, want.Name)
	if err == nil && live.Address == want.Address && (want.Interface == "" || live.Interface == want.Interface) && slices.Equal(live.Targets, want.Targets) {
		return nil
	}
	if want, err = want.completeOn(m, h); err != nil {
		return err
	}
	return want.checkWire(ctx, h, m, tree, planPatience)
}

// completeOn completes an exposure with its device and its targets' subnets.
func (e Exposure) completeOn(m hostnet.Machine, h fmt.Stringer) (Exposure, error) {
	if e.Interface == "" && e.Address.IsValid() {
		e.Interface = m.DeviceBeside(e.Address)
	}
	if needs := e.ConfigureAddress || e.Kind == Floating; needs && e.Interface == "" {
		return e, service.At([]any{"interface"}, fmt.Errorf("no device of %s has a subnet with %s in it: name the interface", h, e.Address))
	}
	if _, there := m.Link(e.Interface); e.Interface != "" && !there {
		return e, service.At([]any{"interface"}, fmt.Errorf("%s has no device %s: it has %v", h, e.Interface, m.Names()))
	}
	e.Insides = nil
	for i, target := range e.Targets {
		route, direct := routeTo(m, target)
		if !route.IsValid() && e.hasRules() {
			return e, service.At(e.targetAt(i), fmt.Errorf("%s is outside every network that %s has, so what it answers would not come back this way: name a guest behind the machine, or make its network first", target, h))
		}
		if direct && !slices.Contains(e.Insides, route) {
			e.Insides = append(e.Insides, route)
		}
	}
	return e, nil
}

// checkWire refuses an address to be configured that somebody else answers for.
func (e Exposure) checkWire(ctx context.Context, h host.Host, m hostnet.Machine, tree transaction.Tree, patience time.Duration) error {
	if !e.ConfigureAddress || addressesOf(tree)[e.Address] {
		return nil
	}
	own := netip.PrefixFrom(e.Address, e.Address.BitLen())
	return service.At([]any{"address"}, m.CheckOccupied(ctx, h, e.Interface, []netip.Prefix{own}, patience))
}

// routeTo is the narrowest subnet that the machine has a route to and that has an address in it, but for the default route;
// direct says that the machine is in it itself.
func routeTo(m hostnet.Machine, a netip.Addr) (subnet netip.Prefix, direct bool) {
	for _, r := range m.Routes {
		p := r.To()
		if p.Bits() > 0 && p.Contains(a) && (!subnet.IsValid() || p.Bits() > subnet.Bits()) {
			subnet, direct = p, r.Gateway == ""
		}
	}
	return subnet, direct
}
