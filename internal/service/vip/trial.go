package vip

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

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
	if err := step.Apply(alone, func(owner.Mark) bool { return true }); err != nil {
		return err
	}
	return transaction.Try(ctx, seen.host, keepalived.Daemon{}, alone)
}
