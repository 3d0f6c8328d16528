// Package address is the resource virtcluster_address.
package address

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/exposureattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like.
const form = exposureattr.PoolForm + "/KEY"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, addresspool.Address]{
		Name:    "address",
		Noun:    "address",
		Label:   func(m *model) string { return m.Key.ValueString() },
		Schema:  resourceSchema,
		Key:     []string{"pool", "key"},
		ID:      formatID,
		Split:   splitID,
		Listing: crud.Listing{Across: listDrawn},
		Spec:    func(_ context.Context, m *model) (addresspool.Address, diag.Diagnostics) { return m.toSpec() },
		Fill: func(_ context.Context, m *model, got addresspool.Address) diag.Diagnostics {
			m.IP = types.StringValue(got.IP.String())
			return nil
		},
		Open: openStore,
	})
}

type model struct {
	ID   types.String `tfsdk:"id"`
	Pool types.String `tfsdk:"pool"`
	Key  types.String `tfsdk:"key"`
	IP   types.String `tfsdk:"ip"`
}

func resourceSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "An address of a `virtcluster_address_pool`, drawn for a key. The key keeps its address for as long as the resource is there, and gets it again " +
			"when it comes back later, unless the pool ran out meanwhile.",
		Attributes: map[string]schema.Attribute{
			"id":   hostattr.ID(form),
			"pool": exposureattr.Pool.Required("The `id` of a `virtcluster_address_pool`, of this state or another. Another one replaces the resource.", hostattr.OtherMachineReplaces()...),
			"key":  values.Word.Required("What the address is for, unique in the pool: `okd/api`. Another one replaces the resource.", stringplanmodifier.RequiresReplace()),
			"ip":   values.Address.OptionalComputed("The address. Default: one that the pool chooses, the lowest that no key had before. Another one replaces the resource.", values.Address.KeepSpelling(), stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplaceIfConfigured()),
		},
	}
}

func formatID(m *model) string {
	return host.ShortenReferences(m.Pool.ValueString()) + "/" + m.Key.ValueString()
}

func splitID(m *model, id string) error {
	node, rest, err := hostattr.SplitID(id, form)
	if err != nil {
		return err
	}
	pool, key, ok := strings.Cut(rest, "/")
	if !ok || pool == "" || key == "" {
		return fmt.Errorf("write %s", form)
	}
	m.Pool, m.Key = types.StringValue(hostattr.JoinID(node, pool)), types.StringValue(key)
	return nil
}

func (m *model) toSpec() (addresspool.Address, diag.Diagnostics) {
	var diags diag.Diagnostics
	_, pool, err := hostattr.SplitID(m.Pool.ValueString(), exposureattr.PoolForm)
	if err != nil && !m.Pool.IsUnknown() {
		diags.AddAttributeError(path.Root("pool"), "Not a pool", "write the id of a virtcluster_address_pool: "+exposureattr.PoolForm)
	}
	ip, _, err := hostattr.Address(m.IP)
	if err != nil {
		diags.AddAttributeError(path.Root("ip"), "Invalid address", err.Error())
	}
	return addresspool.Address{Pool: pool, Key: m.Key.ValueString(), IP: ip}, diags
}

// listDrawn lists what is drawn from the pools of machines, whoever drew it, but what exposures did: these go with them.
func listDrawn(ctx context.Context, at crud.StoreContext, machines []string) (ids []string, err error) {
	for _, machine := range machines {
		t, err := crud.Snapshot(ctx, at, machine, addresspool.Daemon{})
		if part.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, pool := range addresspool.ListNames(t) {
			keys, err := addresspool.ListKeys(t, pool)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", host.WithoutKey(machine), err)
			}
			for _, key := range keys {
				if !exposureattr.IsKeyOfExposure(key) {
					ids = append(ids, host.ShortenReferences(hostattr.JoinID(types.StringValue(machine), pool))+"/"+key)
				}
			}
		}
	}
	return ids, nil
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[addresspool.Address], error) {
	return exposureattr.OpenAddress(ctx, at, m.Pool, m.Key.ValueString())
}
