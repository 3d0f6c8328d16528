package node

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/parentcommand"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// rolloutModel says how the node takes its turn among those of its group.
type rolloutModel struct {
	Group          types.String          `tfsdk:"group"`
	MaxUnavailable types.Int64           `tfsdk:"max_unavailable"`
	Drain          *drainModel           `tfsdk:"drain"`
	ServiceNode    *turnServiceNodeModel `tfsdk:"service_node"`
	Before         *turnCommandModel     `tfsdk:"before"`
	Ready          *turnReadyModel       `tfsdk:"ready"`
	After          *turnCommandModel     `tfsdk:"after"`
	Timeout        types.String          `tfsdk:"timeout"`
}

type drainModel struct {
	ServiceNodes types.List   `tfsdk:"service_nodes"`
	Timeout      types.String `tfsdk:"timeout"`
}

type turnServiceNodeModel struct {
	Endpoint types.String `tfsdk:"endpoint"`
	HostKey  types.String `tfsdk:"host_key"`
	Timeout  types.String `tfsdk:"timeout"`
}

type turnCommandModel struct {
	Endpoint types.String `tfsdk:"endpoint"`
	Command  types.List   `tfsdk:"command"`
	Timeout  types.String `tfsdk:"timeout"`
}

type turnReadyModel struct {
	URL      types.String `tfsdk:"url"`
	TCP      types.String `tfsdk:"tcp"`
	DNS      types.String `tfsdk:"dns"`
	Endpoint types.String `tfsdk:"endpoint"`
	Command  types.List   `tfsdk:"command"`
	Interval types.String `tfsdk:"interval"`
	Timeout  types.String `tfsdk:"timeout"`
}

// turnTime is the duration of something in a turn.
var turnTime = values.Duration(100*time.Millisecond, 24*time.Hour)

func rolloutAttribute() schema.Attribute {
	limit := func(description string) schema.Attribute {
		return turnTime.Optional(description)
	}
	arguments := func() schema.ListAttribute {
		return values.Each(values.Free).Some().RequiredList("Command as a list of arguments: `[\"kubectl\", \"drain\", \"master-1\"]`. No shell reads it. It is kept in the domain's metadata: leave passwords out of it.")
	}
	command := func(description string) schema.Attribute {
		return values.OptionalObject(description, values.Attributes{
			"endpoint": values.Endpoint.Required("Machine that it runs on: an endpoint such as `ssh://root@10.0.0.100`, or the id of a `virtcluster_service_node`."),
			"command":  arguments(),
			"timeout":  limit("How long it may take. Default: `5m`."),
		})
	}
	asked := arguments()
	asked.Required, asked.Optional = false, true
	asked.MarkdownDescription = "Command that succeeds on the machine of `endpoint` once the node serves, as a list of arguments."
	return values.OptionalObject("How the node takes its turn among those of its group, whenever a change takes it down: a restart, a stop, a move to another `hypervisor`, or a replacement, whose destroy and create are one turn. "+
		"Within one apply, and beside others, no more nodes of a group are down at one time than `max_unavailable`; a node of the group that is down for another reason counts. "+
		"A turn that fails stops the roll: the others stay as they are, and the next apply goes on from there. The first create of a node waits for nobody. "+
		"A node that is of no group yet, or of another one, joins it in the apply that says so, before anything is taken down; to be made anew it has to have joined before. "+
		"A node that is removed for good waits up to a minute for the others, and a destroy of everything does not wait. "+
		"Replacing needs a `-parallelism` of at least the number of nodes that are replaced.", values.Attributes{
		"group":           values.Name.Required("Name of the group, the same in all its nodes, on all hypervisors of the provider."),
		"max_unavailable": values.Between(1, 1000).Optional("How many nodes of the group may be down at one time. Default: 1."),
		"drain": values.OptionalObject("HAProxy's servers at the node's addresses get no new connections before the node is taken down, and those that there are may end; once it serves again, they get some. "+
			"The configuration of HAProxy stays as it is. A node that holds virtual addresses of a `virtcluster_vip` hands them over before it goes down, with or without this, where its guest agent answers.", values.Attributes{
			"service_nodes": values.Each(values.Endpoint).Some().Distinct().RequiredList("Machines with the HAProxy: ids of `virtcluster_service_node`, or endpoints."),
			"timeout":       limit("How long connections may take to end; what has not ended by then is ended. Default: `30s`."),
		}),
		"service_node": values.OptionalObject("The node as a service node, where it is one. It hands virtual addresses over before it goes down, with or without a guest agent: new connections to them are put off for less than a second meanwhile (where the machine has `nft`), "+
			"so that those that there are can end. Who holds them then keeps them, whatever the priorities, until this one's services serve again. Where it is made anew, what it has as a service node is part of the turn: the new machine gets the same services, "+
			"and BIND, chrony, HAProxy and keepalived the configuration that the old one has, and the turn ends once they serve. So both of a pair can be made anew in one apply, and the other resources of them do not change. "+
			"What else is there, such as exports, exposures, routes, entries of `/etc/hosts` and files that are served, goes with the machine, and the next apply makes it again.", values.Attributes{
			"endpoint": values.Endpoint.Required("How it is reached: the endpoint of its `virtcluster_service_node`, which cannot be named here, as it comes after the node."),
			"host_key": schema.StringAttribute{Optional: true, Validators: []validator.String{values.Line, hostattr.HostKey{}}, MarkdownDescription: "SSH host key, as in `virtcluster_service_node`. A node that is made anew must have the same one again, from cloud-init (`ssh_keys`). Default: the key that `known_hosts` has for it."},
			"timeout":  limit("How long a new machine may take to answer, and its services to serve. Default: `10m`."),
		}),
		"before": command("Command that is run before the node is taken down, such as `kubectl drain`; not where the node is down already. Where it fails, nothing is changed."),
		"ready": values.OptionalObject("What says that the node serves again: one of `url`, `tcp`, `dns` and `command`, asked as `virtcluster_readiness` does, by the computer that Terraform runs on. Default: that it runs.", values.Attributes{
			"url":      values.Word.Optional("URL that is asked for with GET, and must answer 200 to 299: `http://10.0.0.11:2381/health`."),
			"tcp":      values.Word.Optional("Port that must take a connection: `10.0.0.11:6443`."),
			"dns":      values.HostName.Optional("Name that must resolve."),
			"endpoint": values.Endpoint.Optional("Machine that `command` runs on."),
			"command":  asked,
			"interval": limit("Time between an answer and the next question. Default: `2s`."),
			"timeout":  limit("Time after which the turn has failed. Default: `10m`."),
		}),
		"after":   command("Command that is run once the node is ready, such as `kubectl uncordon`."),
		"timeout": limit("How long the node waits for others of which nothing changes meanwhile, and in its turn for a service node of `drain` that does not answer, before it gives its turn up. Default: `10m`."),
	})
}

