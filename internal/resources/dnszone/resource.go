// Package dnszone is virtcluster_dns_zone: one zone in one view of a BIND server.
package dnszone

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

// form is what an id looks like.
const form = "SERVICE_NODE#VIEW/ZONE"

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, bind.Zone]{
		Name:   "dns_zone",
		Noun:   "DNS zone",
		Label:  func(m *model) string { return m.View.ValueString() + "/" + m.canonicalZone() },
		Schema: zoneSchema,
		Key:    []string{"service_node", "view", "name"},
		ID:     (*model).formatID,
		Split:  (*model).splitID,
		List:   listZones,
		Spec:   toSpec,
		Fill:   fillModel,
		Open:   openStore,
		Plan:   planChange,
	})
}

// canonicalZone is the canonical name.
func (m *model) canonicalZone() string {
	name, err := bind.Zone{Name: m.Name.ValueString(), CIDR: m.CIDR.ValueString()}.CanonicalName()
	if err != nil {
		return m.Name.ValueString()
	}
	return name
}

func (m *model) formatID() string {
	return hostattr.JoinID(m.ServiceNode, m.View.ValueString()+"/"+m.canonicalZone())
}

// splitID takes an id apart; a zone's name may hold a slash, a view's does not.
func (m *model) splitID(id string) error {
	node, part, err := hostattr.SplitID(id, form)
	if err != nil {
		return err
	}
	view, zone, ok := strings.Cut(part, "/")
	if !ok || zone == "" {
		return errors.New("write " + form + ", or SERVICE_NODE#/ZONE for a zone without a view")
	}
	m.ServiceNode, m.View, m.Name = node, convert.Text(view), types.StringValue(zone)
	return nil
}

// listZones lists the zones of a BIND server by their views.
func listZones(ctx context.Context, at crud.StoreContext, machine string) (keys []map[string]string, err error) {
	t, err := crud.Snapshot(ctx, at, machine, bind.Daemon{})
	if err != nil {
		return nil, err
	}
	zones, err := bind.ListZones(t)
	for _, z := range zones {
		keys = append(keys, map[string]string{"view": z.View, "name": z.Name})
	}
	return keys, err
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[bind.Zone], error) {
	return crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), bind.NewZonePart(m.View.ValueString(), m.canonicalZone(), m.formatID(), at.Claim.Mark(), time.Now()))
}
