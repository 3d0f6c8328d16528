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

func (r *reader) note(v attr.Value, path []any) {
	if v.IsUnknown() {
		r.unknown.Add(path...)
	}
}

func (r *reader) text(v types.String, path ...any) string {
	r.note(v, path)
	return v.ValueString()
}

func (r *reader) number(v types.Int64, path ...any) int64 {
	r.note(v, path)
	return v.ValueInt64()
}

func (r *reader) flag(v types.Bool, path ...any) bool {
	r.note(v, path)
	return v.ValueBool()
}

// address reads an address or a prefix in canonical form.
func (r *reader) address(v types.String, path ...any) string {
	return machine.CanonicalAddress(r.text(v, path...))
}

// texts reads a list. One with an unknown element is unknown, and has the others.
func (r *reader) texts(l types.List, path ...any) []string {
	r.note(l, path)
	var all []string
	for _, e := range l.Elements() {
		r.note(e, path)
		if s, ok := e.(types.String); ok && convert.Known(s) {
			all = append(all, s.ValueString())
		}
	}
	return all
}

// addresses reads a list of addresses or prefixes in canonical form.
func (r *reader) addresses(l types.List, path ...any) []string {
	all := r.texts(l, path...)
	for n := range all {
		all[n] = machine.CanonicalAddress(all[n])
	}
	return all
}

// spec converts the model; an unknown becomes a zero value that is noted as unknown.
func (m *model) spec(ctx context.Context) (*machine.Spec, diag.Diagnostics) {
	p, diags := m.split(ctx)
	return (&version{*m, p}).spec(), diags
}

// spec converts a version.
func (v *version) spec() *machine.Spec {
	r := &reader{unknown: machine.Places{}}
	s := &machine.Spec{
		Hypervisor: r.text(v.Hypervisor, "hypervisor"), UUID: v.ID.ValueString(), Unknown: r.unknown,
		Name: r.text(v.Name, "name"), Role: r.text(v.Role, "role"), Type: r.text(v.Type, "type"),
		MemoryMiB: r.number(v.MemoryMiB, "memory_mib"), MaxMemoryMiB: r.number(v.MaxMemoryMiB, "max_memory_mib"),
		VCPUs: r.number(v.VCPUs, "vcpus"), MaxVCPUs: r.number(v.MaxVCPUs, "max_vcpus"),
		Chipset: r.text(v.Machine, "machine"), Firmware: r.text(v.Firmware, "firmware"),
		Ignition: r.text(v.Ignition, "ignition"), Butane: r.text(v.Butane, "butane"),
		Autostart: r.flag(v.Autostart, "autostart"), Running: r.flag(v.Running, "running"), AllowRestart: r.flag(v.AllowRestart, "allow_restart"),
		ShutdownTimeout: r.text(v.ShutdownTimeout, "shutdown_timeout"), WaitFor: r.text(v.WaitFor, "wait_for"), Timeouts: v.timeouts(),
		Graphics: r.text(v.Graphics, "graphics"), GuestAgent: r.flag(v.GuestAgent, "guest_agent"), RNG: r.flag(v.RNG, "rng"),
		State: r.text(v.State, "state"),
	}
	r.note(v.Labels, []any{"labels"})
	s.Labels = textMap(v.Labels)
	if r.note(v.Addresses, []any{"addresses"}); convert.Known(v.Addresses) {
		s.Addresses = textMap(v.Addresses)
	}
	r.note(v.model.CPU, []any{"cpu"})
	if c := v.parts.CPU; c != nil {
		s.CPU = machine.CPU{Mode: r.text(c.Mode, "cpu", "mode"), Model: r.text(c.Model, "cpu", "model"), Nested: c.Nested.ValueBoolPointer()}
		r.note(c.Nested, []any{"cpu", "nested"})
	}
	r.note(v.model.Console, []any{"console"})
	if c := v.parts.Console; c != nil {
		s.Console = machine.Console{Type: r.text(c.Type, "console", "type"), LogFile: r.text(c.LogFile, "console", "log_file")}
	}
	r.note(v.model.Boot, []any{"boot"})
	s.Boot.Order = machine.DefaultOrder(v.Root != nil)
	if b := v.parts.Boot; b != nil {
		s.Boot = machine.Boot{
			Order: r.texts(b.Order, "boot", "order"), Kernel: r.text(b.Kernel, "boot", "kernel"),
			Initrd: r.text(b.Initrd, "boot", "initrd"), Cmdline: r.text(b.Cmdline, "boot", "cmdline"),
		}
	}
	r.note(v.model.CloudInit, []any{"cloud_init"})
	if c := v.parts.CloudInit; c != nil {
		s.CloudInit = &machine.CloudInit{
			UserData: r.text(c.UserData, "cloud_init", "user_data"), MetaData: r.text(c.MetaData, "cloud_init", "meta_data"),
			VendorData: r.text(c.VendorData, "cloud_init", "vendor_data"), NetworkConfig: r.text(c.NetworkConfig, "cloud_init", "network_config"),
		}
	}
	v.specDisks(r, s)
	r.note(v.NetworkInterfaces, []any{"network_interfaces"})
	for n := range v.parts.Interfaces {
		s.Interfaces = append(s.Interfaces, v.parts.Interfaces[n].spec(r, n))
	}
	return s
}

