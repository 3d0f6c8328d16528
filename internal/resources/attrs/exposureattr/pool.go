package exposureattr

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// PoolForm is what the id of a pool looks like.
const PoolForm = "SERVICE_NODE#POOL"

// Pool is the id of a pool.
var Pool = values.New("pool of addresses", "ssh://root@10.0.0.100#lan", func(id string) error {
	if _, _, err := hostattr.SplitID(id, PoolForm); err != nil {
		return fmt.Errorf("write the id of a virtcluster_address_pool: %w", err)
	}
	return nil
}).Same(host.ShortenReferences)

// OpenAddress opens what a pool, by its id, has drawn or is to draw for a key.
func OpenAddress(ctx context.Context, at crud.StoreContext, id types.String, key string) (*addresspool.Draw, error) {
	node, pool, err := hostattr.SplitID(id.ValueString(), PoolForm)
	if err != nil {
		return nil, service.At([]any{"pool"}, fmt.Errorf("write the id of a virtcluster_address_pool: %w", err))
	}
	d := addresspool.NewDraw(pool, key, func(drawn addresspool.Address) { at.Ledger.Note(addresspool.NewDrawUse(drawn)) })
	d.Part, err = crud.OpenPart(ctx, at, node.ValueString(), d.NewPart(host.ShortenReferences(id.ValueString())+"/"+key, at.Claim.Mark()))
	return d, err
}
