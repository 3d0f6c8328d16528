package machine

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// networkChecker finds what is wrong with the networks that a planned machine is to be in, and with who it is there.
type networkChecker struct{ *Checker }

// checkNetworks checks interfaces against the networks and bridges that are there.
func (k networkChecker) checkNetworks(ctx context.Context) error {
	all, err := k.Client.PlanNetworks(ctx)
	if err != nil {
		return err
	}
	k.checkSuccessions(all)
	for n := range k.Want.Interfaces {
		i := &k.Want.Interfaces[n]
		here := pathTo("network_interfaces", n)
		if i.Network == "" {
			continue
		}
		ref := i.Network
		index := slices.IndexFunc(all, func(x *hypervisor.Network) bool { return x.Name == ref || x.UUID == ref })
		if index < 0 {
			if !network.Changes(k.Plan, k.Want.Hypervisor, ref) {
				k.addProblem(pathBelow(here, "network"), "Unknown network", "hypervisor %s has no network %q: make it with virtcluster_network and refer to that resource's name", k.Client.URI(), ref)
			}
			addressChecker(k).checkPlannedAddresses(ref, i, here)
			continue
		}
		if network.Changes(k.Plan, k.Want.Hypervisor, all[index].Name) {
			addressChecker(k).checkPlannedAddresses(all[index].Name, i, here)
			continue
		}
		needed := k.plugsInterface(i, len(compareFixed(k.Was, k.Want)) > 0) || k.Fresh && (i.IP.IsValid() || i.IPv6.IsValid())
		if needed && !all[index].Active() {
			k.addProblem(pathBelow(here, "network"), "Network not active", "network %q of hypervisor %s is stopped: %s", all[index].Name, k.Client.URI(), adviseNetworkStart(all[index].Name))
			continue
		}
		k.checkVLAN(all[index].Config, i, here)
		addressChecker(k).checkReservations(ctx, all[index], i, here)
		addressChecker(k).checkGuestAddresses(ctx, all[index], i, here)
	}
	return nil
}

// checkSuccessions refuses what no apply can do: to replace a network under a node that goes on running. Where another network
// can be made beside it, the node moves over, if Terraform makes that one first.
func (k networkChecker) checkSuccessions(all []*hypervisor.Network) {
	if k.Fresh || !k.Was.Runs() || !k.Want.Running {
		return
	}
	for n := range k.Want.Interfaces {
		path := pathBelow(pathTo("network_interfaces", n), "network")
		for _, was := range k.Was.Interfaces {
			at := slices.IndexFunc(all, func(x *hypervisor.Network) bool {
				return was.Network != "" && (x.Name == was.Network || x.UUID == was.Network)
			})
			if at < 0 || was.MAC != k.Want.Interfaces[n].MAC {
				continue
			}
			first, goes := network.FindSuccession(k.Plan, k.Client.URI(), all[at].UUID)
			switch {
			case goes && first:
				k.addProblem(path, "Network replaced under a running node", "network %q has to go before what replaces it can be made, and node %q runs on it: set running = false in an apply before that, or keep the network", all[at].Name, k.Want.Name)
			case goes:
				k.problems = append(k.problems, service.Warningf(path, "Network replaced under a running node", "network %q goes, and node %q runs on it: the apply succeeds only if the new network is made first, with lifecycle { create_before_destroy = true }", all[at].Name, k.Want.Name))
			}
		}
	}
}

// checkStaysInside refuses addresses that are in no subnet that a network of the plan will have. A network that somebody gave several
// subnets of a family has more than a plan knows.
func (k networkChecker) checkStaysInside(ctx context.Context, name string, i *InterfaceSpec, here []any) {
	subnets, ok := network.PlannedSubnets(k.Plan, k.Want.Hypervisor, name)
	if !ok || len(subnets) == 0 {
		return
	}
	for attribute, ip := range i.reservedAddresses() {
		if slices.ContainsFunc(subnets, func(p netip.Prefix) bool { return p.Contains(ip) }) {
			continue
		}
		if now, err := k.Client.Network(ctx, name); err == nil && len(now.Current().IPs) > len(subnets) {
			continue
		}
		k.addProblem(pathBelow(here, attribute), "Address outside the network", "network %q will have %s, and the node would stay behind with %s: change its address in the same plan, which carries it along", name, listSubnets(subnets), ip)
	}
}

func describeSubnets(n *libvirtxml.Network) string {
	var all []netip.Prefix
	for _, x := range n.IPs {
		if p, err := hypervisor.Subnet(x); err == nil {
			all = append(all, p)
		}
	}
	return listSubnets(all)
}

func listSubnets(subnets []netip.Prefix) string {
	var all []string
	for _, p := range subnets {
		all = append(all, p.Masked().String())
	}
	if len(all) == 0 {
		return "no subnet of its own"
	}
	return strings.Join(all, " and ")
}

// checkMACs looks for a MAC address among all machines of all hypervisors: they may share a network.
func (k networkChecker) checkMACs(ctx context.Context) error {
	wanted := map[string]int{}
	for n, i := range k.Want.Interfaces {
		mac := i.MAC
		kept := !k.Fresh && slices.ContainsFunc(k.Was.Interfaces, func(p InterfaceSpec) bool { return p.MAC == mac })
		if i.MAC != "" && !kept {
			wanted[mac] = n
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for _, c := range k.Hypervisors {
		all, err := k.Cache.listDomains(ctx, c)
		if _, unreachable := errors.AsType[*hypervisor.UnreachableError](err); unreachable && c != k.Client {
			continue
		}
		if err != nil {
			return err
		}
		for _, d := range all {
			m := Read(d.Config)
			if !k.isStranger(d, m) {
				continue
			}
			if c == k.Client && d.Name == k.Want.Name {
				continue // what is taken is the name, which is said already: the address follows from it
			}
			for _, x := range m.Interfaces {
				if n, taken := wanted[x.MAC]; taken {
					k.addProblem(pathTo("network_interfaces", n, "mac"), "MAC address taken", "domain %q on hypervisor %s has %s: write another mac", d.Name, c.URI(), x.MAC)
				}
			}
		}
	}
	return nil
}