func (v *version) specDisks(r *reader, s *machine.Spec) {
	r.note(v.RootDisk, []any{"root_disk"})
	if d := v.Root; d != nil {
		s.Root = &machine.RootSpec{
			Image: r.text(d.Image, "root_disk", "image"), SizeGiB: r.number(d.SizeGiB, "root_disk", "size_gib"),
			Pool: r.text(d.Pool, "root_disk", "pool"), Bus: r.text(d.Bus, "root_disk", "bus"),
		}
	}
	r.note(v.model.Disks, []any{"disks"})
	s.Disks = map[string]machine.DiskSpec{}
	for key, d := range v.parts.Disks {
		k := service.Key(key)
		s.Disks[key] = machine.DiskSpec{
			SizeGiB: r.number(d.SizeGiB, "disks", k, "size_gib"), Pool: r.text(d.Pool, "disks", k, "pool"),
			Bus: r.text(d.Bus, "disks", k, "bus"), Volume: r.text(d.Volume, "disks", k, "volume"),
		}
	}
}

func (i *interfaceModel) spec(r *reader, n int) machine.InterfaceSpec {
	at := func(attribute string) []any { return []any{"network_interfaces", n, attribute} }
	s := machine.InterfaceSpec{
		Network: r.text(i.Network, at("network")...), Bridge: r.text(i.Bridge, at("bridge")...), Name: r.text(i.Name, at("name")...),
		MAC: machine.CanonicalMAC(r.text(i.MAC, at("mac")...)), IP: r.address(i.IP, at("ip")...), IPv6: r.address(i.IPv6, at("ipv6")...),
		Hostname: r.text(i.Hostname, at("hostname")...), Addresses: r.addresses(i.Addresses, at("addresses")...),
		Gateway: r.address(i.Gateway, at("gateway")...), Nameservers: r.addresses(i.Nameservers, at("nameservers")...),
		MTU: r.number(i.MTU, at("mtu")...), Model: r.text(i.Model, at("model")...),
		PortSecurity: r.flag(i.PortSecurity, at("port_security")...), AllowedAddresses: r.addresses(i.AllowedAddresses, at("allowed_addresses")...),
	}
	r.note(i.Routes, at("routes"))
	for _, e := range i.Routes.Elements() {
		o, ok := e.(types.Object)
		if r.note(e, at("routes")); !ok || !convert.Known(o) {
			continue
		}
		cidr, _ := o.Attributes()["cidr"].(types.String)
		via, _ := o.Attributes()["via"].(types.String)
		r.note(cidr, at("routes"))
		r.note(via, at("routes"))
		s.Routes = append(s.Routes, machine.Route{CIDR: machine.CanonicalAddress(cidr.ValueString()), Via: machine.CanonicalAddress(via.ValueString())})
	}
	return s
}

// timeouts are the durations of operations as they were written; nil where none were.
func (v *version) timeouts() *machine.MarkedTimeouts {
	if !convert.Known(v.Timeouts) {
		return nil
	}
	text := func(operation string) string {
		t, _ := v.Timeouts.Attributes()[operation].(types.String)
		return t.ValueString()
	}
	return &machine.MarkedTimeouts{Create: text("create"), Read: text("read"), Update: text("update"), Delete: text("delete")}
}

// textMap converts a map of strings; unknown elements are left out.
func textMap(m types.Map) map[string]string {
	all := map[string]string{}
	for name, e := range m.Elements() {
		if s, ok := e.(types.String); ok && convert.Known(s) {
			all[name] = s.ValueString()
		}
	}
	return all
}
