package node

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// Addresses says where a domain can be reached and what its MAC addresses are, by the names of its interfaces.
func Addresses(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain) (addresses, macs map[string]string, err error) {
	n := &node{facts: &facts{}}
	v := &version{}
	v.GuestAgent = types.BoolValue(true)
	if err := n.fillInterfaces(ctx, c, v, d, machine.Read(d.Config)); err != nil {
		return nil, nil, err
	}
	if err := n.fillAddresses(ctx, c, v, d); err != nil {
		return nil, nil, err
	}
	addresses, macs = map[string]string{}, map[string]string{}
	for _, i := range v.parts.Interfaces {
		macs[i.Name.ValueString()] = i.MAC.ValueString()
	}
	for name, address := range v.Addresses.Elements() {
		if text, ok := address.(types.String); ok {
			addresses[name] = text.ValueString()
		}
	}
	return addresses, macs, nil
}
