// Package drain has the actions virtcluster_drain and virtcluster_undrain: HAProxy's servers at some addresses take no new connections, and
// take some again.
package drain

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// New makes the action that drains.
func New() action.Action {
	attributes := serverAttributes()
	attributes["timeout"] = schema.StringAttribute{
		Optional: true, Validators: []validator.String{values.Duration(0, 24*time.Hour)},
		MarkdownDescription: "How long the connections that there are may take to end, as a duration. Where some have not ended by then the action fails: they go on, and the servers take no new ones until they are undrained. `\"0s\"` does not wait. Default: `60s`.",
	}
	return crud.NewAction(crud.Action[drainModel]{
		Name: "drain", Check: checkServers[drainModel], Do: drainServers,
		Schema: schema.Schema{
			MarkdownDescription: "Has HAProxy send no new connections to the servers at some addresses, in all backends, and waits until those that there are have ended: before a machine is worked on. By `terraform apply -invoke=action.virtcluster_drain.NAME`, or from an `action_trigger` of a resource. Terraform 1.14 and later. " +
				"Servers that drain or are off already stay so, the former are waited for too, and where there is none it is success. HAProxy's configuration stays as it is, and a reload keeps the order. The next apply of a `virtcluster_haproxy_backend` with such a server, or of a `virtcluster_exposed_service` with such a target has it take connections again: a plan shows the order as a change. A node with `rollout` drains its servers by itself in its turn.",
			Attributes: attributes,
		},
	})
}

// NewUndrain makes the action that ends it.
func NewUndrain() action.Action {
	return crud.NewAction(crud.Action[model]{
		Name: "undrain", Check: checkServers[model], Do: undrainServers,
		Schema: schema.Schema{
			MarkdownDescription: "Has HAProxy's servers at some addresses take connections again, in all backends: what `virtcluster_drain`, or an operator at the runtime API, has drained. By `terraform apply -invoke=action.virtcluster_undrain.NAME`, or from an `action_trigger` of a resource. Terraform 1.14 and later. " +
				"Servers that are off (`maint`) stay so, and where there is none it is success.",
			Attributes: serverAttributes(),
		},
	})
}

func serverAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"service_nodes": schema.ListAttribute{
			Required: true, ElementType: types.StringType, Validators: []validator.List{values.Each(values.Endpoint).Some()},
			MarkdownDescription: "Machines that run HAProxy: the `id`s of `virtcluster_service_node`s.",
		},
		"addresses": schema.ListAttribute{
			Required: true, ElementType: types.StringType, Validators: []validator.List{values.Each(values.Address).Some()},
			MarkdownDescription: "Addresses that the servers have, such as `values(virtcluster_node.master.addresses)`.",
		},
	}
}

type model struct {
	ServiceNodes types.List `tfsdk:"service_nodes"`
	Addresses    types.List `tfsdk:"addresses"`
}

type drainModel struct {
	ServiceNodes types.List   `tfsdk:"service_nodes"`
	Addresses    types.List   `tfsdk:"addresses"`
	Timeout      types.String `tfsdk:"timeout"`
}

// order is a model in plain values.
type order struct {
	ServiceNodes []string     `attr:"service_nodes"`
	Addresses    []netip.Addr `attr:"addresses"`
	Timeout      string       `attr:"timeout"`
}

// defaultTimeout is how long connections may take to end.
const defaultTimeout = time.Minute

// checkServers refuses service nodes whose HAProxy takes no orders. One that cannot be asked, as it is not there yet, may take them later.
func checkServers[M any](ctx context.Context, p crud.ProviderData, m *M) diag.Diagnostics {
	o, diags := convert.Plain[order](m)
	err := o.visitServiceNodes(ctx, p, func(ctx context.Context, h host.Host, t transaction.Tree) error {
		if len(t) == 0 {
			return nil
		}
		if _, err := haproxy.FindServers(ctx, h, t, o.Addresses); errors.Is(err, haproxy.ErrNoSocket) {
			return err
		}
		return nil
	})
	if errors.Is(err, haproxy.ErrNoSocket) {
		diags.Append(newFailure(err))
	}
	return diags
}

// drainServers drains, and waits for the connections to end.
func drainServers(ctx context.Context, p crud.ProviderData, m *drainModel, report func(string)) diag.Diagnostics {
	o, diags := convert.Plain[order](m)
	limit := defaultTimeout
	if o.Timeout != "" {
		limit, _ = time.ParseDuration(o.Timeout) // the schema has checked it
	}
	deadline := time.Now().Add(limit)
	err := o.visitServiceNodes(ctx, p, func(ctx context.Context, h host.Host, t transaction.Tree) error {
		before, err := haproxy.FindDraining(ctx, h, t, o.Addresses)
		if err != nil {
			return err
		}
		servers, err := haproxy.FindServers(ctx, h, t, o.Addresses)
		if err == nil {
			err = haproxy.DrainServers(ctx, h, t, servers)
		}
		if err != nil {
			return err
		}
		report(describeServers(h, servers, "drain", "no server takes connections there"))
		left, err := haproxy.WaitEnded(ctx, h, t, append(before, servers...), time.Until(deadline))
		if err == nil && left > 0 && limit > 0 {
			err = fmt.Errorf("%d connections to the drained servers on %s have not ended in %s: they go on, and no new ones are begun", left, h, limit)
		}
		return err
	})
	if err != nil {
		diags.Append(newFailure(err))
	}
	return diags
}

// undrainServers has what drains take connections.
func undrainServers(ctx context.Context, p crud.ProviderData, m *model, report func(string)) diag.Diagnostics {
	o, diags := convert.Plain[order](m)
	err := o.visitServiceNodes(ctx, p, func(ctx context.Context, h host.Host, t transaction.Tree) error {
		servers, err := haproxy.FindDraining(ctx, h, t, o.Addresses)
		if err == nil {
			err = haproxy.Undrain(ctx, h, t, servers)
		}
		if err == nil {
			report(describeServers(h, servers, "take connections again", "no server drains there"))
		}
		return err
	})
	if err != nil {
		diags.Append(newFailure(err))
	}
	return diags
}

// visitServiceNodes does something on all of the service nodes at the same time, with HAProxy's files there, and returns what went wrong.
func (o order) visitServiceNodes(ctx context.Context, p crud.ProviderData, do func(context.Context, host.Host, transaction.Tree) error) error {
	failed := make([]error, len(o.ServiceNodes))
	var all sync.WaitGroup
	for i, endpoint := range o.ServiceNodes {
		all.Go(func() {
			h, err := p.Fleet.Host(ctx, endpoint)
			if err != nil {
				failed[i] = err
				return
			}
			t, err := p.Fleet.Engine.Snapshot(ctx, h, haproxy.Daemon{})
			if err == nil {
				err = do(ctx, h, t)
			}
			if err != nil {
				failed[i] = fmt.Errorf("%s: %w", h, err)
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// describeServers says what servers of a machine do now.
func describeServers(h host.Host, servers []haproxy.ServerRef, do, none string) string {
	if len(servers) == 0 {
		return fmt.Sprintf("%s: %s", h, none)
	}
	var names []string
	for _, s := range servers {
		names = append(names, s.Backend+"/"+s.Name)
	}
	return fmt.Sprintf("%s: %s %s", h, strings.Join(names, ", "), do)
}

func newFailure(err error) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(path.Root("service_nodes"), "Servers of HAProxy cannot be told", err.Error())
}
