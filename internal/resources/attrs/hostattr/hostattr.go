// Package hostattr is what the resources of a machine's own network have in common: the attribute that names the machine, ids,
// and how the machine is reached.
package hostattr

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// HostKeyText says how the host key of a machine is known.
const HostKeyText = "The host key of an SSH endpoint is the one of `?host_key=` behind it, or that of `~/.ssh/known_hosts`; the id of a service node carries its own."

// Host is the attribute that names the machine.
func Host() schema.StringAttribute {
	return values.Endpoint.Required("Endpoint of the machine: `ssh://[user@]host[:port]`, `local:`, `qemu-ga://[hypervisor]/domain`, or the id of a `virtcluster_service_node`. "+HostKeyText, OtherMachineReplaces()...)
}

// ServiceNode is the attribute that names the machine where a daemon runs.
func ServiceNode(daemon string) schema.StringAttribute {
	return values.Endpoint.Required("Machine that "+daemon+" runs on: the `id` of a `virtcluster_service_node`. Another one makes a new resource.", OtherMachineReplaces()...)
}

// Open returns the machine that an endpoint names.
func Open(ctx context.Context, at crud.StoreContext, endpoint types.String) (hostnet.Site, error) {
	h, err := at.Fleet.Host(ctx, endpoint.ValueString())
	if err != nil {
		return hostnet.Site{}, err
	}
	fresh := func(ctx context.Context) (host.Host, error) { return at.Fleet.FreshHost(ctx, endpoint.ValueString()) }
	return hostnet.Site{Host: h, Fresh: fresh}, nil
}

// Address reads an address without a zone; ok is false where the text is unknown or null.
func Address(v attr.Value) (a netip.Addr, ok bool, err error) {
	text, isText := v.(types.String)
	if !isText || text.IsUnknown() || text.IsNull() {
		return a, false, nil
	}
	if a, err = netip.ParseAddr(text.ValueString()); err == nil && a.Zone() != "" {
		err = errors.New("a zone has no meaning here")
	}
	if err != nil {
		return a, false, fmt.Errorf("write an address such as \"10.0.0.1\" or \"2001:db8::1\", not %q", text.ValueString())
	}
	return a, true, nil
}

// ID is the attribute of the id; form says what that looks like: "HOST#NAME".
func ID(form string) schema.StringAttribute {
	return values.KeptText("`" + form + "`, which is also what import takes.")
}

// Reference is a machine as ids and the plan's registry have it, whichever of its references is given; "" while it is not known.
func Reference(machine types.String) string { return host.ShortenReferences(machine.ValueString()) }

// Endpoint is a reference to a machine as messages have it: without its host key.
func Endpoint(reference string) string {
	endpoint, _, _ := strings.Cut(reference, "?")
	return endpoint
}

// JoinID is the id of a thing on a machine: MACHINE#REST.
func JoinID(machine types.String, rest string) string { return Reference(machine) + "#" + rest }

// SplitID is the inverse of JoinID: no reference to a machine has a number sign. The error says what an id looks like.
func SplitID(id, form string) (machine types.String, rest string, err error) {
	place, rest, ok := strings.Cut(id, "#")
	if !ok || place == "" || rest == "" {
		word, _, _ := strings.Cut(form, "#")
		return types.StringNull(), "", fmt.Errorf("write %s, where %s is the id of a virtcluster_service_node or an endpoint such as ssh://root@10.0.0.100", form, word)
	}
	return types.StringValue(place), rest, nil
}

// SplitName is SplitID into the attributes of a model whose id is a machine and a name, after what the form has before it:
// SERVICE_NODE#backend/NAME.
func SplitName(id, form string, machine, name *types.String) error {
	place, rest, err := SplitID(id, form)
	if err != nil {
		return err
	}
	rest, ok := strings.CutPrefix(rest, fixedWords(form))
	if !ok || rest == "" {
		return fmt.Errorf("write %s", form)
	}
	*machine, *name = place, types.StringValue(rest)
	return nil
}

// FormatID is the id of a thing on a machine, by the form of such ids and its name, if it has one.
func FormatID(form string, machine, name types.String) string {
	return JoinID(machine, fixedWords(form)+name.ValueString())
}

// fixedWords are what all ids of a form have behind the machine: "backend/" of SERVICE_NODE#backend/NAME.
func fixedWords(form string) string {
	_, rest, _ := strings.Cut(form, "#")
	return strings.TrimRight(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}

// OtherMachineReplaces are the plan modifiers of an attribute that names a machine, or something on one by its id: another one makes
// a new resource, and another spelling of the same one is no change.
func OtherMachineReplaces() []planmodifier.String {
	return []planmodifier.String{KeepReference(), stringplanmodifier.RequiresReplace()}
}

// KeepReference is the plan modifier of such an attribute where another machine is a change in place.
func KeepReference() planmodifier.String { return keepReference{} }

// keepReference plans the reference that the state has where the configuration has another one to the same machine, such as one
// with all of the host key's fingerprint.
type keepReference struct{ values.Undescribed }

func (keepReference) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if !req.StateValue.IsNull() && convert.Known(req.PlanValue) && host.SameReference(req.StateValue.ValueString(), req.PlanValue.ValueString()) {
		resp.PlanValue = req.StateValue
	}
}

// DeviceAttributes are those of every device that this provider configures: what keeps it, and how long a change may take to prove
// itself. what is "bridge" or "interface".
func DeviceAttributes(what string, rollback time.Duration) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"mtu": values.Between(1280, 65535).Optional("MTU in bytes, 1280, which IPv6 needs at least, to 65535; that of a bridge is its interfaces' too. Default: as it is."),
		"backend": values.OneOf(hostnet.Auto, hostnet.NetworkManager, hostnet.Networkd, hostnet.Netplan, hostnet.Ifupdown, hostnet.Runtime).Default(hostnet.Auto, "What keeps the "+what+" over reboots of its machine: `networkmanager`, `systemd-networkd`, `netplan` (where it renders for systemd-networkd) or `ifupdown`, by files beside the machine's own, which count again when the "+what+" is destroyed. "+
			"`runtime` works on every Linux and is gone after a reboot: the next apply makes it again. `auto` (default) is what manages the interfaces now, and `runtime` where nothing does; `active_backend` says which in the plan."),
		"rollback_timeout": values.Between(5, 3600).Default(int64(rollback/time.Second), "Seconds after which the machine has gone back by itself unless it could be reached again. Default: 60; 5 to 3600."),
		"active_backend":   schema.StringAttribute{Computed: true, MarkdownDescription: "What keeps the " + what + ". Another one makes it anew."},
		"active_addresses": schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "The addresses that the " + what + " has, with prefix lengths."},
	}
}

// Device is the part of a resource's model that goes with DeviceAttributes.
type Device struct {
	MTU             types.Int64  `tfsdk:"mtu"`
	Backend         types.String `tfsdk:"backend"`
	RollbackTimeout types.Int64  `tfsdk:"rollback_timeout"`
	ActiveAddresses types.List   `tfsdk:"active_addresses"`
	ActiveBackend   types.String `tfsdk:"active_backend"`
}

// Rollback is the timeout.
func (d *Device) Rollback() time.Duration {
	return time.Duration(d.RollbackTimeout.ValueInt64()) * time.Second
}

// FillDevice writes what the machine has.
func (d *Device) FillDevice(mtu int, backend, active string, rollback time.Duration) {
	d.MTU, d.Backend, d.ActiveBackend = numberOrNull(mtu), types.StringValue(backend), types.StringValue(active)
	d.RollbackTimeout = types.Int64Value(int64(rollback / time.Second))
}
