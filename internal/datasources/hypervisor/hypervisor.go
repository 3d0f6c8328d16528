// Package hypervisor is the data source virtcluster_hypervisor: what a hypervisor is and what it offers.
package hypervisor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values/computed"
)

// New makes the data source.
func New() datasource.DataSource {
	return crud.NewSource(crud.Source[model]{Name: "hypervisor", Schema: hypervisorSchema(), Read: readHypervisor})
}

type model struct {
	Hypervisor      types.String   `tfsdk:"hypervisor"`
	URI             types.String   `tfsdk:"uri"`
	Hostname        types.String   `tfsdk:"hostname"`
	LibvirtVersion  types.String   `tfsdk:"libvirt_version"`
	EmulatorVersion types.String   `tfsdk:"emulator_version"`
	Architecture    types.String   `tfsdk:"architecture"`
	CPUModel        types.String   `tfsdk:"cpu_model"`
	CPUs            types.Int64    `tfsdk:"cpus"`
	MemoryMiB       types.Int64    `tfsdk:"memory_mib"`
	FreeMemoryMiB   types.Int64    `tfsdk:"free_memory_mib"`
	KVM             types.Bool     `tfsdk:"kvm"`
	Nested          types.Bool     `tfsdk:"nested"`
	Firmware        []types.String `tfsdk:"firmware"`
	FirmwareFiles   []types.String `tfsdk:"firmware_files"`
	Machines        []types.String `tfsdk:"machines"`
}

func hypervisorSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "What a hypervisor is and what it offers to virtual machines.",
		Attributes: map[string]schema.Attribute{
			"hypervisor":       schema.StringAttribute{Validators: []validator.String{values.Name}, Optional: true, MarkdownDescription: "Which of the provider's `hypervisors` to ask. Default: the provider's `uri`."},
			"uri":              computed.Text("The libvirt URI that was asked."),
			"hostname":         computed.Text("Host name of the machine."),
			"libvirt_version":  computed.Text("Version of libvirt, such as `9.0.0`."),
			"emulator_version": computed.Text("Version of QEMU, such as `7.2.11`."),
			"architecture":     computed.Text("Architecture of the machine, such as `x86_64`."),
			"cpu_model":        computed.Text("The machine's CPU as libvirt names it; null where libvirt does not know it."),
			"cpus":             computed.Number("Number of logical CPUs."),
			"memory_mib":       computed.Number("The machine's memory in MiB."),
			"free_memory_mib":  computed.Number("Memory that nothing is in now, in MiB; what the kernel keeps in its caches and would give back is not counted."),
			"kvm":              computed.Flag("Whether libvirt offers hardware virtualisation (`type = \"kvm\"`). Whether a guest boots with it, only a guest can tell."),
			"nested":           computed.Flag("Whether guests can have hardware virtualisation of their own."),
			"firmware":         computed.Texts("What `firmware` of a node can be here: `bios`, `uefi`, `uefi-secure`."),
			"firmware_files":   computed.Texts("Firmware images that libvirt knows, as paths on the hypervisor."),
			"machines":         computed.Texts("Machine types that it offers to 64-bit guests, such as `q35` and `pc`."),
		},
	}
}

func readHypervisor(ctx context.Context, p crud.ProviderData, m *model) diag.Diagnostics {
	f := p.Fleet
	c, err := f.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err == nil {
		err = m.fillModel(ctx, c)
	}
	what := "the hypervisor"
	if name := m.Hypervisor.ValueString(); name != "" {
		what = fmt.Sprintf("hypervisor %q", name)
	}
	return crud.NewReadFailures(what, err)
}

