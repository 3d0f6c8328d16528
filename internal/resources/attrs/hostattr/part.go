package hostattr

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// PartType describes a type of which each object is on one service node, which its attribute service_node names, and most of them one part of what
// a daemon there is configured with.
type PartType[M, S any] struct {
	// Form is what an id looks like: "SERVICE_NODE#registry/NAME", or "SERVICE_NODE#time" where a machine has one object.
	Form string
	// Name is the attribute that names an object on its machine; "" where a machine has one.
	Name string
	// Part is the object on its machine, and Open its store, where that is more than the part; one of the two is nil.
	Part func(of part.Identity) part.Part[S]
	Open func(ctx context.Context, at crud.StoreContext, m *M, of part.Identity) (crud.Store[S], error)
	// Names lists the objects of a daemon's configuration; nil where a machine has one, or where they are not listed. Daemon is that one,
	// where Part does not say it.
	Names  func(t transaction.Tree) []string
	Daemon transaction.Daemon
	// Type is all else. Its Label, Key, ID, Split and Open follow from what is above.
	Type crud.Type[M, S]
}

// NewPart makes the framework's resource of such a type.
func NewPart[M, S any](p PartType[M, S]) resource.Resource {
	t := p.Type
	t.Key, t.Label = []string{"service_node"}, func(m *M) string { return Endpoint(serviceNode(m).ValueString()) }
	if p.Name != "" {
		t.Key, t.Label = append(t.Key, p.Name), func(m *M) string { return p.nameAttribute(m).ValueString() }
	}
	t.ID, t.Split = p.formatID, p.splitID
	t.Open = func(ctx context.Context, at crud.StoreContext, m *M) (crud.Store[S], error) {
		of := part.Identity{Name: p.nameAttribute(m).ValueString(), ImportID: p.formatID(m), Mark: at.Claim.Mark(), Version: at.Version}
		if p.Open != nil {
			return p.Open(ctx, at, m, of)
		}
		return crud.OpenPart(ctx, at, serviceNode(m).ValueString(), p.Part(of))
	}
	t.List = p.newList()
	return crud.New(t)
}

// newList returns what lists the objects of a machine; nil where nothing does.
func (p PartType[M, S]) newList() func(context.Context, crud.StoreContext, string) ([]map[string]string, error) {
	if p.Names == nil && (p.Name != "" || p.Part == nil) {
		return nil
	}
	return func(ctx context.Context, at crud.StoreContext, machine string) (keys []map[string]string, err error) {
		daemon := p.Daemon
		var only part.Part[S]
		if p.Part != nil {
			only = p.Part(part.Identity{})
			daemon = only.Daemon
		}
		t, err := crud.Snapshot(ctx, at, machine, daemon)
		if err != nil {
			return nil, err
		}
		if p.Names == nil {
			if _, err := only.Find(t); err != nil {
				return nil, err // absent is none
			}
			return []map[string]string{{}}, nil
		}
		for _, name := range p.Names(t) {
			keys = append(keys, map[string]string{p.Name: name})
		}
		return keys, nil
	}
}

func serviceNode(m any) *types.String { return convert.Attribute[types.String](m, "service_node") }

// nameAttribute is what names an object on its machine; null where a machine has one.
func (p PartType[M, S]) nameAttribute(m *M) *types.String {
	if p.Name == "" {
		return &types.String{}
	}
	return convert.Attribute[types.String](m, p.Name)
}

func (p PartType[M, S]) formatID(m *M) string {
	return FormatID(p.Form, *serviceNode(m), *p.nameAttribute(m))
}

func (p PartType[M, S]) splitID(m *M, id string) error {
	if p.Name != "" {
		return SplitName(id, p.Form, serviceNode(m), p.nameAttribute(m))
	}
	node, rest, err := SplitID(id, p.Form)
	if err == nil && rest != fixedWords(p.Form) {
		err = errors.New("write " + p.Form)
	}
	*serviceNode(m) = node
	return err
}
