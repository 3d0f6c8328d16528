package node

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
)

// moveDomain writes into the model of a node which domain it is that a `moved` block hands over.
func moveDomain(m *model, from peer.Thing) {
	m.ID, m.Name = types.StringValue(from.UUID), types.StringValue(from.Name)
}
