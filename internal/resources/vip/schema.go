package vip

import (
	"context"
	"math"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/float64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func resourceSchema(ctx context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A virtual address that several service nodes share: one VRRP instance of keepalived on each of them. One of them holds the address; when it fails, " +
			"another takes it within four advertisements. Every change is rolled out member by member in an order that never leaves two owners, and none for a few " +
			"milliseconds at most. A member that cannot be reached fails a change before anything is touched, unless the change removes it. " +
			"What no attribute says of an instance that was there (`notify`, `virtual_routes`, the device of an address) stays in it.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{Computed: true, MarkdownDescription: "The first address, `#` and the name. It does not change with the members. Known once the VIP is there, so that what asks for it, such as `virtcluster_vip_status`, waits for that."},
			"name": values.Name.Required("Name of the VRRP instance, `CLUSTER-api` or `CLUSTER-ingress` for an OpenShift cluster's. " +
				"Renaming it changes neither `virtual_router_id` nor the owner."),
			"addresses": values.Each(values.AddressInPrefix).Some().Distinct().RequiredList("Virtual addresses with their prefix length, of one or both families. VRRP is spoken in the first one's family.", values.Each(values.AddressInPrefix).KeepSpelling()),
			"virtual_router_id": values.Between(1, 255).OptionalComputed("VRRP's virtual router id, 1 to 255, which no other instance on the segment may have. Default: the checksum of the name that OpenShift uses "+
				"(the function `virtual_router_id` computes it too), kept for ever once it is set.", int64planmodifier.UseStateForUnknown()),
			"version": values.Between(2, 3).OptionalComputed("VRRP version: 2, which has passwords, or 3, which has IPv6 and intervals below a second. Default: 2, or 3 where the first address is IPv6.", versionByFamily{}),
			"advert_int": schema.Float64Attribute{Validators: []validator.Float64{values.Between(0, 255)}, Optional: true, Computed: true, Default: float64default.StaticFloat64(1),
				MarkdownDescription: "Seconds between advertisements. Another member takes over after three of them and a fraction of one. Whole seconds in version 2. Default: 1."},
			"auth_pass": schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: "Password of up to 8 characters (VRRP's PASS authentication), kept in the state. Prefer `auth_pass_wo` where the CLI has write-only values.",
				Validators: []validator.String{values.Secret, stringvalidator.ConflictsWith(path.MatchRoot("auth_pass_wo"))}},
			"auth_pass_wo": schema.StringAttribute{Optional: true, Sensitive: true, WriteOnly: true, MarkdownDescription: "Password of up to 8 characters that is neither in the plan nor in the state.",
				Validators: []validator.String{values.Secret, stringvalidator.AlsoRequires(path.MatchRoot("auth_pass_wo_version"))}},
			"auth_pass_wo_version": schema.Int64Attribute{Optional: true, MarkdownDescription: "Raise it to have a new `auth_pass_wo` put in place.",
				Validators: []validator.Int64{values.Between(math.MinInt64, math.MaxInt64), int64validator.AlsoRequires(path.MatchRoot("auth_pass_wo"))}},
			"unicast":       values.Flag.Default(true, "Whether the members speak to each other by their addresses, which works on every network, or to a multicast group. Default: `true`. A lone member always uses multicast, so that an import of one finds `true`."),
			"preempt":       values.Flag.Default(true, "Whether a member with a higher priority takes the addresses from one that holds them. Default: `true`."),
			"preempt_delay": values.Between(0, 1000).Default(0, "Seconds that a member waits after its start before it takes the addresses from another. Default: 0."),
			"sync_group":    values.Name.Optional("Instances with the same sync group on the same service nodes fail over together. Give them the same priorities."),
			"members":       membersSchema(),
			"instances":     instancesSchema(),
			"track":         trackSchema(),
			"garp":          garpSchema(),
			"owner": schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the member that holds the addresses; null when none does. One that hands them over for up to a minute and a half, while an HAProxy frontend at them goes, keeps the name. `instances[owner].service_node` is its service node. " +
				"With `preempt = false` the addresses stay where they were handed over to: let `members` refer to the frontends at them (`service_node = virtcluster_haproxy_frontend.api[each.key].service_node`), so that the plan knows. " +
				"A frontend that the VIP does not refer to may be planned after it: when such a one is replaced or removed, the next plan may show the new owner, and an output of it as changed, with nothing to do."},
			"timeouts": crud.TimeoutsAttribute(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true}),
		},
	}
}

// mostPriority is the highest that a member may have: 255 is that of the router whose own the addresses are (RFC 5798, section 5.2.4).
const mostPriority = 254

// memberName is what a member may be called.
var memberName = values.New("name of a member", "svc-1", keepalived.CheckMemberName)

