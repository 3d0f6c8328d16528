package servicenode

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func resourceSchema(ctx context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A machine that runs DNS, load balancing, virtual addresses, NFS or packet filtering for the cluster: a virtual machine, a physical one, or the one that Terraform runs on. " +
			"Creating it waits until the machine answers and cloud-init is done, installs what is missing and enables the units; everything else is done by the resources that name it as their `service_node`. " +
			"Destroying it, or taking a service out, puts units and configuration back as they were and leaves the packages installed. " +
			"A daemon that did not run before goes on where others have written something into its configuration since. " +
			"What other states or resources still have on the machine stays and serves, and the destroy says so: the last one that leaves gives the machine back.\n\n" +
			"The login must be root or may use `sudo` without a password. The machine needs systemd and a POSIX shell, nothing else.\n\n" +
			"A machine whose host key changed is refused, with both fingerprints. A machine that is gone for good cannot be given back: take it out of the state with `terraform state rm`, it and what lived on it.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "The endpoint with a safe prefix of the pinned host key's fingerprint, 16 characters (96 bits) in the base64 of URLs: what other resources take as `service_node`. Known while planning where `host_key` is given. One with all of the fingerprint is taken too.",
			},
			"endpoint": values.Endpoint.Required("How the machine is reached: `ssh://[user@]host[:port][?proxy_jump=[user@]host[:port]]` (several jumps separated by commas), `local:` for the machine that Terraform runs on, or "+
				"`qemu-ga://[hypervisor]/domain` for the guest agent of a virtual machine, which works where no network leads to it. User, port, key and jump come from the provider's `ssh` and `~/.ssh/config` where they are not given here. "+
				"Another endpoint replaces the resource.", keepSpelling{}, stringplanmodifier.RequiresReplaceIf(otherEndpoint, "another endpoint is another machine", "another endpoint is another machine")),
			"services": schema.SetAttribute{
				ElementType: types.StringType, Optional: true, Computed: true,
				Default: setdefault.StaticValue(types.SetValueMust(types.StringType, []attr.Value{})),
				MarkdownDescription: "What the machine runs: `bind`, `chrony`, `haproxy`, `ipxe`, `kea`, `keepalived`, `nfs`, `nftables`, `registry`, `shim`. Default: none. " +
					"A service that is no longer installed or whose unit is no longer enabled shows as missing here. BIND and HAProxy are started at once; the others when they get something to do.",
				Validators: []validator.Set{values.Each(values.OneOf(provision.Names()...))},
			},
			"install_packages": values.Flag.Default(true, "Whether to install the packages of services that are missing, by apt or dnf. Nothing is installed or updated where the daemons are there. Where another package would have to go it is an error that names that, but for Debian's `systemd-timesyncd`, which `chrony` replaces: it is installed again when `chrony` is given back. Default: `true`. Otherwise a missing daemon is an error that names it."),
			"host_key": schema.StringAttribute{
				Optional: true, Computed: true,
				MarkdownDescription: "The machine's SSH host key: a fingerprint (`SHA256:…`) or a public key (`ssh-ed25519 AAAA…`, as `ssh-keyscan` prints it). Recommended: nobody else can then answer in the machine's place the first time, and everything that follows from `id` is known while planning. " +
					"`ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` prints it on the machine; `ssh-keyscan` asks over the network, so compare what it says; and a virtual machine gets a key that you make from cloud-init (`ssh_keys`, see the example). " +
					"Default: the key that `known_hosts` has for the machine, or else the one that it shows when the resource is created; from then on no other key is accepted. Another key replaces the resource.",
				Validators: []validator.String{values.Line, hostattr.HostKey{}},
			},
			"os": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "The machine's distribution, such as `Debian GNU/Linux 12 (bookworm)`.",
			},
			"versions": schema.MapAttribute{
				ElementType: types.StringType, Computed: true,
				MarkdownDescription: "The version of each of the services, such as `{ haproxy = \"2.6.12\" }`.",
			},
			"timeouts": crud.TimeoutsAttribute(ctx, timeouts.Opts{
				Create: true, Read: true, Update: true, Delete: true,
				CreateDescription: "How long to wait until the machine answers, cloud-init is done and the packages are installed, as a duration. Default: `10m`.",
				ReadDescription:   "How long reading may take, as a duration. Default: `2m`.",
				UpdateDescription: "How long a change may take, packages included, as a duration. Default: `10m`.",
				DeleteDescription: "How long giving the machine back may take, as a duration. Default: `5m`.",
			}),
		},
	}
}
