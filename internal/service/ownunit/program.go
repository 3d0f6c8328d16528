package ownunit

import (
	"context"
	"errors"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/selfbinary"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
)

// WithProgram returns a part that the provider's own program serves: it is put on the machine before the unit names it, where program tells
// the part's Add and Set, and goes with the last unit that does. version is the provider's.
func WithProgram[S any](p part.Part[S], program *selfbinary.Program, version string) part.Part[S] {
	look, change, remove := p.Look, p.Change, p.Remove
	p.Look = func(ctx context.Context, h host.Host, want S) error {
		chosen, err := selfbinary.ForServiceNode(ctx, h, version)
		if err != nil {
			return err
		}
		if err := chosen.Look(ctx); err != nil {
			return service.At([]any{"service_node"}, err)
		}
		if look == nil {
			return nil
		}
		return look(ctx, h, want)
	}
	p.Change = func(ctx context.Context, h host.Host, want S, write func(context.Context, S) (S, error)) (got S, err error) {
		release, err := selfbinary.Install(ctx, h, version, program)
		if err != nil {
			return want, err
		}
		defer func() { err = errors.Join(err, release(context.WithoutCancel(ctx))) }()
		if change == nil {
			return write(ctx, want)
		}
		return change(ctx, h, want, write)
	}
	p.Remove = func(ctx context.Context, h host.Host, removePart func(context.Context) error) error {
		return selfbinary.Uninstall(ctx, h, func(ctx context.Context) error {
			if remove == nil {
				return removePart(ctx)
			}
			return remove(ctx, h, removePart)
		})
	}
	return p
}
