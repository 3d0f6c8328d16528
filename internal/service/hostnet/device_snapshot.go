package hostnet

import (
	"context"
	"fmt"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// DeviceSnapshot is a device as it was before this provider configured it.
type DeviceSnapshot struct {
	Name     string    `json:"name"`
	MTU      int       `json:"mtu"`
	Settings []Setting `json:"settings"`
	// Addressing is the same as configuration, and Manager what managed the device.
	Addressing Addressing `json:"addressing"`
	Manager    Manager    `json:"manager"`
	// MAC is the hardware address.
	MAC        string      `json:"mac"`
	Neighbours []Neighbour `json:"neighbours,omitempty"`
}

// SnapshotDevice returns what a device has now.
func (m Machine) SnapshotDevice(device string) DeviceSnapshot {
	link, _ := m.Link(device)
	return DeviceSnapshot{Name: device, MTU: link.MTU, Settings: m.Own(device), Addressing: m.Addressing(device), MAC: link.Address, Neighbours: m.NeighboursOf(device)}
}

// TakeSnapshot returns what a device has now, with what manages it and the name servers that come with it.
func TakeSnapshot(ctx context.Context, h host.Host, m Machine, manager Manager, device string) (DeviceSnapshot, error) {
	b := m.SnapshotDevice(device)
	b.Manager = manager
	return b, LookAtNames(ctx, h, device, manager, &b.Addressing)
}

// WarnOfMove says that a change takes from a device the address by which the machine is reached; want is what the device has then.
func (m Machine) WarnOfMove(device string, want Addressing, rollback time.Duration) []service.Problem {
	if !m.Reaches(device) {
		return nil
	}
	for _, p := range want.Addresses {
		if p.Addr() == m.Reached {
			return nil
		}
	}
	at := []any{"addresses"}
	if want.DHCP {
		return []service.Problem{service.Warningf(at, "The address that Terraform comes through may change",
			"the machine is reached by %s, which is on %s: unless DHCP gives the same address, the machine goes back after %s", m.Reached, device, rollback)}
	}
	return []service.Problem{service.Warningf(at, "The address that Terraform comes through goes",
		"the machine is reached by %s, which is on %s, and shall not have it any more: unless it answers at its endpoint within %s all the same, it goes back by itself", m.Reached, device, rollback)}
}

// WarnOfTaking says that a change moves the address by which the machine is reached to another device.
func (m Machine) WarnOfTaking(devices []string, to string, rollback time.Duration) []service.Problem {
	for _, device := range devices {
		if m.Reaches(device) {
			return []service.Problem{service.Warningf([]any{"interfaces"}, "The address that Terraform comes through moves",
				"%s", fmt.Sprintf("the machine is reached by %s, which is on %s and goes to %s: where the machine does not answer within %s, it goes back by itself", m.Reached, device, to, rollback))}
		}
	}
	return nil
}
