// Package nodepower is the action virtcluster_node_power: a node is switched on or off, cycled, or reset.
package nodepower

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// New makes the action.
func New() action.Action {
	return crud.NewAction(crud.Action[model]{Name: "node_power", Schema: powerSchema(), Check: checkNode, Do: switchNode})
}

type model struct {
	Node            types.String `tfsdk:"node"`
	Hypervisor      types.String `tfsdk:"hypervisor"`
	Action          types.String `tfsdk:"action"`
	ShutdownTimeout types.String `tfsdk:"shutdown_timeout"`
}

// defaultShutdownTimeout is that of a node.
const defaultShutdownTimeout = 60 * time.Second

func powerSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Switches a node on or off, cycles or resets it: by `terraform apply -invoke=action.virtcluster_node_power.NAME`, or from an `action_trigger` of a resource. Terraform 1.14 and later. " +
			"What is so already is success. Only a node of this state is switched. A node with `power = \"managed\"` that is off is started by the next apply of its resource, as `running` says: switch nodes off that are `external`.",
		Attributes: map[string]schema.Attribute{
			"node":       schema.StringAttribute{Required: true, Validators: []validator.String{values.Name}, MarkdownDescription: "The `id` of a `virtcluster_node`, or its name."},
			"hypervisor": schema.StringAttribute{Optional: true, Validators: []validator.String{values.Name}, MarkdownDescription: "Which of the provider's `hypervisors` the node is on. Default: by an `id`, whichever has it; by a name, the provider's `uri`."},
			"action": schema.StringAttribute{
				Required: true, Validators: []validator.String{values.OneOf(machine.PowerOn, machine.PowerOff, machine.PowerCycle, machine.PowerReset)},
				MarkdownDescription: "`on` starts the node, or lets it go on where it is paused. `off` asks its guest to shut down, by its agent or by ACPI, and cuts its power after `shutdown_timeout`. `cycle` is `off` and then `on`: a cold start, which spends no boot override of a controller, as only the controller's own starts do. " +
					"`reset` is the reset button: a warm start, at once. A node that is off can be neither cycled nor reset.",
			},
			"shutdown_timeout": schema.StringAttribute{
				Optional: true, Validators: []validator.String{values.Duration(0, 24*time.Hour)},
				MarkdownDescription: "How long the guest may take to shut down before its power is cut, as a duration, for `off` and `cycle`; `\"0s\"` cuts it at once. Default: `60s`.",
			},
		},
	}
}

// findClient returns the hypervisor of the node: one that is given by its id may be on any.
func (m *model) findClient(ctx context.Context, p crud.ProviderData) (*hypervisor.Client, error) {
	node := m.Node.ValueString()
	if m.Hypervisor.IsNull() && machine.IsID(node) {
		for _, name := range p.Fleet.Names() {
			c, err := p.Fleet.Hypervisor(ctx, name) // where it is an error, the one below says why
			if err == nil && machine.HasMachine(ctx, c, node) {
				return c, nil
			}
		}
	}
	return p.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
}

// checkNode refuses a node that is somebody else's. One that is not there yet is what the same apply makes.
func checkNode(ctx context.Context, p crud.ProviderData, m *model) diag.Diagnostics {
	if !convert.Known(m.Node) || m.Hypervisor.IsUnknown() {
		return nil
	}
	c, err := m.findClient(ctx, p)
	if err != nil {
		return nil // which may be because it is not known yet
	}
	_, err = machine.FindOwn(ctx, c, m.Node.ValueString())
	if hypervisor.IsNotFound(err) {
		return nil
	}
	return m.newFailures(err)
}

// switchNode switches the node.
func switchNode(ctx context.Context, p crud.ProviderData, m *model, report func(string)) diag.Diagnostics {
	c, err := m.findClient(ctx, p)
	if err != nil {
		return m.newFailures(err)
	}
	grace := defaultShutdownTimeout
	if !m.ShutdownTimeout.IsNull() {
		grace, _ = time.ParseDuration(m.ShutdownTimeout.ValueString()) // the schema has checked it
	}
	return m.newFailures(machine.SwitchPower(ctx, c, m.Node.ValueString(), m.Action.ValueString(), grace, report))
}

// newFailures is an error as diagnostics; none for no error.
func (m *model) newFailures(err error) diag.Diagnostics {
	if err == nil {
		return nil
	}
	summary := fmt.Sprintf("Cannot switch node %q", m.Node.ValueString())
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("node"), summary, err.Error())}
}
