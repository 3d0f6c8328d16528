// Package functions holds the provider's functions.
package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
)

type macAddress struct{}

// NewMACAddress makes mac_address.
func NewMACAddress() function.Function { return macAddress{} }

func (macAddress) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "mac_address"
}

func (macAddress) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "The MAC address of a node's interface",
		MarkdownDescription: "The MAC address that a node's interface gets where none is given: QEMU's prefix `52:54:00` and three bytes that follow from the node's name and the interface's index. " +
			"It is the same for ever, so that DHCP reservations and PXE files can be written before the node exists.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "name", MarkdownDescription: "Name of the node."},
			function.Int64Parameter{Name: "index", MarkdownDescription: "Index of the interface; the first one has 0."},
		},
		Return: function.StringReturn{},
	}
}

func (macAddress) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var name string
	var index int64
	if resp.Error = req.Arguments.Get(ctx, &name, &index); resp.Error != nil {
		return
	}
	switch {
	case name == "":
		resp.Error = function.NewArgumentFuncError(0, "The name is empty: write the node's name")
	case index < 0:
		resp.Error = function.NewArgumentFuncError(1, "The index is negative: the first interface has 0")
	default:
		resp.Error = resp.Result.Set(ctx, alloc.MAC(name, int(index)).String())
	}
}
