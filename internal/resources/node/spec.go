package node

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// reader reads plain values and notes the attributes that are not known yet.
type reader struct{ unknown machine.Places }

func (r *reader) noteUnknown(v attr.Value, path []any) {
	if v.IsUnknown() {
		r.unknown.Add(path...)
	}
}

func (r *reader) readText(v types.String, path ...any) string {
	r.noteUnknown(v, path)
	return v.ValueString()
}

func (r *reader) readNumber(v types.Int64, path ...any) int64 {
	r.noteUnknown(v, path)
	return v.ValueInt64()
}

func (r *reader) readFlag(v types.Bool, path ...any) bool {
	r.noteUnknown(v, path)
	return v.ValueBool()
}

// readAddress reads an address or a prefix in canonical form.
func (r *reader) readAddress(v types.String, path ...any) string {
	return machine.CanonicalAddress(r.readText(v, path...))
}

// readTexts reads a list. One with an unknown element is unknown, and has the others.
func (r *reader) readTexts(l types.List, path ...any) []string {
	r.noteUnknown(l, path)
	for _, e := range l.Elements() {
		r.noteUnknown(e, path)
	}
	return convert.KnownTexts(l)
}

// readAddresses reads a list of addresses or prefixes in canonical form.
func (r *reader) readAddresses(l types.List, path ...any) []string {
	all := r.readTexts(l, path...)
	for n := range all {
		all[n] = machine.CanonicalAddress(all[n])
	}
	return all
}

// toSpec converts the model; an unknown becomes a zero value that is noted as unknown.
func (m *model) toSpec(ctx context.Context) (*machine.Spec, diag.Diagnostics) {
	v, diags := m.decodeNested(ctx)
	return v.toSpec(), diags
}

// toSpec converts a version.
func (v *version) toSpec() *machine.Spec {
	r := &reader{unknown: machine.Places{}}
	s := &machine.Spec{
		Hypervisor: r.readText(v.Hypervisor, "hypervisor"), UUID: v.ID.ValueString(), Unknown: r.unknown,
		Name: r.readText(v.Name, "name"), Role: r.readText(v.Role, "role"),
		Hardware: machine.Hardware{
			Type: r.readText(v.Type, "type"), Chipset: r.readText(v.Machine, "machine"), Firmware: r.readText(v.Firmware, "firmware"),
			MemoryMiB: r.readNumber(v.MemoryMiB, "memory_mib"), MaxMemoryMiB: r.readNumber(v.MaxMemoryMiB, "max_memory_mib"),
			VCPUs: r.readNumber(v.VCPUs, "vcpus"), MaxVCPUs: r.readNumber(v.MaxVCPUs, "max_vcpus"),
			Graphics: r.readText(v.Graphics, "graphics"), GuestAgent: r.readFlag(v.GuestAgent, "guest_agent"), RNG: r.readFlag(v.RNG, "rng"),
		},
		Ignition: r.readText(v.Ignition, "ignition"), Butane: r.readText(v.Butane, "butane"),
		Autostart: r.readFlag(v.Autostart, "autostart"), Running: r.readFlag(v.Running, "running"), AllowRestart: r.readFlag(v.AllowRestart, "allow_restart"),
		ShutdownTimeout: r.readText(v.ShutdownTimeout, "shutdown_timeout"), WaitFor: r.readText(v.WaitFor, "wait_for"), Timeouts: v.markedTimeouts(),
		State: r.readText(v.State, "state"),
	}
	for name, absent := range map[string]bool{
		"cpu": v.CPU == nil, "root_disk": v.Root == nil, "disks": v.Disks == nil, "boot": v.Boot == nil,
		"network_interfaces": v.Interfaces == nil, "cloud_init": v.CloudInit == nil, "console": v.Console == nil,
	} {
		if v.isUnknown(name, absent) {
			r.unknown.Add(name)
		}
	}
	r.noteUnknown(v.Labels, []any{"labels"})
	s.Labels = readKnownTexts(v.Labels)
	if r.noteUnknown(v.Addresses, []any{"addresses"}); convert.Known(v.Addresses) {
		s.Addresses = readKnownTexts(v.Addresses)
	}
	if c := v.CPU; c != nil {
		s.CPU = machine.CPU{Mode: r.readText(c.Mode, "cpu", "mode"), Model: r.readText(c.Model, "cpu", "model"), Nested: c.Nested.ValueBoolPointer()}
		r.noteUnknown(c.Nested, []any{"cpu", "nested"})
	}
	if c := v.Console; c != nil {
		s.Console = machine.Console{Type: r.readText(c.Type, "console", "type"), LogFile: r.readText(c.LogFile, "console", "log_file")}
	}
	s.Boot.Order = machine.DefaultOrder(v.Root != nil)
	if b := v.Boot; b != nil {
		s.Boot = machine.Boot{
			Order: r.readTexts(b.Order, "boot", "order"), Kernel: r.readText(b.Kernel, "boot", "kernel"),
			Initrd: r.readText(b.Initrd, "boot", "initrd"), Cmdline: r.readText(b.Cmdline, "boot", "cmdline"),
		}
	}
	if c := v.CloudInit; c != nil {
		s.CloudInit = &machine.CloudInit{
			UserData: r.readText(c.UserData, "cloud_init", "user_data"), MetaData: r.readText(c.MetaData, "cloud_init", "meta_data"),
			VendorData: r.readText(c.VendorData, "cloud_init", "vendor_data"), NetworkConfig: r.readText(c.NetworkConfig, "cloud_init", "network_config"),
		}
	}
	v.readDisks(r, s)
	for n := range v.Interfaces {
		s.Interfaces = append(s.Interfaces, v.Interfaces[n].toSpec(r, n))
	}
	return s
}

