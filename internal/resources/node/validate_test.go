package node

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestProblems(t *testing.T) {
	with := func(change func(*version)) *version {
		v := planOf(&version{
			model: model{Name: text("n"), Type: text("qemu")},
			parts: parts{Root: &rootModel{Image: text("/i")}, Interfaces: []interfaceModel{{Network: text("a"), IP: text("10.0.0.1")}}},
		}, &version{})
		change(v)
		return v
	}
	for name, c := range map[string]struct {
		v *version
		// at and want are the path and a part of the problem; "" for none.
		at, want string
	}{
		"nothing wrong":            {with(func(*version) {}), "", ""},
		"memory above its maximum": {with(func(v *version) { v.MemoryMiB = types.Int64Value(9999) }), "[max_memory_mib]", "at least memory_mib"},
		"secure boot on pc":        {with(func(v *version) { v.Firmware, v.Machine = text("uefi-secure"), text("pc") }), "[machine]", "q35"},
		"waiting for no agent":     {with(func(v *version) { v.WaitFor, v.GuestAgent = text("guest_agent"), types.BoolValue(false) }), "[wait_for]", "guest_agent = true"},
		"nested under emulation":   {with(func(v *version) { v.parts.CPU.Nested = types.BoolValue(true) }), "[cpu nested]", "kvm"},
		"custom without a model":   {with(func(v *version) { v.parts.CPU = &cpuModel{Mode: text("custom")} }), "[cpu model]", "needs a model"},
		"initrd without a kernel":  {with(func(v *version) { v.parts.Boot = &bootModel{Initrd: text("/i")} }), "[boot kernel]", "go with a kernel"},
		"empty root without size":  {with(func(v *version) { v.Root = &rootModel{} }), "[root_disk]", "size_gib"},
		"disk without size":        {with(func(v *version) { v.parts.Disks = map[string]diskModel{"d": {}} }), "[disks d]", "size_gib"},
		"disk called root":         {with(func(v *version) { v.parts.Disks = map[string]diskModel{"root": {SizeGiB: types.Int64Value(1)}} }), "[disks root]", "taken"},
		"volume with a size": {with(func(v *version) {
			v.parts.Disks = map[string]diskModel{"d": {Volume: text("/v"), SizeGiB: types.Int64Value(1)}}
		}), "[disks d size_gib]", "own size"},
		"a volume twice": {with(func(v *version) {
			v.parts.Disks = map[string]diskModel{"a": {Volume: text("/v")}, "b": {Volume: text("/v")}, "c": {Volume: text("/w")}}
		}), "[disks b volume]", `disk "a" of this node has it`},
		"no network":               {with(func(v *version) { v.parts.Interfaces[0].Network = types.StringNull() }), "[network_interfaces 0 network]", "network or bridge"},
		"bad MAC":                  {with(func(v *version) { v.parts.Interfaces[0].MAC = text("52:54") }), "[network_interfaces 0 mac]", "six bytes"},
		"multicast MAC":            {with(func(v *version) { v.parts.Interfaces[0].MAC = text("53:54:00:00:00:01") }), "[network_interfaces 0 mac]", "multicast"},
		"bad address":              {with(func(v *version) { v.parts.Interfaces[0].IP = text("10.0.0.300") }), "[network_interfaces 0 ip]", "not an address"},
		"IPv6 as ip":               {with(func(v *version) { v.parts.Interfaces[0].IP = text("fd00::1") }), "[network_interfaces 0 ip]", "does not belong here"},
		"address without a prefix": {with(func(v *version) { v.parts.Interfaces[0].Addresses = textList([]string{"10.0.0.9"}) }), "[network_interfaces 0 addresses 0]", "prefix length"},
		"gateway elsewhere": {with(func(v *version) {
			i := &v.parts.Interfaces[0]
			i.Addresses, i.Gateway = textList([]string{"10.1.0.9/24"}), text("10.2.0.1")
		}), "[network_interfaces 0 gateway]", "could not reach"},
		"guard without an address": {with(func(v *version) {
			i := &v.parts.Interfaces[0]
			i.IP, i.PortSecurity = types.StringNull(), types.BoolValue(true)
		}), "[network_interfaces 0 port_security]", "allowed_addresses"},
		"allowed without a guard": {with(func(v *version) { v.parts.Interfaces[0].AllowedAddresses = textList([]string{"10.0.0.9"}) }), "[network_interfaces 0 allowed_addresses]", "port_security"},
		"unknown address": {with(func(v *version) {
			i := &v.parts.Interfaces[0]
			i.IP, i.PortSecurity = types.StringUnknown(), types.BoolValue(true)
		}), "", ""},
		"unknown list element": {with(func(v *version) {
			v.parts.Interfaces[0].Addresses = types.ListValueMust(types.StringType, []attr.Value{types.StringUnknown()})
		}), "", ""},
		"user data of no kind":   {with(func(v *version) { v.parts.CloudInit = &cloudInitModel{UserData: text("hostname: x")} }), "[cloud_init user_data]", "#cloud-config"},
		"broken user data":       {with(func(v *version) { v.parts.CloudInit = &cloudInitModel{UserData: text("#cloud-config\na: [\n")} }), "[cloud_init user_data]", "line 2"},
		"broken Ignition":        {with(func(v *version) { v.Ignition = text("{\n  \"ignition\": {\n    \"version\" \"3.4.0\"\n  }\n}") }), "[ignition]", "line 3"},
		"Ignition of no version": {with(func(v *version) { v.Ignition = text("{\n  \"ignition\": {\"version\": \"9.9.9\"}}") }), "[ignition]", `line 2, column 16: unsupported config version: write one from "3.0.0" to "3.5.0"`},
		"Butane that is no YAML": {with(func(v *version) { v.Butane = text("variant: fcos\n  version: [\n") }), "[butane]", "line 1, column 10"},
		"a key of no meaning":    {with(func(v *version) { v.Butane = text("variant: fcos\nversion: 1.5.0\nstorge: {}\n") }), "[butane]", "line 3, column 1: unused key"},
		"broken Butane": {with(func(v *version) {
			v.Butane = text("variant: fcos\nversion: 1.5.0\nstorage:\n  files:\n    - path: relative\n")
		}), "[butane]", "line 5"},
		"Ignition and Butane at once": {with(func(v *version) {
			v.Ignition, v.Butane = text(`{"ignition": {"version": "3.4.0"}}`), text("variant: fcos\nversion: 1.5.0\n")
		}), "[butane]", "only one"},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.v.spec().Validate()
			if c.want == "" {
				if len(got) > 0 {
					t.Errorf("problems are %v", got)
				}
				return
			}
			for _, p := range got {
				if fmt.Sprint(p.Path) == c.at && strings.Contains(p.Summary+" "+p.Detail, c.want) {
					return
				}
			}
			t.Errorf("want %q at %s, problems are %v", c.want, c.at, got)
		})
	}
}