// membersSchema has the members as they are written. What may be left out of one is computed for the sake of an import alone, whose state
// has all of it: a plan keeps that where it means the same.
func membersSchema() schema.Attribute {
	return values.Objects().Keys(memberName).Some().RequiredMapOf("The machines that share the addresses by name, at least two to be of use. "+
		"It stays as it is written; `instances` has the defaults too, and what the machines have.", values.Attributes{
		"service_node": values.Endpoint.Required("`id` of a `virtcluster_service_node`."),
		"interface":    values.Device.Required("Network device that gets the virtual addresses and speaks VRRP."),
		"address": values.Address.OptionalComputed("The machine's own address, that VRRP is spoken from. Default: the interface's address in the virtual addresses' network, whichever that is at present. " +
			"Over IPv6 a link-local one will do where `unicast` is `false`."),
		"priority": values.Between(1, mostPriority).OptionalComputed("1 to 254; the highest holds the addresses. Default: 250, 240, 230 … in the order of the names, and for a member that comes later less than all that are there. " +
			"It is kept while other members come and go. A member takes over from one that stops after (256 - priority)/256 of `advert_int`, so high ones are quick."),
		"state": values.OneOf("MASTER", "BACKUP").OptionalComputed("State that keepalived starts in: `BACKUP` (default) or `MASTER`."),
	})
}

func instancesSchema() schema.Attribute {
	return schema.MapNestedAttribute{
		Computed:            true,
		MarkdownDescription: "The VRRP instance of each member as its machine has it, by the member's name: `members` with all defaults.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"service_node": schema.StringAttribute{Computed: true, MarkdownDescription: "`id` of the service node."},
			"interface":    schema.StringAttribute{Computed: true, MarkdownDescription: "Network device."},
			"address":      schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{values.Address.KeepSpelling()}, MarkdownDescription: "Address that VRRP is spoken from; null where the machine has lost it."},
			"priority":     schema.Int64Attribute{Computed: true, MarkdownDescription: "Priority; 0 where keepalived does not run."},
			"state":        schema.StringAttribute{Computed: true, MarkdownDescription: "State that keepalived starts in."},
		}},
	}
}

func trackSchema() schema.Attribute {
	return values.Objects().OptionalListOf("What a member's priority depends on: each is a script (a command line or its content), an interface or a process.", values.Attributes{
		"name":           values.Word.Required("Name of the check."),
		"script":         values.Line.Optional("Command line, beginning with a program's full path, or with its name alone where keepalived finds it in its `PATH`; all is well while it ends with status 0. It runs without a shell (see `script_content`), with script security on: nobody but root may be able to write to the program or the directories above it, and to keepalived 2.3 none of them may be a symbolic link, as `/bin` is one: write `/usr/bin/…`."),
		"script_content": values.Text.Optional("A whole script, beginning with a line such as `#!/bin/sh`. It is put on the machines below `/etc/keepalived/virtcluster`, owned by root and executable, and goes with the VIP."),
		"interface":      values.Device.Optional("Network device that must be up."),
		"process":        values.Line.Optional("Name of a program that must run. keepalived hears of its end from the kernel, which tells nobody inside a container: have a `script` look there."),
		"interval":       values.Seconds(1).Default(1, "Seconds between two runs of the script. Default: 1."),
		"timeout":        values.Seconds(1).Optional("Seconds after which a run of the script has failed. Default: the interval."),
		"weight":         values.Between(-253, 253).Default(0, "Added to the priority: a positive one while all is well, a negative one while it is not. With 0 (default) a member that fails the check cannot hold the addresses."),
		"rise":           values.Between(1, math.MaxInt32).Default(1, "Successful runs after which the script counts as well. Default: 1."),
		"fall":           values.Between(1, math.MaxInt32).Default(1, "Failed runs after which it does not. Default: 1."),
		"user":           values.Word.Default("root", "User that runs the script. Default: `root`."),
	})
}

func garpSchema() schema.Attribute {
	number := func(least int64, text string) schema.Attribute {
		return values.Seconds(least).Optional(text)
	}
	return values.OptionalObject("Gratuitous ARP (and its IPv6 counterpart), by which a new owner tells the segment. Default: keepalived's.", values.Attributes{
		"master_delay":          number(1, "Seconds after which a new owner repeats them. keepalived's default: 5."),
		"master_repeat":         number(1, "How many are sent at a time, at least 1. keepalived's default: 5."),
		"master_refresh":        number(0, "Seconds between refreshes while a member is owner; 0 is none. keepalived's default: 0."),
		"master_refresh_repeat": number(1, "How many are sent at each refresh, at least 1. keepalived's default: 1."),
		"lower_prio_delay":      number(0, "Seconds after which an owner repeats them when it heard a member with a lower priority. keepalived's default: `master_delay`."),
		"lower_prio_repeat":     number(0, "How many are sent then. keepalived's default: `master_repeat`."),
	})
}
