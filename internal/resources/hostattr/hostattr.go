// Package hostattr is what the resources of a machine's own network have in common: the attribute that names the machine, ids,
// and how the machine is reached.
package hostattr

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// ID is the attribute of the id.
func ID(form string) schema.StringAttribute {
	return schema.StringAttribute{
		Computed: true, MarkdownDescription: "`" + form + "`.", PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

// Host is the attribute that names the machine.
func Host() schema.StringAttribute {
	return schema.StringAttribute{
		Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
		MarkdownDescription: "Endpoint of the machine: `ssh://[user@]host[:port]`, `local:`, `qemu-ga://[hypervisor]/domain`, or the id of a `virtcluster_service_node`.",
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
	}
}

// JoinID is HOST#REST.
func JoinID(host types.String, rest string) string { return host.ValueString() + "#" + rest }

// SplitID takes HOST#REST apart.
func SplitID(id, form string) (host types.String, rest string, err error) {
	place, rest, ok := strings.Cut(id, "#")
	if !ok || place == "" || rest == "" {
		return host, "", fmt.Errorf("write %s, such as \"ssh://root@10.0.0.100#…\"", form)
	}
	return types.StringValue(place), rest, nil
}

// Open returns the machine that an endpoint names.
func Open(ctx context.Context, at crud.Opening, endpoint types.String) (hostnet.Site, error) {
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
