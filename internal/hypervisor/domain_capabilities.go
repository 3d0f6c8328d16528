package hypervisor

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// DomainCapabilities is what the hypervisor offers to a machine of a type ("kvm", "qemu") and a chipset
// ("q35", "pc-q35-7.2"; "" for the hypervisor's default). libvirt refuses what it does not offer at all.
func (c *Client) DomainCapabilities(ctx context.Context, virtualisation, chipset string) (*libvirtxml.DomainCaps, error) {
	what := fmt.Sprintf("ask what the hypervisor offers to a machine of type %s and chipset %q", virtualisation, chipset)
	text, err := callIdempotent(ctx, c, what, func(l *libvirt.Libvirt) (string, error) {
		return l.ConnectGetDomainCapabilities(nil, libvirt.OptString{"x86_64"}, toOptString(chipset), toOptString(virtualisation), 0)
	})
	if err != nil {
		return nil, err
	}
	caps := &libvirtxml.DomainCaps{}
	if err := caps.Unmarshal(text); err != nil {
		return nil, fmt.Errorf("cannot understand the domain capabilities: %w", err)
	}
	return caps, nil
}

// HostModelFeatures are all features of the processor that the hypervisor offers as "host-model"; none where it does not
// offer that. The capabilities name a processor and only what differs from it: AMD's all have svm, so it is not listed.
func (c *Client) HostModelFeatures(ctx context.Context, caps *libvirtxml.DomainCaps) ([]string, error) {
	text, err := renderHostModel(caps)
	if text == "" || err != nil {
		return nil, err
	}
	expanded, err := callIdempotent(ctx, c, "ask for the features of the hypervisor's processor", func(l *libvirt.Libvirt) (string, error) {
		return l.ConnectBaselineHypervisorCPU(nil, libvirt.OptString{"x86_64"}, toOptString(caps.Machine), toOptString(caps.Domain),
			[]string{text}, uint32(libvirt.ConnectBaselineCPUExpandFeatures))
	})
	if err != nil {
		return nil, err
	}
	var cpu libvirtxml.DomainCPU
	if err := cpu.Unmarshal(expanded); err != nil {
		return nil, fmt.Errorf("cannot understand the features of the hypervisor's processor: %w", err)
	}
	var all []string
	for _, f := range cpu.Features {
		if f.Policy != "disable" && f.Policy != "forbid" {
			all = append(all, f.Name)
		}
	}
	return all, nil
}

// renderHostModel renders the processor of mode "host-model" for libvirt to expand; "" where it is not offered.
func renderHostModel(caps *libvirtxml.DomainCaps) (string, error) {
	if caps.CPU == nil {
		return "", nil
	}
	for _, mode := range caps.CPU.Modes {
		if mode.Name != "host-model" || mode.Supported != "yes" || len(mode.Models) == 0 {
			continue
		}
		cpu := libvirtxml.DomainCPU{Mode: "custom", Match: "exact", Model: &libvirtxml.DomainCPUModel{Value: mode.Models[0].Name}, Vendor: mode.Vendor}
		for _, f := range mode.Features {
			cpu.Features = append(cpu.Features, libvirtxml.DomainCPUFeature(f))
		}
		return cpu.Marshal()
	}
	return "", nil
}

// HostCapabilities is what the hypervisor is and which guests it offers.
func (c *Client) HostCapabilities(ctx context.Context) (*libvirtxml.Caps, error) {
	text, err := callIdempotent(ctx, c, "ask for the hypervisor's capabilities", func(l *libvirt.Libvirt) (string, error) {
		return l.ConnectGetCapabilities()
	})
	if err != nil {
		return nil, err
	}
	caps := &libvirtxml.Caps{}
	if err := caps.Unmarshal(text); err != nil {
		return nil, fmt.Errorf("cannot understand the hypervisor's capabilities: %w", err)
	}
	return caps, nil
}

// LacksForCPU returns what a machine's processor needs that the hypervisor does not have for such a machine, in libvirt's words; "" for
// nothing.
func (c *Client) LacksForCPU(ctx context.Context, d *libvirtxml.Domain) (string, error) {
	cpu := *d.CPU
	cpu.Numa, cpu.Topology = nil, nil
	text, err := cpu.Marshal()
	if err != nil {
		return "", err
	}
	_, err = callIdempotent(ctx, c, "compare the processor of domain "+d.Name, func(l *libvirt.Libvirt) (int32, error) {
		return l.ConnectCompareHypervisorCPU(nil, libvirt.OptString{d.OS.Type.Arch}, toOptString(d.OS.Type.Machine), toOptString(d.Type), text,
			uint32(libvirt.ConnectCompareCPUFailIncompatible))
	})
	return sayIncompatible(err)
}

// LacksForHost returns what another hypervisor's own processor has that this one's lacks, in libvirt's words; "" for nothing.
func (c *Client) LacksForHost(ctx context.Context, other *libvirtxml.Caps) (string, error) {
	if other.Host.CPU == nil {
		return "", nil
	}
	text, err := xml.Marshal(other.Host.CPU)
	if err != nil {
		return "", err
	}
	_, err = callIdempotent(ctx, c, "compare the processors of two hypervisors", func(l *libvirt.Libvirt) (int32, error) {
		return l.ConnectCompareCPU(string(text), libvirt.ConnectCompareCPUFailIncompatible)
	})
	return sayIncompatible(err)
}

// sayIncompatible returns libvirt's word that processors do not go together, or the error where it is another one.
func sayIncompatible(err error) (string, error) {
	if said, ok := errors.AsType[*Error](err); ok && said.Code == int(libvirt.ErrCPUIncompatible) {
		return said.Message, nil
	}
	return "", err
}

// HostMemory is the hypervisor's whole memory in bytes.
func (c *Client) HostMemory(ctx context.Context) (uint64, error) {
	return callIdempotent(ctx, c, "ask for the hypervisor's memory", func(l *libvirt.Libvirt) (uint64, error) {
		_, kib, _, _, _, _, _, _, err := l.NodeGetInfo()
		return kib << 10, err
	})
}

func toOptString(s string) libvirt.OptString {
	if s == "" {
		return nil
	}
	return libvirt.OptString{s}
}
