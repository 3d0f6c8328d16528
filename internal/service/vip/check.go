package vip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addressuse"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// askLimit bounds what planning asks of machines: what cannot be asked now is told by the apply.
const askLimit = 10 * time.Second

// CheckMachines compares a planned VIP with the machines that can be asked: interfaces, addresses, that all members are on one segment, and
// that an instance of the name is the VIP's own. It completes the members' addresses, and returns what the machines have. makesDevice says
// whether the plan makes a device that a member's interface may be.
func (s *Store) CheckMachines(ctx context.Context, v *keepalived.VIP, mine IsOwn, makesDevice func(keepalived.Member) bool) (views Views, problems []service.Problem) {
	refuse := func(summary string, err error) { problems = append(problems, service.NewProblem(summary, err)) }
	if len(v.Members) == 0 || slices.ContainsFunc(v.Members, func(m keepalived.Member) bool { return m.ID == "" }) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	views, errs := s.lookAtMachines(ctx, ListServiceNodes(v.Members), v.Name)
	for id, err := range errs {
		tflog.Debug(ctx, "cannot compare a VIP with its machine", map[string]any{"member": id, "error": err.Error()})
	}
	var first netip.Prefix
	for i, m := range v.Members {
		seen := views.findView(m.ID)
		if seen.host == nil {
			continue
		}
		if err := s.refuseForeign(seen, mine, v.Name); err != nil {
			refuse("Name taken", placeInMember(*v, i, "service_node", err))
			continue
		}
		if err := s.refuseGroup(seen, *v); err != nil {
			refuse("Sync group of another state", err)
			continue
		}
		if !seen.hasDevice(m.Interface) && makesDevice(m) {
			continue // the apply says whether it fits
		}
		if m.Interface != "" {
			if err := checkMember(v, i, seen); err != nil {
				refuse("Member does not fit its machine", err)
				continue
			}
		}
		own := seen.links.findPrefix(m.Interface, v.Members[i].Address)
		switch {
		case !own.IsValid():
		case !first.IsValid():
			first = own.Masked()
		case own.Masked() != first:
			refuse("Members on unlike segments", placeInMember(*v, i, "interface", fmt.Errorf(
				"%s on %s is in %s, and the first member in %s: VRRP needs all members on one segment", m.Interface, seen.host, own.Masked(), first)))
		}
	}
	return views, problems
}

// planPatience is how long a plan waits for somebody on the wire to answer: the apply asks again.
const planPatience = 300 * time.Millisecond

// CheckTaken returns why addresses and an id of a planned VIP are refused that somebody has on a machine, and a doubt about an address that
// somebody on the wire answers for. plannedAnew says whether the plan says what a holder of this state has on a machine from then on.
func (s *Store) CheckTaken(ctx context.Context, prior, want keepalived.VIP, views Views, plannedAnew func(h addressuse.Holder, machine string) bool) []service.Problem {
	var demands []demand
	var hosts []host.Host
	for _, d := range listDemands(prior, want) {
		if v := views.findView(d.member.ID); v.host != nil {
			demands, hosts = append(demands, d), append(hosts, v.host)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	uses, errs := askUse(ctx, hosts)
	for i, d := range demands {
		if errs[i] != nil {
			tflog.Debug(ctx, "cannot ask whose a virtual address is", map[string]any{"member": d.member.ID, "error": errs[i].Error()})
			continue
		}
		makesRoom := func(h addressuse.Holder) bool {
			return s.claim.Owns(h.Mark) || h.IsHere() && plannedAnew(h, d.member.ID)
		}
		if err := d.refuseTaken(uses[i], want, makesRoom, prior.Name, want.Name); err != nil {
			return []service.Problem{service.NewProblem("Taken already", err)}
		}
	}
	served := listServed(prior, uses, prior.Name, want.Name)
	for i, d := range demands {
		if errs[i] != nil {
			continue
		}
		if err := d.askWire(ctx, hosts[i], uses[i], want, served, planPatience); err != nil {
			doubt := service.NewProblem("Address in use", fmt.Errorf("unless something else of this apply changes that: %w", err))
			doubt.Warning = true
			return []service.Problem{doubt}
		}
	}
	return nil
}

// TryMachines has the machines' own keepalived check the planned instance, by itself: what else there is may make room in the same
// apply. A machine without keepalived says nothing yet.
func TryMachines(ctx context.Context, views Views, v keepalived.VIP) []service.Problem {
	if slices.ContainsFunc(v.Members, func(m keepalived.Member) bool { return !m.Address.IsValid() }) || len(v.Validate()) > 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	for _, seen := range views {
		refused, is := errors.AsType[*transaction.RefusedError](tryMachine(ctx, seen, v))
		if !is {
			continue
		}
		said := fmt.Sprintf("%s on %s would refuse the configuration with this in it: %v", refused.Daemon, refused.Host, refused.Err)
		if slices.ContainsFunc(v.Track, func(t keepalived.Track) bool { return t.Script != "" }) {
			return []service.Problem{service.Warningf([]any{"track"}, "keepalived refuses what is planned", "Unless something else of this apply brings what a script names: %s", said)}
		}
		return []service.Problem{service.Problemf([]any{"name"}, "keepalived refuses what is planned", "%s", said)}
	}
	return nil
}

func tryMachine(ctx context.Context, seen view, v keepalived.VIP) error {
	if seen.host == nil || !slices.ContainsFunc(v.Members, func(m keepalived.Member) bool { return m.ID == seen.id && seen.hasDevice(m.Interface) }) {
		return nil // nor of a device that is still to be made
	}
	if _, err := seen.host.Run(ctx, host.Script("look for keepalived", "command -v keepalived")); err != nil {
		return err
	}
	instance, alone := v.Instance(seen.id), transaction.Tree{}
	step := keepalived.Step{ID: seen.id, Instance: &instance}
	if err := step.Apply(alone, func(string, owner.Mark) bool { return true }); err != nil {
		return err
	}
	return transaction.Try(ctx, seen.host, keepalived.Daemon{}, alone)
}
