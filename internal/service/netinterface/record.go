package netinterface

import (
	"encoding/json"
	"net/netip"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// Record is what the machine keeps of an interface that this provider configured. It counts for as long as what keeps the
// configuration carries its mark.
type Record struct {
	Mark owner.Mark
	// Want is the interface as it was last configured.
	Want Interface
	// Before is what it had when this provider took it.
	Before hostnet.DeviceSnapshot
}

// written is a Record as it is written.
type written struct {
	Mark       string                 `json:"mark"`
	MTU        int                    `json:"mtu,omitempty"`
	Addressing hostnet.Addressing     `json:"addressing"`
	Backend    string                 `json:"backend"`
	Active     string                 `json:"active_backend"`
	Rollback   int                    `json:"rollback_timeout"`
	Before     hostnet.DeviceSnapshot `json:"before"`
}

// Render is the record as a file; ParseRecord is its inverse.
func (r Record) Render() []byte {
	return hostnet.RenderRecord(written{
		Mark: r.Mark.String(), MTU: r.Want.MTU, Addressing: r.Want.Addressing, Backend: r.Want.Backend, Active: r.Want.ActiveBackend,
		Rollback: int(r.Want.RollbackTimeout / time.Second), Before: r.Before,
	})
}

// ParseRecord reads the record of the interface of a name.
func ParseRecord(name string, text []byte) (Record, error) {
	var w written
	if err := json.Unmarshal(text, &w); err != nil {
		return Record{}, err
	}
	return Record{
		Mark: owner.Parse(w.Mark), Before: w.Before,
		Want: Interface{Name: name, MTU: w.MTU, Addressing: w.Addressing, Backend: w.Backend, ActiveBackend: w.Active, RollbackTimeout: time.Duration(w.Rollback) * time.Second},
	}, nil
}

// desire is what is desired of the machine's devices for the interface.
func (r Record) desire() hostnet.Desired {
	return hostnet.Desired{Backend: r.Want.ActiveBackend, Mark: r.Mark, Devices: []hostnet.Device{{Name: r.Want.Name, MTU: r.Want.MTU, Addressing: r.Want.Addressing, Before: r.Before}}}
}

// readInterface is the interface as the machine has it: of what was configured, what is there.
func (r Record) readInterface(m hostnet.Machine) Interface {
	i := r.Want
	link, _ := m.Link(i.Name)
	i.Active, i.MAC = m.Prefixes(i.Name), link.Address
	if i.MTU != 0 {
		i.MTU = link.MTU
	}
	has := m.Settings(i.Name)
	for _, p := range i.Active {
		has = append(has, hostnet.AddressSetting(p)) // of which a router may advertise one
	}
	lost := func(s hostnet.Setting) bool { return !slices.ContainsFunc(has, s.Meant) }
	i.Addresses = slices.DeleteFunc(slices.Clone(i.Addresses), func(p netip.Prefix) bool { return lost(hostnet.AddressSetting(p)) })
	i.Gateways = slices.DeleteFunc(slices.Clone(i.Gateways), func(g netip.Addr) bool { return lost(hostnet.RouteSetting(hostnet.Everywhere(g), g, i.Metric)) })
	i.Routes = slices.DeleteFunc(slices.Clone(i.Routes), func(s hostnet.StaticRoute) bool { return lost(hostnet.RouteSetting(s.To, s.Via, s.Metric)) })
	if i.DHCP && len(m.Addressing(i.Name).Addresses) == 0 && !m.Addressing(i.Name).DHCP {
		i.DHCP = false // no lease, and nothing that asks for one
	}
	return i
}