func TestDisksDoNotShrink(t *testing.T) {
	disk := func(gib int64) *version {
		return &version{parts: parts{Root: &rootModel{SizeGiB: types.Int64Value(gib)}, Disks: map[string]diskModel{"d": {SizeGiB: types.Int64Value(gib)}}}}
	}
	if got := disk(2).spec().ValidateChange(disk(3).spec()); len(got) != 2 {
		t.Errorf("problems of shrinking are %v", got)
	}
	if got := disk(3).spec().ValidateChange(disk(2).spec()); len(got) != 0 {
		t.Errorf("problems of growing are %v", got)
	}
}

func TestEmptyTextIsNeitherAValueNorItsAbsence(t *testing.T) {
	for text, wrong := range map[types.String]bool{types.StringValue(""): true, types.StringValue("worker"): false, types.StringNull(): false, types.StringUnknown(): false} {
		var resp validator.StringResponse
		given{}.ValidateString(t.Context(), validator.StringRequest{Path: path.Root("role"), ConfigValue: text}, &resp)
		if resp.Diagnostics.HasError() != wrong {
			t.Errorf("%s: %v", text, resp.Diagnostics)
		}
	}
	prior, v := &version{}, &version{}
	prior.parts.Boot, v.parts.Boot = &bootModel{}, &bootModel{Kernel: types.StringValue("")}
	if got := restartsOf(t, prior, v); got != "" {
		t.Errorf("an imported node restarts for no kernel: %s", got)
	}
}
