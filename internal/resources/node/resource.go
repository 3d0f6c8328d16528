// Package node is virtcluster_node: a virtual machine with its disks, its seed, its reservations and its
// network filters, in one resource.
package node

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// defaultTimeout bounds an operation where `timeouts` says nothing: a guest may take minutes to boot.
const defaultTimeout = 10 * time.Minute

// node is the resource, in the order of a life: plan.go, create.go, read.go, update.go, delete.go.
type node struct {
	crud.Base
	facts *facts
}

var (
	_ resource.ResourceWithModifyPlan  = (*node)(nil)
	_ resource.ResourceWithImportState = (*node)(nil)
	_ resource.ResourceWithIdentity    = (*node)(nil)
	_ resource.ResourceWithConfigure   = (*node)(nil)
)

// New returns a constructor whose resources share what they learn about the hypervisors.
func New() func() resource.Resource {
	shared := &facts{}
	return func() resource.Resource {
		return &node{Base: crud.Base{Name: "node", Key: []string{"hypervisor", "name"}}, facts: shared}
	}
}

func (n *node) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = nodeSchema(ctx)
}

// what names the node in messages.
func what(m *model) string { return fmt.Sprintf("node %q", m.Name.ValueString()) }

// client is the hypervisor that the node lives on.
func (n *node) client(ctx context.Context, m *model) (*hypervisor.Client, error) {
	return n.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
}

// newUUID makes up a domain's UUID, so that it is known before the domain exists.
func newUUID() string {
	var u [16]byte
	_, _ = rand.Read(u[:]) // never fails
	return uuidText(u)
}
