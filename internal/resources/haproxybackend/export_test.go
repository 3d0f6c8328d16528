package haproxybackend

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
)

// Open opens the store of a backend that an import takes over.
func Open(ctx context.Context, f *fleet.Fleet, node, name, drainTimeout string) (crud.Store[haproxy.Backend], error) {
	at := crud.StoreContext{ProviderData: crud.ProviderData{Fleet: f}, Claim: new(owner.Run).Adopt()}
	m := &model{ServiceNode: types.StringValue(node), Name: types.StringValue(name), DrainTimeout: types.StringValue(drainTimeout)}
	return openStore(ctx, at, m, part.Identity{Name: name, Mark: at.Claim.Mark()})
}