func (v *version) readDisks(r *reader, s *machine.Spec) {
	if d := v.Root; d != nil {
		s.Root = &machine.RootSpec{
			Image: r.readText(d.Image, "root_disk", "image"), SizeGiB: r.readNumber(d.SizeGiB, "root_disk", "size_gib"),
			Pool: r.readText(d.Pool, "root_disk", "pool"), Bus: r.readText(d.Bus, "root_disk", "bus"),
		}
	}
	s.Disks = map[string]machine.DiskSpec{}
	for key, d := range v.Disks {
		k := service.Key(key)
		s.Disks[key] = machine.DiskSpec{
			SizeGiB: r.readNumber(d.SizeGiB, "disks", k, "size_gib"), Pool: r.readText(d.Pool, "disks", k, "pool"),
			Bus: r.readText(d.Bus, "disks", k, "bus"), Volume: r.readText(d.Volume, "disks", k, "volume"),
		}
	}
}

func (i *interfaceModel) toSpec(r *reader, n int) machine.InterfaceSpec {
	at := func(attribute string) []any { return []any{"network_interfaces", n, attribute} }
	s := machine.InterfaceSpec{
		Network: r.readText(i.Network, at("network")...), Bridge: r.readText(i.Bridge, at("bridge")...), Name: r.readText(i.Name, at("name")...),
		MAC: machine.CanonicalMAC(r.readText(i.MAC, at("mac")...)), IP: r.readAddress(i.IP, at("ip")...), IPv6: r.readAddress(i.IPv6, at("ipv6")...),
		Hostname: r.readText(i.Hostname, at("hostname")...), Addresses: r.readAddresses(i.Addresses, at("addresses")...),
		Gateway: r.readAddress(i.Gateway, at("gateway")...), Nameservers: r.readAddresses(i.Nameservers, at("nameservers")...),
		MTU: r.readNumber(i.MTU, at("mtu")...), Model: r.readText(i.Model, at("model")...),
		PortSecurity: r.readFlag(i.PortSecurity, at("port_security")...), AllowedAddresses: r.readAddresses(i.AllowedAddresses, at("allowed_addresses")...),
	}
	s.SecurityRules = readSecurity(r, i.SecurityRules, at("security_rules"))
	r.noteUnknown(i.Routes, at("routes"))
	for _, e := range i.Routes.Elements() {
		o, ok := e.(types.Object)
		if r.noteUnknown(e, at("routes")); !ok || !convert.Known(o) {
			continue
		}
		cidr, _ := o.Attributes()["cidr"].(types.String)
		via, _ := o.Attributes()["via"].(types.String)
		r.noteUnknown(cidr, at("routes"))
		r.noteUnknown(via, at("routes"))
		s.Routes = append(s.Routes, machine.Route{CIDR: machine.CanonicalAddress(cidr.ValueString()), Via: machine.CanonicalAddress(via.ValueString())})
	}
	return s
}

// markedTimeouts returns the durations of operations as they were written; nil where none were.
func (v *version) markedTimeouts() *machine.MarkedTimeouts {
	if !convert.Known(v.Timeouts) {
		return nil
	}
	text := func(operation string) string {
		t, _ := v.Timeouts.Attributes()[operation].(types.String)
		return t.ValueString()
	}
	return &machine.MarkedTimeouts{Create: text("create"), Read: text("read"), Update: text("update"), Delete: text("delete")}
}

// readKnownTexts converts a map of strings; unknown elements are left out.
func readKnownTexts(m types.Map) map[string]string {
	all := map[string]string{}
	for name, e := range m.Elements() {
		if s, ok := e.(types.String); ok && convert.Known(s) {
			all[name] = s.ValueString()
		}
	}
	return all
}
