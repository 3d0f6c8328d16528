package network

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// A network is found by its UUID: a person gives it another name, and its resource is the same one.
func TestTheIdentityOfANetworkMayChange(t *testing.T) {
	t.Parallel()
	var resp resource.MetadataResponse
	New().Metadata(t.Context(), resource.MetadataRequest{}, &resp)
	if !resp.ResourceBehavior.MutableIdentity {
		t.Error("a read of a network with another name would be an error")
	}
}
