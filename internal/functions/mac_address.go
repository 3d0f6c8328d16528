package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
)

// NewMACAddress makes mac_address.
func NewMACAddress() function.Function {
	return named{"mac_address", function.Definition{
		Summary: "The MAC address of a node's interface",
		MarkdownDescription: "The MAC address that a node's interface gets where none is given: QEMU's prefix `52:54:00` and three bytes that follow from the node's name and the interface's index. " +
			"It is the same for ever, so that DHCP reservations and PXE files can be written before the node exists.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "name", MarkdownDescription: "Name of the node."},
			function.Int64Parameter{Name: "index", MarkdownDescription: "Index of the interface; the first one has 0."},
		},
		Return: function.StringReturn{},
	}, computeMAC}
}

func computeMAC(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError) {
	var name string
	var index int64
	if err := arguments.Get(ctx, &name, &index); err != nil {
		return nil, err
	}
	switch {
	case name == "":
		return nil, function.NewArgumentFuncError(0, "The name is empty: write the node's name")
	case index < 0:
		return nil, function.NewArgumentFuncError(1, "The index is negative: the first interface has 0")
	}
	return alloc.MAC(name, int(index)).String(), nil
}
