package largemap

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Attributes are the packed attributes as Terraform sees them: their types by resource type and attribute. A type is
// made of maps, lists and strings.
type Attributes map[string]map[string]tftypes.Type

// Server is a provider's server whose framework works with packed attributes.
func Server(framework tfprotov6.ProviderServer, attributes Attributes) tfprotov6.ProviderServer {
	byType := map[string]names{}
	for resource, types := range attributes {
		byType[resource] = names{}
		for name := range types {
			byType[resource][name] = true
		}
	}
	return &server{ProviderServer: framework, attributes: attributes, byType: byType}
}

type server struct {
	tfprotov6.ProviderServer
	attributes Attributes
	byType     map[string]names
}

// rewriting applies one rewrite to several values and keeps the first error.
type rewriting struct {
	rewrite func(*tfprotov6.DynamicValue) (*tfprotov6.DynamicValue, error)
	err     error
}

func (r *rewriting) rewriteValue(v *tfprotov6.DynamicValue) *tfprotov6.DynamicValue {
	out, err := r.rewrite(v)
	if err != nil && r.err == nil {
		r.err = err
	}
	return out
}

func (s *server) packingOf(resource string) *rewriting {
	return &rewriting{rewrite: s.byType[resource].packObject}
}

// unpackValue takes the text out of a value that the framework returned, unless the call failed.
func (s *server) unpackValue(resource string, v **tfprotov6.DynamicValue, err error) error {
	if err != nil {
		return err
	}
	*v, err = s.byType[resource].unpackObject(*v)
	return wrapError(resource, err)
}

func wrapError(resource string, err error) error {
	if err != nil {
		return fmt.Errorf("values of %s on their way to or from Terraform: %w", resource, err)
	}
	return nil
}

// GetProviderSchema implements tfprotov6.ProviderServer.
func (s *server) GetProviderSchema(ctx context.Context, req *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	resp, err := s.ProviderServer.GetProviderSchema(ctx, req)
	if err != nil {
		return resp, err
	}
	for resource, types := range s.attributes {
		schema, ok := resp.ResourceSchemas[resource]
		if !ok {
			continue
		}
		for _, a := range schema.Block.Attributes {
			if t, ok := types[a.Name]; ok {
				a.Type = t
			}
		}
	}
	return resp, nil
}

// ValidateResourceConfig implements tfprotov6.ResourceServer.
func (s *server) ValidateResourceConfig(ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	p, packed := s.packingOf(req.TypeName), *req
	packed.Config = p.rewriteValue(req.Config)
	if p.err != nil {
		return nil, wrapError(req.TypeName, p.err)
	}
	return s.ProviderServer.ValidateResourceConfig(ctx, &packed)
}

// UpgradeResourceState implements tfprotov6.ResourceServer.
func (s *server) UpgradeResourceState(ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	state, err := s.byType[req.TypeName].packState(req.RawState)
	if err != nil {
		return nil, wrapError(req.TypeName, err)
	}
	packed := *req
	packed.RawState = state
	resp, err := s.ProviderServer.UpgradeResourceState(ctx, &packed)
	if resp == nil {
		return nil, err
	}
	return resp, s.unpackValue(req.TypeName, &resp.UpgradedState, err)
}

// ReadResource implements tfprotov6.ResourceServer.
func (s *server) ReadResource(ctx context.Context, req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	p, packed := s.packingOf(req.TypeName), *req
	packed.CurrentState = p.rewriteValue(req.CurrentState)
	if p.err != nil {
		return nil, wrapError(req.TypeName, p.err)
	}
	resp, err := s.ProviderServer.ReadResource(ctx, &packed)
	if resp == nil {
		return nil, err
	}
	return resp, s.unpackValue(req.TypeName, &resp.NewState, err)
}

// PlanResourceChange implements tfprotov6.ResourceServer.
func (s *server) PlanResourceChange(ctx context.Context, req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	p, packed := s.packingOf(req.TypeName), *req
	packed.PriorState, packed.ProposedNewState, packed.Config = p.rewriteValue(req.PriorState), p.rewriteValue(req.ProposedNewState), p.rewriteValue(req.Config)
	if p.err != nil {
		return nil, wrapError(req.TypeName, p.err)
	}
	resp, err := s.ProviderServer.PlanResourceChange(ctx, &packed)
	if resp == nil {
		return nil, err
	}
	return resp, s.unpackValue(req.TypeName, &resp.PlannedState, err)
}

// ApplyResourceChange implements tfprotov6.ResourceServer.
func (s *server) ApplyResourceChange(ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	p, packed := s.packingOf(req.TypeName), *req
	packed.PriorState, packed.PlannedState, packed.Config = p.rewriteValue(req.PriorState), p.rewriteValue(req.PlannedState), p.rewriteValue(req.Config)
	if p.err != nil {
		return nil, wrapError(req.TypeName, p.err)
	}
	resp, err := s.ProviderServer.ApplyResourceChange(ctx, &packed)
	if resp == nil {
		return nil, err
	}
	return resp, s.unpackValue(req.TypeName, &resp.NewState, err)
}

// ImportResourceState implements tfprotov6.ResourceServer.
func (s *server) ImportResourceState(ctx context.Context, req *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	resp, err := s.ProviderServer.ImportResourceState(ctx, req)
	if resp == nil {
		return nil, err
	}
	for _, imported := range resp.ImportedResources {
		if err := s.unpackValue(imported.TypeName, &imported.State, err); err != nil {
			return nil, err
		}
	}
	return resp, err
}

// MoveResourceState implements tfprotov6.ResourceServer. The source is another resource's, in Terraform's own form.
func (s *server) MoveResourceState(ctx context.Context, req *tfprotov6.MoveResourceStateRequest) (*tfprotov6.MoveResourceStateResponse, error) {
	resp, err := s.ProviderServer.MoveResourceState(ctx, req)
	if resp == nil {
		return nil, err
	}
	return resp, s.unpackValue(req.TargetTypeName, &resp.TargetState, err)
}

// GenerateResourceConfig implements tfprotov6.ResourceServer.
func (s *server) GenerateResourceConfig(ctx context.Context, req *tfprotov6.GenerateResourceConfigRequest) (*tfprotov6.GenerateResourceConfigResponse, error) {
	p, packed := s.packingOf(req.TypeName), *req
	packed.State = p.rewriteValue(req.State)
	if p.err != nil {
		return nil, wrapError(req.TypeName, p.err)
	}
	resp, err := s.ProviderServer.GenerateResourceConfig(ctx, &packed)
	if resp == nil {
		return nil, err
	}
	return resp, s.unpackValue(req.TypeName, &resp.Config, err)
}
