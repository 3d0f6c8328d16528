package resolver

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/resolver"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func resourceSchema(context.Context) schema.Schema {
	domains := []validator.List{values.Each(values.HostName).Some().Distinct()}
	return schema.Schema{
		MarkdownDescription: "Whom a machine asks for names: so that the hypervisor, or an administrator's own machine, resolves the names of a cluster. " +
			"It is written for what resolves names there, and what the machine had counts again when this is destroyed. A machine has one.",
		Attributes: map[string]schema.Attribute{
			"id":          hostattr.ID("HOST"),
			"host":        hostattr.Host(),
			"nameservers": values.Each(values.Address).Some().Distinct().RequiredList("Addresses of the name servers; at most three with backend `resolv.conf`.", values.Each(values.Address).KeepSpelling()),
			"search":      schema.ListAttribute{Optional: true, ElementType: types.StringType, Validators: domains, MarkdownDescription: "Domains that are appended to short names."},
			"domains": schema.ListAttribute{Optional: true, ElementType: types.StringType, Validators: domains, MarkdownDescription: "The domains, with what is below them, that these name servers alone are asked about; for every other name the machine's own are asked too. " +
				"Default: these name servers are asked about every name. It takes systemd-resolved, or NetworkManager with `dns=dnsmasq`."},
			"backend": values.OneOf(resolver.Auto, resolver.Resolved, resolver.NetworkManager, resolver.File).Default(resolver.Auto, "What resolves the machine's names: `systemd-resolved` (a file in `/etc/systemd/resolved.conf.d`), `networkmanager` (one in `/etc/NetworkManager`), or `resolv.conf` (`/etc/resolv.conf` itself, where nothing else writes it: what a person wrote there becomes comments, and comes back; a hook in `/etc/dhcp/dhclient-enter-hooks.d` keeps dhclient from writing it meanwhile, and the plan warns of other clients that do). "+
				"`auto` (default) is what writes `/etc/resolv.conf` now; `active_backend` says which in the plan."),
			"active_backend": schema.StringAttribute{Computed: true, MarkdownDescription: "What resolves the machine's names."},
		},
	}
}
