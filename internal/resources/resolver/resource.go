// Package resolver is the resource virtcluster_resolver.
package resolver

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/resolver"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, resolver.Resolver]{
		Name:   "resolver",
		Noun:   "resolver of",
		Label:  func(m *model) string { return m.Host.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"host"},
		ID:     func(m *model) string { return m.Host.ValueString() },
		Split: func(m *model, id string) error {
			if id == "" {
				return errors.New("write HOST, such as \"ssh://root@10.0.0.100\" or \"local:\"")
			}
			m.Host = types.StringValue(id)
			return nil
		},
		Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[resolver.Resolver], error) {
			return openStore(ctx, at, m)
		},
		Plan: planChange,
	})
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (*resolver.Store, error) {
	site, err := hostattr.Open(ctx, at, m.Host)
	if err != nil {
		return nil, err
	}
	return resolver.Open(site, m.Host.ValueString(), at.Claim), nil
}

// planChange chooses the backend, as far as the machine is there already, and finds what would keep it from being configured.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if at.Fleet == nil || m.Host.IsUnknown() {
		return
	}
	want, _ := convert.Plain[resolver.Resolver](m)
	what := "the resolver of " + m.Host.ValueString()
	if done, ok := hostattr.Preview(ctx, func() (*resolver.Store, error) { return openStore(ctx, at, m) }, want, what, path.Root("host"), req, resp); ok {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("active_backend"), done.ActiveBackend)...)
	}
}

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

type model struct {
	ID            types.String `tfsdk:"id"`
	Host          types.String `tfsdk:"host"`
	Nameservers   types.List   `tfsdk:"nameservers"`
	Search        types.List   `tfsdk:"search"`
	Domains       types.List   `tfsdk:"domains"`
	Backend       types.String `tfsdk:"backend"`
	ActiveBackend types.String `tfsdk:"active_backend"`
}
