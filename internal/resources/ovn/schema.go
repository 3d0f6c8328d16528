package ovn

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn/engine"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// usualCertificates last a year, and are renewed by who applies once a month.
var usualCertificates = engine.Certificates{ValidFor: "8760h", RenewBefore: "1440h"}

func resourceSchema(context.Context) schema.Schema {
	stays := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	period := func(least time.Duration, usual, what string) schema.StringAttribute {
		d := values.Duration(least, 20*365*24*time.Hour)
		return d.Default(usual, what+" Default: `\""+usual+"\"`.", d.KeepSpelling())
	}
	certificates := schema.SingleNestedAttribute{
		Optional: true, Computed: true, Default: objectdefault.StaticValue(convert.Value(usualCertificates).(types.Object)),
		MarkdownDescription: "How long the certificates of `tls` last. One that is due has `serving` be `false`, and the next apply renews it: connections go on, and packets of guests do not depend on them.",
		Attributes: map[string]schema.Attribute{
			"valid_for":    period(time.Second, usualCertificates.ValidFor, "How long a certificate lasts that is made from now on."),
			"renew_before": period(0, usualCertificates.RenewBefore, "How long before its end a certificate is renewed."),
		},
	}
	return schema.Schema{
		MarkdownDescription: "OVN over several machines: its databases on one or three of them, and hypervisors, its chassis, whose guests are on its networks wherever they run. " +
			"The resource installs what is missing, enables and starts the packages' units, has the chassis send to each other by Geneve and follow the databases, and waits until they do. " +
			"The machines are of Debian's family, and reached by SSH as root, or `local:`. " +
			"The chassis reach the southbound database at TCP port 6642, and each other at UDP port 6081 of their tunnel addresses. Where firewalld or ufw runs, it is told to let these through, by rules of their own that are marked (of firewalld by priority -6081 and -6642, of ufw by a comment) and go with the resource. What guests send is not encrypted on the underlay.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{Computed: true, PlanModifiers: stays, MarkdownDescription: "The endpoint of the machine with the databases that was written first when the resource was made, which is also what import takes, and other resources for `ovn`. It stays when others come to it: what refers to it asks whichever of them leads."},
			"central": values.Each(values.Endpoint).Some().Distinct().RequiredList("Machines that have the databases: one, or three, of which one may fail. Each is an endpoint such as `ssh://root@10.0.0.100`, or the id of a `virtcluster_service_node`, and may be a chassis too. "+
				"One becomes three in place, and three become one: chassis and guests go on meanwhile. Of three one may be written for another; the one that `id` names stays. Their order says nothing. Another single one replaces the resource. "+
				"Of three each has an address in its endpoint, at which TCP ports 6641, 6643, 6644 and 16642 are for the others alone, which a table of nftables sees to, and 6642 is for chassis.", keepCentral{}),
			"address": values.Address.OptionalComputed("Address of the machine that `id` names at which the chassis reach it. Default: that of its endpoint. It stays while the databases are on three machines: write one endpoint in `central` to change it.", append([]planmodifier.String{values.Address.KeepSpelling()}, stays...)...),
			"chassis": values.Objects().Keys(values.Name).OptionalMapOf("Machines whose guests are on OVN's networks, by names of your own. They come and go in place. One that goes hands over to others what routers lead out by it, and is refused while it has guests, which are named, or is the only way out of a router; then its rows in the databases go, and its machine is as it was before. One whose machine is gone for good is only taken out of the databases.", values.Attributes{
				"endpoint":        values.Endpoint.Required("The machine, such as `ssh://root@kvm1.example`."),
				"hypervisor":      values.Name.Optional("Which of the provider's `hypervisors` it is, for what draws and checks topologies."),
				"tunnel_ip":       values.Address.Required("Its address on the underlay, where other chassis send to.", values.Address.KeepSpelling()),
				"bridge_mappings": values.Each(values.Device).Keys(values.Name).OptionalMap("Bridges of Open vSwitch that are there, by the names that networks in mode `bridge` have for what is behind them: `{ lan = \"br-ex\" }`."),
				"id":              schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{keepChassisID{}}, MarkdownDescription: "What OVN calls the chassis: Open vSwitch's `system-id` of the machine."},
			}),
			"datapath":         values.OneOf(engine.System, engine.Userspace).Default(engine.System, "What forwards packets: `system` (the kernel) or `userspace` (Open vSwitch itself, where the kernel has no module of it; the tunnel address is on a bridge of that datapath then, with the underlay's device in it). With `userspace`, a chassis' datapath does not say that it can do `ct_zero_snat`, by which Open vSwitch 3.1.0 can abort: the resource has its row in Open vSwitch's database say so, and a file of `ovs-vswitchd`'s unit after each start. Default: `system`."),
			"underlay_mtu":     values.Between(576+ovn.Tunnel, 65535).OptionalComputed("Largest packet in bytes that chassis can send to each other. It is tried between all of them. Default: the least of their devices', looked up with the first chassis, and again when a device takes less.", int64planmodifier.UseStateForUnknown()),
			"install_packages": values.Flag.Default(true, "Whether what is missing may be installed: `ovn-central`, `ovn-host` and `openvswitch-switch`. Without it a plan says what machines lack, and the command that installs that. Packages stay when the resource goes; what runs from them is as it was before. Default: `true`."),
			"tls": values.Flag.Default(true, "Whether databases and chassis prove to each other who they are, by TLS, and a chassis may change only what is its own (OVN's role `ovn-controller`). The authority's key stays on the machines with databases, "+
				"in `/var/lib/virtcluster/ovn`, as those of certificates do on each machine. Default: `true`. Without it anyone who reaches the southbound database may change it."),
			"certificates": certificates,
			"mtu":          schema.Int64Attribute{Computed: true, PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()}, MarkdownDescription: "Largest packet of guests in bytes: the underlay's less the 58 that a tunnel takes."},
			"northbound":   schema.StringAttribute{Computed: true, PlanModifiers: stays, MarkdownDescription: "Where the northbound database is reached, by SSH: the socket of each machine that has it, such as `ssh://root@10.0.0.100/run/ovn/ovnnb_db.sock`, with commas between several."},
			"southbound":   schema.StringAttribute{Computed: true, PlanModifiers: stays, MarkdownDescription: "Where chassis reach the southbound database, in OVN's words: `ssl:10.0.0.100:6642`, with commas between several."},
			"versions": schema.MapAttribute{
				Computed: true, ElementType: types.StringType, PlanModifiers: []planmodifier.Map{mapplanmodifier.UseStateForUnknown()},
				MarkdownDescription: "Versions of `ovn`, on the machine with the databases, and of `openvswitch`.",
			},
			"serving": crud.ServingAttribute("all of OVN"),
		},
	}
}
