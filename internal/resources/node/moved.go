package node

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// moveDomain writes into the model of a node which domain it is that a `moved` block hands over. The disk that it boots from is a volume of
// another resource, or somebody's: which one the first read says.
func moveDomain(m *model, from peer.Thing) {
	m.ID, m.Name = types.StringValue(from.UUID), types.StringValue(from.Name)
	if from.HasDisk {
		m.RootDisk = convert.Value(machine.RootSpec{Volume: "moved"}).(types.Object)
	}
}
