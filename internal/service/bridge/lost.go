package bridge

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// isLost says that somebody deleted the bridge: its record still has what its interfaces had, which nothing else may have any more.
func (f found) isLost() bool { return f.known && !f.isRunning() }

// ownAddresses are those that the bridge got of its owner.
func (r Record) ownAddresses() []netip.Prefix {
	var all []netip.Prefix
	for _, s := range r.ownSettings() {
		if s.IsAddress() {
			all = append(all, s.Address)
		}
	}
	return all
}

// checkReturn refuses to make a lost bridge again where somebody else has what it had.
func (f found) checkReturn(ctx context.Context, h host.Host, r Record) error {
	for _, link := range f.Links {
		if slices.Contains(r.Want.physicalInterfaces(), link.Name) {
			continue
		}
		for _, p := range f.Prefixes(link.Name) {
			if slices.ContainsFunc(r.ownAddresses(), func(a netip.Prefix) bool { return a.Addr() == p.Addr() }) {
				return service.At([]any{"addresses"}, fmt.Errorf("bridge %q, which is gone, had %s, and %s has it now: take it from there, or list other addresses", f.name, p.Addr(), link.Name))
			}
		}
	}
	if err := f.CheckDefaultRoute(r.ownAddressing(), append(r.Want.physicalInterfaces(), f.name)); err != nil {
		return err
	}
	for _, name := range r.Want.allDevices() {
		if link, _ := f.Link(name); link.Master == "" {
			return f.CheckOccupied(ctx, h, name, r.ownAddresses(), hostnet.Patience)
		}
	}
	return nil
}

// warnOfReturn says that a bridge is gone, and what it gets when it is made again.
func (f found) warnOfReturn(want Bridge) []service.Problem {
	if !f.isLost() {
		return nil
	}
	r, err := want.beginRecord(f.Machine, f.Record)
	if err != nil {
		return nil // which the plan says
	}
	r.Want.ActiveBackend = f.Want.ActiveBackend
	gets := "without addresses"
	if all := r.ownSettings(); len(all) > 0 {
		words := make([]string, 0, len(all))
		for _, s := range all {
			words = append(words, s.String())
		}
		gets = "with " + strings.Join(words, ", ")
	}
	return []service.Problem{service.Warningf([]any{"interfaces"}, "The bridge is gone", "somebody deleted %s: the apply makes it again, %s", f.name, gets)}
}

// inUse names what others have in the bridge, or on top of it: it would be cut off without the bridge.
func (f found) inUse() error {
	var uses []string
	list := func(what string, names []string) {
		if len(names) > 0 {
			uses = append(uses, what+strings.Join(names, ", "))
		}
	}
	list("the virtual machines behind ", f.Guests(f.name))
	own := append(f.Want.physicalInterfaces(), f.Want.ownDevices()...)
	list("ports that others put into it: ", slices.DeleteFunc(f.Ports(f.name), func(port string) bool { return slices.Contains(own, port) }))
	list("devices that others made on it: ", f.Upper(f.name))
	if len(uses) == 0 {
		return nil
	}
	return fmt.Errorf("bridge %q carries %s: remove them first, or move them elsewhere", f.name, strings.Join(uses, "; "))
}
