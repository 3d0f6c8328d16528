// Package vip is virtcluster_vip: a VRRP instance across several service nodes.
package vip

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/vip"
)

var (
	_ crud.Owned     = (*vip.Store)(nil)
	_ crud.Previewer = (*vip.Store)(nil)
	_ crud.Warner    = (*vip.Store)(nil)
)

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, vip.Object]{
		Name:   "vip",
		Noun:   "VIP",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"id"},
		Naming: crud.Naming[model]{Names: listNames, MutableIdentity: true, ImportID: (*model).importID},
		ID:     (*model).formatID,
		Split: func(m *model, id string) error {
			_, name, err := keepalived.SplitID(id)
			m.ID, m.Name = types.StringValue(id), types.StringValue(name)
			return err
		},
		Listing:   crud.Listing{Across: listVIPs, Leftovers: listLeftovers},
		Memory:    crud.Memory[model]{Recall: recallPrivate, Remember: rememberAssigned},
		Spec:      func(ctx context.Context, m *model) (vip.Object, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill:      func(ctx context.Context, m *model, got vip.Object) diag.Diagnostics { return m.fillModel(ctx, got) },
		WriteOnly: func(planned, config *model) { planned.AuthPassWO = config.AuthPassWO },
		Open:      openStore,
		Plan:      planChange,
	})
}

// listNames lists the VRRP instances that a VIP is made of: on each machine one of its name.
func listNames(ctx context.Context, m *model) (names []string) {
	if m.Name.IsUnknown() {
		return nil
	}
	v, _ := m.toSpec(ctx)
	for _, member := range v.Members {
		if member.ID != "" {
			names = append(names, host.WithoutKey(member.ID)+"#"+v.Name)
		}
	}
	return names
}

// listVIPs lists the VRRP instances of machines, whoever wrote them: those of one name are one VIP, whose members these machines are.
func listVIPs(ctx context.Context, at crud.StoreContext, machines []string) (ids []string, err error) {
	members := map[string][]string{}
	var names []string
	for _, machine := range machines {
		t, err := crud.Snapshot(ctx, at, machine, keepalived.Daemon{})
		if err != nil {
			return nil, err
		}
		there, err := keepalived.ListNames(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", host.WithoutKey(machine), err)
		}
		for _, name := range there {
			if members[name] == nil {
				names = append(names, name)
			}
			members[name] = append(members[name], host.ShortenReferences(machine))
		}
	}
	for _, name := range names {
		ids = append(ids, strings.Join(members[name], ",")+"#"+name)
	}
	return ids, nil
}

// listLeftovers lists what of a machine's keepalived.conf no VIP says.
func listLeftovers(ctx context.Context, at crud.StoreContext, machine string) ([]service.Unmodelled, error) {
	t, err := crud.Snapshot(ctx, at, machine, keepalived.Daemon{})
	if err != nil {
		return nil, err
	}
	return keepalived.ListUnmodelled(t)
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[vip.Object], error) {
	known, diags := m.toSpec(ctx)
	if diags.HasError() {
		return nil, errors.New(diags.Errors()[0].Detail())
	}
	if len(known.Members) == 0 { // an import
		members, name, err := keepalived.SplitID(m.ID.ValueString())
		return vip.New(machinesOf(at), at.Claim, name, members), err
	}
	holder := ""
	if i := slices.IndexFunc(known.Members, func(t keepalived.Member) bool { return t.Name == m.Owner.ValueString() }); i >= 0 {
		holder = known.Members[i].ID
	}
	rememberMembers(at, m.formatID(), known.VIP)
	return vip.Open(machinesOf(at), at.Claim, known.VIP, holder), nil
}

// machinesOf returns how the members' machines are reached.
func machinesOf(at crud.StoreContext) vip.Machines {
	return vip.Machines{Host: at.Fleet.Host, Engine: &at.Fleet.Engine, Turns: &at.Fleet.Turns, HandOvers: &at.Run.HandOvers, Groups: &at.Run.Groups}
}
