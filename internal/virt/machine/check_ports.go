package machine

import (
	"context"
	"errors"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// portChecker finds what is in the way of a planned machine's ports of networks of OVN.
type portChecker struct{ *Checker }

// checkPorts finds what keeps networks of OVN from having the interfaces: as they are planned, or as their databases have them, as far as these
// answer now.
func (k portChecker) checkPorts(ctx context.Context) error {
	for n := range k.Want.Interfaces {
		here := pathTo("network_interfaces", n)
		p, ok := k.Want.Interfaces[n].networkPort(k.Was.UUID, here)
		if !ok || k.Northbounds == nil {
			continue
		}
		if err := k.checkChassis(ctx, p.At); err != nil {
			k.addProblem(pathBelow(here, "ovn_network"), "Hypervisor without OVN", "%s", err)
			continue
		}
		for _, problem := range k.findPortProblems(ctx, k.Want.Interfaces[n].OVNNetwork, p) {
			summary := "Network of OVN"
			if _, isTaken := errors.AsType[*ovn.TakenError](problem.Err); isTaken {
				summary = "Taken by another port"
			}
			k.addProblem(pathBelow(here, problem.Path...), summary, "%s", problem.Err)
		}
	}
	return nil
}

// checkChassis finds whether the hypervisor is a chassis of OVN, as that is planned, or as its databases have it, as far as these answer now. A machine
// that is on that OVN already stays there: somebody took the chassis from under it, and it is not what is wrong with a change of it.
func (k portChecker) checkChassis(ctx context.Context, at string) error {
	if was := listDatabases(k.Was.Interfaces, nil); !k.isNewHere() && slices.ContainsFunc(was, func(is string) bool { return ovn.SameMachine(is, at) }) {
		return nil
	}
	decided, err := ovn.CheckPlannedChassis(k.Plan, at, k.Want.Hypervisor)
	if decided || k.Client == nil {
		return err
	}
	north, err := k.Northbounds(ctx, at)
	if err != nil {
		return nil //nolint:nilerr // the apply says so
	}
	hostname, err := k.Cache.askHostname(ctx, k.Client)
	if err != nil {
		return nil //nolint:nilerr // as do the checks of what is there
	}
	err = north.CheckChassis(ctx, at, k.Want.Hypervisor, hostname)
	if _, wrong := errors.AsType[*ovn.NoChassisError](err); !wrong {
		return nil
	}
	return err
}

// findPortProblems returns what is wrong with one port on a network. What another machine of this state has may be given up in the same plan:
// what two of one plan want is a matter of their claims.
func (k portChecker) findPortProblems(ctx context.Context, network string, p Port) []*service.AttributeError {
	for _, held := range k.Plan.List(plan.OVNNetwork) {
		if is, ok := held.Of.(ovn.Network); ok && held.Holder.Doing != plan.Keeps && ovn.SameNetwork(held.Holder.Object, network) {
			return p.CheckIn(is)
		}
	}
	north, err := k.Northbounds(ctx, p.At)
	if err != nil {
		return nil // the apply says so
	}
	problems, err := north.CheckPort(ctx, p.GuestPort)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(problems, func(problem *service.AttributeError) bool {
		taken, isTaken := errors.AsType[*ovn.TakenError](problem.Err)
		return isTaken && (k.Run.MayBeInState(taken.By) || k.Run.LeftBehind(taken.By))
	})
}
