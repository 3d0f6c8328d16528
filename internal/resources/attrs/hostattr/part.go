package hostattr

import (
	"context"
	"errors"
	"io/fs"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
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
	// Leftovers lists what of the daemon's configuration is no part of any resource; may be nil. So may Besides, which names further files
	// that the daemon reads: each line of these says something that no resource does.
	Leftovers func(t transaction.Tree) ([]service.Unmodelled, error)
	Besides   func(ctx context.Context, h host.Host) ([]string, error)
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
	t.List, t.Leftovers = p.newList(), p.newLeftovers()
	return crud.New(t)
}

// newList returns what lists the objects of a machine; nil where nothing does.
func (p PartType[M, S]) newList() func(context.Context, crud.StoreContext, string) ([]map[string]string, error) {
	if p.Names == nil && (p.Name != "" || p.Part == nil) {
		return nil
	}
	return func(ctx context.Context, at crud.StoreContext, machine string) (keys []map[string]string, err error) {
		t, err := crud.Snapshot(ctx, at, machine, p.findDaemon())
		if err != nil {
			return nil, err
		}
		if p.Names == nil {
			if _, err := p.Part(part.Identity{}).Find(t); err != nil {
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

// newLeftovers returns what lists the rest of a machine's configuration; nil where nothing does.
func (p PartType[M, S]) newLeftovers() func(context.Context, crud.StoreContext, string) ([]service.Unmodelled, error) {
	if p.Leftovers == nil && p.Besides == nil {
		return nil
	}
	return func(ctx context.Context, at crud.StoreContext, machine string) (all []service.Unmodelled, err error) {
		if p.Leftovers != nil {
			t, err := crud.Snapshot(ctx, at, machine, p.findDaemon())
			if err != nil {
				return nil, err
			}
			if all, err = p.Leftovers(t); err != nil {
				return nil, err
			}
		}
		if p.Besides == nil {
			return all, nil
		}
		h, err := at.Fleet.Host(ctx, machine)
		if err != nil {
			return nil, err
		}
		files, err := p.Besides(ctx, h)
		for _, file := range files {
			content, failed := h.Read(ctx, file)
			if failed != nil && !errors.Is(failed, fs.ErrNotExist) {
				return nil, failed
			}
			all = append(all, service.ListLines(file, content, "#")...)
		}
		return all, err
	}
}

// findDaemon returns the daemon whose configuration the objects are in.
func (p PartType[M, S]) findDaemon() transaction.Daemon {
	if p.Part != nil {
		return p.Part(part.Identity{}).Daemon
	}
	return p.Daemon
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
