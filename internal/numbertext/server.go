// Package numbertext has the numbers of states go to Terraform as texts, which Terraform's protocol takes for the same numbers.
//
// A number that comes as an integer has 64 bits of precision in Terraform, and one that is read from a state file has 512. `plan
// -refresh-only` of Terraform 1.11 compares the two with their precision: with -detailed-exitcode it ends with 2, and offers to save
// what has changed, while it says that nothing has (https://github.com/hashicorp/terraform/issues/36403). A number that comes as a text
// has the precision of one in a file. The package can go when the oldest Terraform that is supported compares values.
//
// What no provider can mend of that comparison: the paths of a resource's sensitive attributes stand in an order left to chance, so that
// a node, a VIP or HAProxy's statistics page, which have two or more, may still end the command with 2. Plans themselves are not touched.
package numbertext

import (
	"context"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Server is a provider's server that says what resources have with numbers as texts.
func Server(framework tfprotov6.ProviderServer) tfprotov6.ProviderServer {
	return &server{framework}
}

type server struct{ tfprotov6.ProviderServer }

// UpgradeResourceState implements tfprotov6.ResourceServer.
func (s *server) UpgradeResourceState(ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	resp, err := s.ProviderServer.UpgradeResourceState(ctx, req)
	if err == nil && resp != nil {
		resp.UpgradedState, err = rewritten(resp.UpgradedState)
	}
	return resp, err
}

// ReadResource implements tfprotov6.ResourceServer.
func (s *server) ReadResource(ctx context.Context, req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	resp, err := s.ProviderServer.ReadResource(ctx, req)
	if err == nil && resp != nil {
		resp.NewState, err = rewritten(resp.NewState)
	}
	return resp, err
}
