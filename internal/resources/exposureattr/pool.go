package exposureattr

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
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
})

// OpenAddress opens what a pool, by its id, has drawn or is to draw for a key.
func OpenAddress(ctx context.Context, at crud.Opening, id types.String, key string) (*crud.Part[addresspool.Address], error) {
	node, pool, err := hostattr.SplitID(id.ValueString(), PoolForm)
	if err != nil {
		return nil, service.At([]any{"pool"}, fmt.Errorf("write the id of a virtcluster_address_pool: %w", err))
	}
	put := func(t transaction.Tree, want addresspool.Address) error {
		want.Pool, want.Key = pool, key
		return addresspool.DrawAddress(t, want, at.Claim.Mark(), owner.Describe())
	}
	return crud.OpenPart(ctx, at, node.ValueString(), crud.Part[addresspool.Address]{
		Daemon: addresspool.Daemon{}, Owner: fmt.Sprintf("address for %q", key), Place: addresspool.Place(pool),
		ImportID: host.ShortenReferences(id.ValueString()) + "/" + key,
		Mark:     func(t transaction.Tree) (owner.Mark, bool) { return addresspool.AddressMark(t, pool, key) },
		Find:     func(t transaction.Tree) (addresspool.Address, error) { return addresspool.FindAddress(t, pool, key) },
		Add:      put, Set: put,
		Drop: func(t transaction.Tree) error { return addresspool.ReleaseAddress(t, pool, key) },
	})
}
