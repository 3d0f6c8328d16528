package bootprofile

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/netboot"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// planChange plans the machine that a node is, and refuses a kernel or an initial RAM disk that is not there.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	var was model
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &was)...)
	}
	if at.Fleet == nil || resp.Diagnostics.HasError() {
		return
	}
	what := fmt.Sprintf("boot profile %q", m.Name.ValueString())
	if !m.Node.IsNull() && !m.Node.IsUnknown() {
		resp.Diagnostics.Append(crud.DescribeLook(path.Root("node"), what, planMAC(ctx, at, resp, &was, m))...)
	}
	before, _ := was.toSpec(ctx)
	want, diags := m.toSpec(ctx)
	if diags.HasError() || m.BootServer.IsUnknown() || m.Standby.IsUnknown() {
		return
	}
	store, err := openProfile(ctx, at, m)
	if err != nil {
		return // whatever it is, there is no machine to ask yet
	}
	err = store.Ask(ctx, before, want, func(url string) bool { return isServed(at.Ledger, url) })
	resp.Diagnostics.Append(crud.DescribeLook(path.Root("boot_server"), what, err)...)
}

// nodePatience is how long a plan that does not depend on the node waits for it to be planned. Where the node depends on the profile it comes later
// in any case, and is refused where it has another address.
const nodePatience = 300 * time.Millisecond

// planMAC plans the address of the node's first interface. One that is not there yet keeps what the state has for it, and gets at first what a
// node of its name gets. Another address is another machine, of which nothing is known yet.
func planMAC(ctx context.Context, at crud.StoreContext, resp *resource.ModifyPlanResponse, was, m *model) error {
	node := m.Node.ValueString()
	at.Ledger.Await(ctx, plan.Use{Kind: plan.NodeCard, Value: node}, nodePatience)
	found, err := machine.FindFirstCards(ctx, at.Ledger, at.Fleet.Known(ctx), node)
	if err != nil {
		return err
	}
	had := netboot.Canonical(was.MAC.ValueString())
	mac := alloc.MAC(node, 0).String()
	switch {
	case len(found) > 1:
		return service.At([]any{"node"}, fmt.Errorf("several nodes are called %q, and their first interfaces have %s: write mac for the one that is meant, in place of node", node, strings.Join(found, " and ")))
	case len(found) == 1:
		mac = found[0]
	case was.Node.Equal(m.Node):
		mac = had
	}
	if mac == had {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("mac"), was.MAC)...)
		m.MAC = was.MAC
		return nil
	}
	m.MAC = types.StringValue(mac)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("mac"), mac)...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("installed"), types.BoolUnknown())...)
	for _, name := range []string{"last_seen", "report_url"} {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), types.StringUnknown())...)
	}
	return nil
}

// isServed says whether a resource of the plan serves a URL, which need not be there before the apply.
func isServed(planned plan.View, url string) bool {
	for _, held := range planned.List(plan.ServedURL) {
		if url == held.Value || strings.HasPrefix(url, held.Value+"/") {
			return true
		}
	}
	return false
}
