package ovn

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// HealthCheck is how a load balancer asks whether what it leads to lives: the chassis of each guest does, by connecting to it.
type HealthCheck struct {
	// Source is the address that asks, which nobody else has.
	Source          netip.Addr `attr:"source"`
	IntervalSeconds int64      `attr:"interval_seconds"`
	TimeoutSeconds  int64      `attr:"timeout_seconds"`
	SuccessCount    int64      `attr:"success_count"`
	FailureCount    int64      `attr:"failure_count"`
}

// sourceKey is the key of external_ids of a load balancer that has the address that asks.
const sourceKey = "virtcluster-health-source"

func (h *HealthCheck) formatSource() string {
	if h == nil {
		return ""
	}
	return textOf(h.Source)
}

func (h *HealthCheck) formatOptions() map[string]string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return map[string]string{
		"interval": number(h.IntervalSeconds), "timeout": number(h.TimeoutSeconds), "success_count": number(h.SuccessCount), "failure_count": number(h.FailureCount),
	}
}

func (b LoadBalancer) validateHealthCheck() []service.Problem {
	h, at := b.HealthCheck, []any{"health_check", "source"}
	if h == nil || !h.Source.IsValid() {
		return nil
	}
	for _, vip := range slices.Sorted(maps.Keys(b.VIPs)) {
		for _, text := range append([]string{vip}, b.VIPs[vip]...) {
			if a, err := netip.ParseAddrPort(text); err == nil && a.Addr() == h.Source {
				return []service.Problem{service.Problemf(at, "Address that others have", "%s has %s: write one that nobody has", text, h.Source)}
			}
		}
	}
	return nil
}

// listChecks returns the health checks of each address.
func (b LoadBalancer) listChecks() map[string]child {
	all := map[string]child{}
	if b.HealthCheck != nil {
		for vip := range b.VIPs {
			all[vip] = child{columns: map[string]any{"vip": vip, "options": pairs(b.HealthCheck.formatOptions())}}
		}
	}
	return all
}

// listAskers says of each guest that is led to by which port, and from which address, it is asked. One without a port of OVN's is asked by nobody.
func (h *HealthCheck) listAskers(guests []Port, vips map[string][]string) map[string]string {
	all := map[string]string{}
	if h == nil || !h.Source.IsValid() {
		return all
	}
	bracketed := func(a netip.Addr) string {
		if a.Is6() {
			return "[" + a.String() + "]"
		}
		return a.String()
	}
	for _, backends := range vips {
		for _, backend := range backends {
			if a, err := netip.ParseAddrPort(backend); err == nil {
				if port := portWith(guests, a.Addr()); port != "" {
					all[bracketed(a.Addr())] = port + ":" + bracketed(h.Source)
				}
			}
		}
	}
	return all
}

// readHealthCheck reads how the load balancer asks: nil where one of its addresses does not, or another way than the others. A guest that is
// not asked, or from another address, has the source read as none, so that an apply mends it; without a router nobody knows which guests are meant.
func (r balancerRows) readHealthCheck(got LoadBalancer) *HealthCheck {
	asking := map[string]bool{}
	var h *HealthCheck
	for _, c := range r.checks {
		var is HealthCheck
		for name, into := range map[string]*int64{"interval": &is.IntervalSeconds, "timeout": &is.TimeoutSeconds, "success_count": &is.SuccessCount, "failure_count": &is.FailureCount} {
			*into, _ = strconv.ParseInt(c.Options[name], 10, 64)
		}
		if h != nil && *h != is {
			return nil
		}
		h, asking[c.VIP] = &is, true
	}
	for vip := range got.VIPs {
		if !asking[vip] {
			return nil
		}
	}
	if h == nil {
		return nil
	}
	h.Source, _ = netip.ParseAddr(r.balancer.ExternalIDs[sourceKey])
	if got.Router != "" && !maps.Equal(h.listAskers(r.listGuests(got.Router), got.VIPs), r.balancer.Askers) {
		h.Source = netip.Addr{}
	}
	return h
}

