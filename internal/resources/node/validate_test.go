package node

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

func TestProblems(t *testing.T) {
	t.Parallel()
	with := func(change func(*version)) *version {
		v := planOf(&version{
			plain:  plain{Name: text("n"), Type: text("qemu")},
			nested: nested{Root: &rootModel{Image: text("/i")}, Interfaces: []interfaceModel{{Network: text("a"), IP: text("10.0.0.1")}}},
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
		"nested under emulation":   {with(func(v *version) { v.CPU.Nested = types.BoolValue(true) }), "[cpu nested]", "kvm"},
		"custom without a model":   {with(func(v *version) { v.CPU = &cpuModel{Mode: text("custom")} }), "[cpu model]", "needs a model"},
		"log of no console":        {with(func(v *version) { v.Console = &consoleModel{Type: text("none"), LogFile: text("/l")} }), "[console log_file]", "leave out log_file"},
		"console at no port":       {with(func(v *version) { v.Console = &consoleModel{Type: text("tcp")} }), "[console port]", "write one"},
		"port of no console":       {with(func(v *version) { v.Console = &consoleModel{Type: text("pty"), Port: types.Int64Value(1)} }), "[console type]", "leave them out"},
		"version of no TPM":        {with(func(v *version) { v.TPM = asObject(machine.TPM{Model: "none", Version: "1.2"}) }), "[tpm version]", "leave out version"},
		"TPM 1.2 by CRB":           {with(func(v *version) { v.TPM = asObject(machine.TPM{Model: "tpm-crb", Version: "1.2"}) }), "[tpm version]", "tpm-tis"},
		"action of no watchdog":    {with(func(v *version) { v.Watchdog = asObject(machine.Watchdog{Model: "none", Action: "pause"}) }), "[watchdog action]", "leave out action"},
		"native I/O with a cache":  {with(func(v *version) { v.Root.IO = text("native") }), "[root_disk io]", `cache = "none"`},
		"thread of a SCSI disk":    {with(func(v *version) { v.Root.Bus, v.Root.IOThread = text("scsi"), types.Int64Value(1) }), "[root_disk iothread]", "leave out iothread"},
		"own disk readonly":        {with(func(v *version) { v.Root.ReadOnly = types.BoolValue(true) }), "[root_disk readonly]", "write volume"},
		"own disk shared":          {with(func(v *version) { v.Root.Shareable = types.BoolValue(true) }), "[root_disk shareable]", "write volume"},
		"limit of all and a part": {with(func(v *version) {
			v.Root.Limits = asObject(machine.DiskLimits{TotalIOPS: 5, ReadIOPS: 3})
		}), "[root_disk limits]", "only one of them"},
		"initrd without a kernel": {with(func(v *version) { v.Boot = &bootModel{Initrd: text("/i")} }), "[boot kernel]", "go with a kernel"},
		"empty root without size": {with(func(v *version) { v.Root = &rootModel{} }), "[root_disk]", "size_gib"},
		"disk without size":       {with(func(v *version) { v.Disks = map[string]diskModel{"d": {}} }), "[disks d]", "size_gib"},
		"disk called root":        {with(func(v *version) { v.Disks = map[string]diskModel{"root": {SizeGiB: types.Int64Value(1)}} }), "[disks root]", "taken"},
		"volume with a size": {with(func(v *version) {
			v.Disks = map[string]diskModel{"d": {Volume: text("/v"), SizeGiB: types.Int64Value(1)}}
		}), "[disks d size_gib]", "own size"},
		"a volume twice": {with(func(v *version) {
			v.Disks = map[string]diskModel{"a": {Volume: text("/v")}, "b": {Volume: text("/v")}, "c": {Volume: text("/w")}}
		}), "[disks b volume]", `disk "a" of this node has it`},
		"ports of none":       {with(func(v *version) { v.Interfaces[0].SecurityRules = rules([4]string{"ingress", "VRRP", "22", ""}) }), "[network_interfaces 0 security_rules 0 ports]", "has no ports"},
		"remote of no family": {with(func(v *version) { v.Interfaces[0].SecurityRules = rules([4]string{"ingress", "icmp", "", "fd00::/64"}) }), "[network_interfaces 0 security_rules 0 remote]", "icmp"},
		"one rule twice": {with(func(v *version) {
			v.Interfaces[0].SecurityRules = rules([4]string{"ingress", "tcp", "22", "b"}, [4]string{"ingress", "tcp", "22", "b"})
		}), "[network_interfaces 0 security_rules 1 direction]", "earlier rule"},
		"no network":               {with(func(v *version) { v.Interfaces[0].Network = types.StringNull() }), "[network_interfaces 0 network]", "network or bridge"},
		"bad address":              {with(func(v *version) { v.Interfaces[0].IP = text("10.0.0.300") }), "[network_interfaces[0].ip]", "such as 10.0.0.254, not"},
		"IPv6 as ip":               {with(func(v *version) { v.Interfaces[0].IP = text("fd00::1") }), "[network_interfaces 0 ip]", "does not belong here"},
		"address without a prefix": {with(func(v *version) { v.Interfaces[0].Addresses = convert.ListOrNull([]string{"10.0.0.9"}) }), "[network_interfaces[0].addresses[0]]", "prefix length"},
		"gateway elsewhere": {with(func(v *version) {
			i := &v.Interfaces[0]
			i.Addresses, i.Gateway = convert.ListOrNull([]string{"10.1.0.9/24"}), text("10.2.0.1")
		}), "[network_interfaces 0 gateway]", "could not reach"},
		"guard without an address": {with(func(v *version) {
			i := &v.Interfaces[0]
			i.IP, i.PortSecurity = types.StringNull(), types.BoolValue(true)
		}), "[network_interfaces 0 port_security]", "allowed_addresses"},
		"allowed without a guard": {with(func(v *version) { v.Interfaces[0].AllowedAddresses = convert.ListOrNull([]string{"10.0.0.9"}) }), "[network_interfaces 0 allowed_addresses]", "port_security"},
		"unknown address": {with(func(v *version) {
			i := &v.Interfaces[0]
			i.IP, i.PortSecurity = types.StringUnknown(), types.BoolValue(true)
		}), "", ""},
		"unknown list element": {with(func(v *version) {
			v.Interfaces[0].Addresses = types.ListValueMust(types.StringType, []attr.Value{types.StringUnknown()})
		}), "", ""},
		"user data of no kind":   {with(func(v *version) { v.CloudInit = &cloudInitModel{UserData: text("hostname: x")} }), "[cloud_init user_data]", "#cloud-config"},
		"broken user data":       {with(func(v *version) { v.CloudInit = &cloudInitModel{UserData: text("#cloud-config\na: [\n")} }), "[cloud_init user_data]", "line 2"},
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
			spec, diags := c.v.readSpec()
			got := spec.Validate()
			for _, d := range diags {
				got = append(got, service.Problem{Path: []any{d.(diag.DiagnosticWithPath).Path()}, Summary: d.Summary(), Detail: d.Detail()})
			}
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

func TestWhatTheKindsOfAnInterfaceRefuse(t *testing.T) {
	t.Parallel()
	plug := interfaceAttributes()
	rule := plug["security_rules"].(schema.ListNestedAttribute).NestedObject.Attributes
	for name, c := range map[string]struct {
		of            schema.Attribute
		written, want string
	}{
		"rule of no protocol":   {rule["protocol"], "tpc", "VRRP"},
		"rule of no direction":  {rule["direction"], "in", "ingress"},
		"ports backwards":       {rule["ports"], "23-22", "range"},
		"remote that is nobody": {rule["remote"], "10.0.0.300", "name of another node"},
		"bad MAC":               {plug["mac"], "52:54", "six bytes"},
		"multicast MAC":         {plug["mac"], "53:54:00:00:00:01", "for many machines"},
		"name with a space":     {plug["name"], "a b", "name of a network device"},
		"bad address":           {plug["gateway"], "10.0.0.300", "write an address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var resp validator.StringResponse
			for _, v := range c.of.(schema.StringAttribute).Validators {
				v.ValidateString(t.Context(), validator.StringRequest{ConfigValue: text(c.written)}, &resp)
			}
			if !resp.Diagnostics.HasError() || !strings.Contains(resp.Diagnostics[0].Detail(), c.want) {
				t.Errorf("%q: %v", c.written, resp.Diagnostics)
			}
		})
	}
}

func TestDisksDoNotShrink(t *testing.T) {
	t.Parallel()
	disk := func(gib int64) *version {
		return &version{nested: nested{Root: &rootModel{SizeGiB: types.Int64Value(gib)}, Disks: map[string]diskModel{"d": {SizeGiB: types.Int64Value(gib)}}}}
	}
	if got := disk(2).toSpec().ValidateChange(disk(3).toSpec()); len(got) != 2 {
		t.Errorf("problems of shrinking are %v", got)
	}
	if got := disk(3).toSpec().ValidateChange(disk(2).toSpec()); len(got) != 0 {
		t.Errorf("problems of growing are %v", got)
	}
}

func TestNoKernelIsNoRestart(t *testing.T) {
	t.Parallel()
	prior, v := &version{}, &version{}
	prior.Boot, v.Boot = &bootModel{}, &bootModel{Kernel: types.StringValue("")}
	if got := restartsOf(t, prior, v); got != "" {
		t.Errorf("an imported node restarts for no kernel: %s", got)
	}
}

// rules are security rules: direction, protocol, ports and remote of each.
func rules(all ...[4]string) types.List {
	var list []machine.SecurityRule
	for _, r := range all {
		list = append(list, machine.SecurityRule{Direction: r[0], Protocol: r[1], Ports: r[2], Remote: r[3]})
	}
	return convert.Value(list).(types.List)
}
