package machine

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// resizeLive sets memory and vCPUs of a running machine within their maxima.
func (u *update) resizeLive(ctx context.Context) error {
	memory, vcpus, live := findLiveDrift(u.d)
	if memory || u.existing.MemoryMiB != u.machine.MemoryMiB {
		if err := u.c.SetDomainMemory(ctx, u.d.UUID, u.machine.MemoryMiB, true); err != nil {
			return service.At(pathTo("memory_mib"), err)
		}
		if err := awaitMemory(ctx, u.c, u.d.UUID); err != nil {
			return err
		}
	}
	if !vcpus && u.existing.VCPUs == u.machine.VCPUs {
		return nil
	}
	return service.At(pathTo("vcpus"), u.setVCPUs(ctx, live.VCPUs))
}

// balloonPatience is how long a guest may take to have the memory that it was given back.
const balloonPatience = 10 * time.Second

// awaitMemory waits until the guest has taken the memory that it was given, so that the next plan does not find it
// short. A guest that does not take it is left alone.
func awaitMemory(ctx context.Context, c *hypervisor.Client, uuid string) error {
	return hypervisor.Retry(ctx, balloonPatience, 200*time.Millisecond, func() (bool, error) {
		d, err := c.Domain(ctx, uuid)
		if err != nil {
			return false, err
		}
		short, _, _ := findLiveDrift(d)
		return short, nil
	})
}

// setVCPUs plugs vCPUs into a running machine that has some already, or takes them away.
func (u *update) setVCPUs(ctx context.Context, before int64) error {
	err := u.c.SetDomainVCPUs(ctx, u.d.UUID, u.machine.VCPUs, true)
	switch {
	case err == nil && before < u.machine.VCPUs && IsAgentConnected(u.d):
		// The machine has the vCPUs, whether or not the guest makes use of them.
		if err := u.c.UseVCPUs(ctx, u.d.UUID, u.machine.VCPUs); err != nil {
			tflog.Warn(ctx, "the guest did not bring the new vCPUs online", map[string]any{"node": u.d.Name, "reason": err.Error()})
		}
	case hypervisor.Code(err) != 0 && before > u.machine.VCPUs:
		return u.removeVCPUs(ctx, err)
	}
	return err
}

// removeVCPUs has the next start take away what a running machine keeps: its guest may need the vCPU, and QEMU's emulation
// never says that a guest let go of one (7.2 to 11.1 do not).
func (u *update) removeVCPUs(ctx context.Context, refusal error) error {
	if !u.want.AllowRestart {
		return fmt.Errorf("the running machine keeps its vCPUs until it is started again: set allow_restart = true, which has this done in the same apply, or running = false first; guests often hold on to a vCPU, and emulated ones (type = \"qemu\") always do: %w", refusal)
	}
	tflog.Warn(ctx, "the running machine keeps its vCPUs and is restarted", map[string]any{"node": u.d.Name, "reason": refusal.Error()})
	u.restart = true
	return u.c.SetDomainVCPUs(ctx, u.d.UUID, u.machine.VCPUs, false)
}
