package node

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// runs says whether a node in state has a machine that runs, be it paused.
func (v *version) runs() bool {
	return v.Running.ValueBool() || slices.Contains([]string{"paused", "in shutdown", "pmsuspended"}, v.State.ValueString())
}

// sameDevices says that nothing is to be plugged in or out.
func (v *version) sameDevices(prior *version) bool {
	m, p := &v.model, &prior.model
	return m.Disks.Equal(p.Disks) && m.NetworkInterfaces.Equal(p.NetworkInterfaces) && m.CloudInit.Equal(p.CloudInit)
}

// planRestart says which changes of a node that runs and is to go on need a restart, and refuses them where the
// configuration does not allow it.
func (n *node) planRestart(ctx context.Context, c *hypervisor.Client, planned, prior *version, resp *resource.ModifyPlanResponse) error {
	if !prior.runs() || !planned.Running.ValueBool() {
		return nil
	}
	name, allowed := planned.Name.ValueString(), planned.AllowRestart.ValueBool()
	if known(planned.VCPUs) && planned.VCPUs.ValueInt64() < prior.VCPUs.ValueInt64() && allowed {
		resp.Diagnostics.AddAttributeWarning(path.Root("vcpus"), "The node may be restarted", fmt.Sprintf("where the guest of node %q does not let go of its vCPUs, it is shut down and started again", name))
	}
	needs := func(at path.Path, reason string) {
		where := ""
		if len(at.Steps()) > 1 { // Terraform points at the whole of an attribute
			where = at.String() + ": "
		}
		if !allowed {
			resp.Diagnostics.AddAttributeError(at, "This change needs a restart",
				fmt.Sprintf("%snode %q runs, and %s: set allow_restart = true, which shuts the guest down and starts it again in the same apply, or set running = false first", where, name, reason))
			return
		}
		resp.Diagnostics.AddAttributeWarning(at, "The node will be restarted", fmt.Sprintf("%snode %q is shut down and started again for this change, as %s", where, name, reason))
	}
	for _, at := range restarts(prior, planned) {
		needs(at, "a running machine cannot follow it")
	}
	if planned.sameDevices(prior) {
		return nil // and nobody is asked
	}
	d, err := c.Domain(ctx, prior.ID.ValueString())
	if hypervisor.IsNotFound(err) || err == nil && !d.Active() {
		return nil // it is gone since it was read
	}
	if err != nil {
		return err
	}
	was, err := located(ctx, c, d)
	if err != nil {
		return err
	}
	unpluggable, err := planned.unpluggable(d, was, prior)
	said := map[string]bool{}
	for _, u := range unpluggable {
		if !said[u.Error()] { // all that comes after the last free port fails alike
			needs(crud.AttributePath(u.Path), u.Error())
		}
		said[u.Error()] = true
	}
	return err
}
