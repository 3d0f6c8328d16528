// Package bootprofile is the resource virtcluster_boot_profile.
package bootprofile

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/netboot"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
)

// form is what an id looks like: that of the boot server, and the name.
const form = "SERVICE_NODE#boot/NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, netboot.Profile]{
		Name:   "boot_profile",
		Noun:   "boot profile",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"boot_server", "name"},
		ID:     formatID,
		Split: func(m *model, id string) error {
			var node types.String
			if err := hostattr.SplitName(id, form, &node, &m.Name); err != nil {
				return err
			}
			m.BootServer = types.StringValue(hostattr.JoinID(node, "boot"))
			return nil
		},
		Spec: func(ctx context.Context, m *model) (netboot.Profile, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill: func(ctx context.Context, m *model, got netboot.Profile) diag.Diagnostics {
			return m.fillModel(ctx, got)
		},
		Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[netboot.Profile], error) {
			return openProfile(ctx, at, m)
		},
		Plan: planChange,
	})
}

func formatID(m *model) string {
	return host.ShortenReferences(m.BootServer.ValueString()) + "/" + m.Name.ValueString()
}

func openProfile(ctx context.Context, at crud.StoreContext, m *model) (*netboot.ProfileStore, error) {
	open := func(ctx context.Context, claim owner.Claim, bootServer string) (*part.Part[netboot.Profile], error) {
		node, err := netboot.SplitServer(bootServer)
		if err != nil {
			return nil, err
		}
		of := at
		of.Claim = claim
		return crud.OpenPart(ctx, of, node, netboot.NewProfilePart(m.Name.ValueString(), formatID(m), claim.Mark()))
	}
	s := netboot.OpenProfile(at.Claim, netboot.ProfileStore{OpenOther: open, FirstServer: m.BootServer.ValueString(), StandbyServer: m.Standby.ValueString()})
	var err error
	if s.First, err = open(ctx, at.Claim, s.FirstServer); err == nil && s.StandbyServer != "" {
		s.Standby, err = open(ctx, at.Claim, s.StandbyServer)
	}
	return s, err
}
