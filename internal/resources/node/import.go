package node

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/cloudinit"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// seedLimit is the largest seed that an import reads; NoCloud's are some hundred kilobytes.
const seedLimit = 16 << 20

// ImportState takes a domain's UUID or name, after `HYPERVISOR/` where it is on a named hypervisor, or an
// identity.
func (n *node) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	var host, name types.String
	if req.ID == "" && req.Identity != nil {
		resp.Diagnostics.Append(req.Identity.GetAttribute(ctx, path.Root("hypervisor"), &host)...)
		resp.Diagnostics.Append(req.Identity.GetAttribute(ctx, path.Root("name"), &name)...)
	} else {
		before, after, named := strings.Cut(req.ID, "/")
		name = types.StringValue(before)
		if named {
			host, name = types.StringValue(before), types.StringValue(after)
		}
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if name.ValueString() == "" {
		resp.Diagnostics.AddError(fmt.Sprintf("Cannot import node %q", req.ID), "write the domain's UUID or name, after \"HYPERVISOR/\" where it is on a named hypervisor")
		return
	}
	at := path.Root("name")
	if hypervisor.IsUUID(name.ValueString()) {
		at = path.Root("id")
		if host.IsNull() {
			host = n.search(ctx, name.ValueString())
		}
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, at, name)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("hypervisor"), host)...)
}

// search finds the hypervisor of a domain: an id names no hypervisor, and it is unique among all.
func (n *node) search(ctx context.Context, uuid string) types.String {
	for _, name := range n.Fleet.Names() {
		c, err := n.Fleet.Hypervisor(ctx, name)
		if err != nil {
			continue // Read says why
		}
		if _, err := c.Domain(ctx, uuid); err == nil {
			return optional(name)
		}
	}
	return types.StringNull()
}

// fillImported reads what only the node's own files and its mark know.
func (n *node) fillImported(ctx context.Context, c *hypervisor.Client, v *version, m *machine.Machine) error {
	v.fillSettings(ctx, m.Mark.Settings)
	if m.IgnitionFile != "" {
		content, err := readFile(ctx, c, m.IgnitionFile)
		if err != nil {
			return err
		}
		if content == nil {
			content = hostFile(ctx, c, m.IgnitionFile)
		}
		text := optional(string(bytes.TrimRight(content, "\x00")))
		if v.Ignition = text; m.Mark.Butane {
			v.Ignition, v.Butane = types.StringNull(), text
		}
	}
	disk := m.Disk(machine.Seed)
	if disk == nil {
		return nil
	}
	image, err := readFile(ctx, c, disk.Path)
	if err != nil || image == nil {
		return err
	}
	seed, err := cloudinit.ReadImage(image)
	if err != nil {
		return err
	}
	return v.fillSeed(seed, m.UUID)
}

// fillSeed reads what cloud-init was told, without what the provider adds by itself. Where nothing is left, it stands
// for a configuration that is silent on it as well (completeCloudInit).
func (v *version) fillSeed(seed *cloudinit.Seed, uuid string) error {
	bare := *v
	bare.parts.CloudInit = nil
	own, err := seedOf(&bare, uuid)
	if err != nil {
		return err
	}
	unless := func(got, own string) types.String {
		if got == own {
			return types.StringNull()
		}
		return optional(got)
	}
	v.parts.CloudInit = &cloudInitModel{
		UserData: unless(seed.UserData, own.UserData), MetaData: unless(seed.MetaData, own.MetaData),
		VendorData: optional(seed.VendorData), NetworkConfig: unless(seed.NetworkConfig, own.NetworkConfig),
	}
	return nil
}

// emptyCollections makes empty what is null: it stands for both where it is imported (crud.LeftOut).
func (v *version) emptyCollections() {
	list := func(into *types.List, element attr.Type) {
		if into.IsNull() {
			*into = types.ListValueMust(element, nil)
		}
	}
	kind := attributeTypes()
	if v.Labels.IsNull() {
		v.Labels = types.MapValueMust(types.StringType, nil)
	}
	if v.model.Disks.IsNull() && v.parts.Disks == nil {
		v.model.Disks = types.MapValueMust(kind["disks"].(types.MapType).ElemType, nil)
	}
	if v.parts.Interfaces == nil {
		list(&v.NetworkInterfaces, kind["network_interfaces"].(types.ListType).ElemType)
	}
	for n := range v.parts.Interfaces {
		i := &v.parts.Interfaces[n]
		for _, l := range []*types.List{&i.Addresses, &i.Nameservers, &i.AllowedAddresses} {
			list(l, types.StringType)
		}
		list(&i.Routes, routeType())
	}
}

// hostFile reads a file that no pool has, as somebody may have put it anywhere; nil where that cannot be done.
func hostFile(ctx context.Context, c *hypervisor.Client, path string) []byte {
	content, err := c.HostFile(ctx, path)
	if err != nil {
		tflog.Warn(ctx, "cannot read the node's Ignition configuration", map[string]any{"file": path, "error": err.Error()})
	}
	return content
}

// readFile reads a file on the hypervisor that is a volume; nil where no pool has it.
func readFile(ctx context.Context, c *hypervisor.Client, path string) ([]byte, error) {
	volume, err := c.VolumeByPath(ctx, path)
	if hypervisor.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.PeekVolume(ctx, volume, 0, min(volume.Capacity(), seedLimit))
}
