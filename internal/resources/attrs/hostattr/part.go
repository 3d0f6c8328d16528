package hostattr

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
)

// PartType describes a type of which each object is a part of what a daemon on a service node is configured with, and nothing beside it.
type PartType[M, S any] struct {
	// Form is what an id looks like: "SERVICE_NODE#registry/NAME", or "SERVICE_NODE#time" where a machine has one object.
	Form string
	// ServiceNode is the model's attribute of that name. Name is the one that names an object on its machine, and Attribute what it is called;
	// both are left out where a machine has one object.
	ServiceNode, Name func(m *M) *types.String
	Attribute         string
	// Part is the object on its machine, by its id.
	Part func(at crud.StoreContext, m *M, id string) part.Part[S]
	// Type is all else. Its Label, Key, ID, Split and Open follow from what is above.
	Type crud.Type[M, S]
}

// NewPart makes the framework's resource of such a type.
func NewPart[M, S any](p PartType[M, S]) resource.Resource {
	t := p.Type
	t.Key, t.Label = []string{"service_node"}, func(m *M) string { return Endpoint(p.ServiceNode(m).ValueString()) }
	if p.Name != nil {
		t.Key, t.Label = append(t.Key, p.Attribute), func(m *M) string { return p.Name(m).ValueString() }
	}
	t.ID, t.Split = p.formatID, p.splitID
	t.Open = func(ctx context.Context, at crud.StoreContext, m *M) (crud.Store[S], error) {
		return crud.OpenPart(ctx, at, p.ServiceNode(m).ValueString(), p.Part(at, m, p.formatID(m)))
	}
	return crud.New(t)
}

func (p PartType[M, S]) formatID(m *M) string {
	rest := fixedWords(p.Form)
	if p.Name != nil {
		rest += p.Name(m).ValueString()
	}
	return JoinID(*p.ServiceNode(m), rest)
}

func (p PartType[M, S]) splitID(m *M, id string) error {
	if p.Name != nil {
		return SplitName(id, p.Form, p.ServiceNode(m), p.Name(m))
	}
	node, rest, err := SplitID(id, p.Form)
	if err == nil && rest != fixedWords(p.Form) {
		err = errors.New("write " + p.Form)
	}
	*p.ServiceNode(m) = node
	return err
}