// fillModel fills the model with what the hypervisor answers.
func (m *model) fillModel(ctx context.Context, c *hypervisor.Client) error {
	host, err := c.Host(ctx)
	if err != nil {
		return err
	}
	caps, err := c.HostCapabilities(ctx)
	if err != nil {
		return err
	}
	m.URI, m.Hostname = types.StringValue(c.URI()), types.StringValue(host.Hostname)
	m.LibvirtVersion, m.EmulatorVersion = types.StringValue(host.Libvirt), types.StringValue(host.Emulator)
	m.CPUs = types.Int64Value(int64(host.CPUs))
	m.MemoryMiB, m.FreeMemoryMiB = types.Int64Value(int64(host.Memory>>20)), types.Int64Value(int64(host.Free>>20))
	m.Architecture, m.CPUModel = types.StringNull(), types.StringNull()
	if cpu := caps.Host.CPU; cpu != nil {
		m.Architecture = types.StringValue(cpu.Arch)
		if cpu.Model != "" {
			m.CPUModel = types.StringValue(cpu.Model)
		}
	}
	m.Machines = toTexts(machineTypes(caps))
	kvm := offersDomain(caps, "kvm")
	m.KVM = types.BoolValue(kvm)
	kind := "qemu"
	if kvm {
		kind = "kvm"
	}
	offer, err := c.DomainCapabilities(ctx, kind, "q35")
	if hypervisor.IsUnsupported(err) {
		offer, err = &libvirtxml.DomainCaps{}, nil
	}
	if err != nil {
		return err
	}
	var features []string
	if kvm {
		if features, err = c.HostModelFeatures(ctx, offer); err != nil {
			return err
		}
	}
	m.Nested = types.BoolValue(offersNesting(features))
	kinds, files := listFirmware(offer)
	m.Firmware, m.FirmwareFiles = toTexts(kinds), toTexts(files)
	return nil
}

// virtualisedGuests are the 64-bit fully virtualised ones.
func virtualisedGuests(caps *libvirtxml.Caps) []libvirtxml.CapsGuest {
	return slices.DeleteFunc(slices.Clone(caps.Guests), func(g libvirtxml.CapsGuest) bool { return g.OSType != "hvm" || g.Arch.Name != "x86_64" })
}

// offersDomain says whether 64-bit guests can be of a type.
func offersDomain(caps *libvirtxml.Caps, kind string) bool {
	return slices.ContainsFunc(virtualisedGuests(caps), func(g libvirtxml.CapsGuest) bool {
		return slices.ContainsFunc(g.Arch.Domains, func(d libvirtxml.CapsGuestDomain) bool { return d.Type == kind })
	})
}

func machineTypes(caps *libvirtxml.Caps) []string {
	var names []string
	for _, g := range virtualisedGuests(caps) {
		for _, m := range g.Arch.Machines {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// offersNesting says whether the processor that guests can have has the virtualisation feature itself: Intel's or AMD's.
func offersNesting(features []string) bool {
	return slices.Contains(features, "vmx") || slices.Contains(features, "svm")
}

// listFirmware lists what a node's firmware can be, and the files for it.
func listFirmware(offer *libvirtxml.DomainCaps) (kinds, files []string) {
	kinds = []string{"bios"}
	if offer.OS == nil || offer.OS.Loader == nil {
		return kinds, nil
	}
	files = slices.Clone(offer.OS.Loader.Values)
	slices.Sort(files)
	efi, secure := false, false
	for _, e := range offer.OS.Enums {
		efi = efi || e.Name == "firmware" && slices.Contains(e.Values, "efi")
	}
	for _, e := range offer.OS.Loader.Enums {
		secure = secure || e.Name == "secure" && slices.Contains(e.Values, "yes")
	}
	if efi {
		kinds = append(kinds, "uefi")
	}
	if efi && secure && slices.ContainsFunc(files, func(f string) bool {
		return strings.Contains(strings.ToLower(f), "sec") || strings.Contains(f, "ms.fd")
	}) {
		kinds = append(kinds, "uefi-secure")
	}
	return kinds, files
}

func toTexts(list []string) []types.String {
	values := []types.String{}
	for _, text := range list {
		values = append(values, types.StringValue(text))
	}
	return values
}