// CheckLoadBalancer finds what keeps a load balancer from working with what is there, and with what the plan will have. Where the database does not
// answer, the plan is compared alone.
func CheckLoadBalancer(ctx context.Context, n *Northbound, want LoadBalancer, planned Planned) error {
	r, err := balancerThing{want.Name}.findRows(ctx, n)
	if err != nil {
		r = balancerRows{networks: map[string][]Switch{}}
	}
	r.overlayPlan(planned)
	if err := r.checkAddresses(want, planned); err != nil {
		return err
	}
	return want.checkPlanned(planned, r.switches)
}

// checkPlanned finds guests that would not answer, as the router will be that the load balancer is on; its networks may be there already.
func (b LoadBalancer) checkPlanned(planned Planned, there []Switch) error {
	for _, vip := range slices.Sorted(maps.Keys(b.VIPs)) {
		where, err := netip.ParseAddrPort(vip)
		if err != nil {
			continue // Validate says so
		}
		for i, backend := range b.VIPs[vip] {
			target, err := netip.ParseAddrPort(backend)
			if err != nil {
				continue
			}
			if outside, is := planned.findDistributed(b.Router, where.Addr(), target.Addr(), there); is {
				return service.At([]any{"vips", service.Key(vip), i}, wouldNotAnswer(target.Addr(), outside, vip))
			}
		}
	}
	return nil
}

// wouldNotAnswer says why a guest with a distributed floating address does not answer to what a load balancer leads to it from outside.
func wouldNotAnswer(guest netip.Addr, outside, vip string) error {
	return fmt.Errorf("%s has the distributed floating address %s, and would not answer to %s, which is in no network of the router: write distributed = false there", guest, outside, vip)
}

// checkAddresses finds addresses that guests, routers or other load balancers have, and guests that would not answer. What no network of the router has
// may be there twice.
func (r balancerRows) checkAddresses(want LoadBalancer, planned Planned) error {
	routers := r.listRouterAddresses(want.Router, planned)
	guests := r.listGuests(want.Router)
	if h := want.HealthCheck; h != nil {
		if port := portWith(guests, h.Source); port != "" {
			return service.At([]any{"health_check", "source"}, fmt.Errorf("port %q has %s: write an address that nobody has", port, h.Source))
		}
		for _, s := range r.networks[want.Router] {
			if gateway := gatewayOf(&s); gateway.Addr() == h.Source {
				return service.At([]any{"health_check", "source"}, fmt.Errorf("%s is the gateway of network %q: write an address that nobody has", h.Source, s.Name))
			}
		}
	}
	for _, vip := range slices.Sorted(maps.Keys(want.VIPs)) {
		where, err := netip.ParseAddrPort(vip)
		if err != nil {
			continue // Validate says so
		}
		at := []any{"vips", service.Key(vip)}
		if port := portWith(guests, where.Addr()); port != "" {
			return service.At(at, fmt.Errorf("port %q has %s: a load balancer takes an address that nobody has", port, where.Addr()))
		}
		if err := findHolder(want, where, routers); err != nil {
			return service.At(at, err)
		}
		inside := slices.ContainsFunc(r.networks[want.Router], func(s Switch) bool { return gatewayOf(&s).Masked().Contains(where.Addr()) })
		for i, backend := range want.VIPs[vip] {
			target, err := netip.ParseAddrPort(backend)
			if err != nil || inside {
				continue
			}
			for _, x := range r.nat {
				if slices.Contains(r.routers[want.Router].NAT, x.UUID) && x.Port != nil && x.Logical == target.Addr().String() {
					return service.At(append(slices.Clone(at), i), wouldNotAnswer(target.Addr(), x.External, vip))
				}
			}
		}
	}
	return nil
}
