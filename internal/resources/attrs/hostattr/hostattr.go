// Package hostattr is what the resources of a machine's own network have in common: the attribute that names the machine, ids,
// and how the machine is reached.
package hostattr

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

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
