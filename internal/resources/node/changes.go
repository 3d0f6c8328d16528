package node

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// restarts lists the attributes whose change a running node cannot follow.
func restarts(prior, v *version) []path.Path {
	var all []path.Path
	differ := func(at path.Path, was, is attr.Value) {
		if !is.IsUnknown() && !was.Equal(is) {
			all = append(all, at)
		}
	}
	differ(path.Root("type"), prior.Type, v.Type)
	differ(path.Root("max_memory_mib"), prior.MaxMemoryMiB, v.MaxMemoryMiB)
	differ(path.Root("max_vcpus"), prior.MaxVCPUs, v.MaxVCPUs)
	differ(path.Root("machine"), prior.Machine, v.Machine)
	differ(path.Root("firmware"), prior.Firmware, v.Firmware)
	differ(path.Root("graphics"), prior.Graphics, v.Graphics)
	differ(path.Root("guest_agent"), prior.GuestAgent, v.GuestAgent)
	differ(path.Root("rng"), prior.RNG, v.RNG)
	if was, is := prior.parts.CPU, v.parts.CPU; was != nil && is != nil {
		differ(path.Root("cpu").AtName("mode"), was.Mode, is.Mode)
		differ(path.Root("cpu").AtName("model"), was.Model, is.Model)
		differ(path.Root("cpu").AtName("nested"), was.Nested, is.Nested)
	}
	if was, is := prior.parts.Console, v.parts.Console; was != nil && is != nil {
		differ(path.Root("console").AtName("type"), was.Type, is.Type)
		differ(path.Root("console").AtName("log_file"), was.LogFile, is.LogFile)
	}
	if was, is := prior.Root, v.Root; was != nil && is != nil {
		differ(path.Root("root_disk").AtName("bus"), was.Bus, is.Bus)
	} else if (was == nil) != (is == nil) && !v.RootDisk.IsUnknown() {
		all = append(all, path.Root("root_disk"))
	}
	was, is := &bootModel{}, &bootModel{}
	if prior.parts.Boot != nil {
		was = prior.parts.Boot
	}
	if v.parts.Boot != nil {
		is = v.parts.Boot
	}
	if !v.model.Boot.IsUnknown() {
		differ(path.Root("boot").AtName("kernel"), none(was.Kernel), none(is.Kernel))
		differ(path.Root("boot").AtName("initrd"), none(was.Initrd), none(is.Initrd))
		differ(path.Root("boot").AtName("cmdline"), none(was.Cmdline), none(is.Cmdline))
	}
	// fw_cfg is part of the machine; what is in its file is not.
	had, has := known(prior.Ignition) || known(prior.Butane), !v.Ignition.IsNull() || !v.Butane.IsNull()
	if had != has {
		all = append(all, path.Root("ignition"))
	}
	return all
}

// none takes an empty text for no text: both boot alike.
func none(v types.String) types.String {
	if known(v) && v.ValueString() == "" {
		return types.StringNull()
	}
	return v
}