// planTurn says what the turn of a node does that a change takes down.
func (p *planner) planTurn(ctx context.Context, want, was *machine.Spec, fresh bool) {
	r := want.Rollout
	if r == nil || want.Unknown.Has("rollout") {
		return
	}
	down, how := p.at.Claim.Replaces(), machine.Replaces
	if !fresh {
		var err error
		how = machine.Restarts
		if p.moves {
			down, how = was.Runs(), machine.Moves
		} else if down, err = machine.TakesDown(ctx, p.checker.Client, was, want); err != nil {
			return // the plan says so
		}
	}
	if !down {
		return
	}
	if fresh && p.startsOutside(ctx, r.Group) {
		p.resp.Diagnostics.AddAttributeError(path.Root("rollout"), "Made anew before it is of the group",
			fmt.Sprintf("node %q is not of group %q until an apply has changed it, and so its removal would wait for nobody: apply its rollout first, without what makes it anew", want.Name, r.Group))
		return
	}
	p.resp.Diagnostics.AddAttributeWarning(path.Root("rollout"), "The node takes its turn",
		fmt.Sprintf("node %q waits until no more than %d of group %q are down with it. Then %s. Where that fails, the others stay as they are.", want.Name, r.Limit(), r.Group, r.DescribeTurn(how, want.GuestAgent)))
}

// startsOutside says whether what the node takes the place of runs, and is not of the group. What cannot be asked now, other checks say.
func (p *planner) startsOutside(ctx context.Context, group string) bool {
	outside, err := p.checker.RunsOutside(ctx, group, p.at.Claim.Owns)
	return err == nil && outside
}

// planRemoval says what the turn of a node does that goes for good. A destroy of everything takes none.
func planRemoval(ctx context.Context, _ crud.StoreContext, m *model, replaced bool) (found diag.Diagnostics) {
	if replaced || parentcommand.DestroysAll() {
		return nil
	}
	is, diags := m.toSpec(ctx)
	if r := is.Rollout; !diags.HasError() && r != nil && is.Runs() {
		found.AddWarning("The node goes in its turn",
			fmt.Sprintf("node %q waits for up to a minute until no more than %d of group %q are down with it. Then %s.", is.Name, r.Limit(), r.Group, r.DescribeTurn(machine.Removes, is.GuestAgent)))
	}
	return found
}
