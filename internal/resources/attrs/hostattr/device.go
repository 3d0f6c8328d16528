package hostattr

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

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
