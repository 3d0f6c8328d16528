// Package addressuse answers one question for everything that puts an address on a machine, or gives one out: whose is it? What it knows
// is derived from what each kind of thing has for itself, so there is no list beside that could be lost:
//
//	machine → Look: devices' addresses, network configuration, keepalived, exposures, bridges, interfaces, pools
//	        → Use.Holders(address): who has it, each with the mark of its owner (none: a person's, or another program's)
//	claim   → Use.Refuse(claim): those of them that the claimant does not get on with, as an error
//
// A plan asks, and an apply once more before it changes anything.
package addressuse

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// Kind is what an address is held by.
type Kind string

// The kinds.
const (
	// File is network configuration that this provider did not write.
	File Kind = "network configuration"
	// Device is a network device that has the address, by nothing of the other kinds.
	Device Kind = "device"
	// Instance is a vrrp_instance of keepalived's, and Static what a person has keepalived put on a device all the time.
	Instance Kind = "vrrp_instance"
	Static   Kind = "static_ipaddress"
	// Exposure is an exposed service, or a floating address, that keeps the address on a device.
	Exposure Kind = "exposure"
	// Bridge and Interface are devices that this provider configures, and Before one that gets the address back from such a one.
	Bridge    Kind = "bridge"
	Interface Kind = "interface"
	Before    Kind = "device before"
	// Draw is an address that is drawn from a pool.
	Draw Kind = "draw"
)

// Holder is somebody who has an address on a machine, or will have it.
type Holder struct {
	Kind Kind
	// Name is the holder's own: of an instance, an exposure, a bridge, an interface; of a draw its key.
	Name string
	// Place is the file that says so; "" of a Device.
	Place string
	// Devices are those that have the address, or are to have it, as far as that can be told.
	Devices []string
	// Mark is the owner's; the zero mark is a person's, or another program's.
	Mark owner.Mark
}

// IsHere says whether the holder is of this state.
func (h Holder) IsHere() bool { return h.Mark.IsHere() }

// String says who it is: `/etc/network/interfaces gives it to eth1`.
func (h Holder) String() string {
	on := strings.Join(h.Devices, ", ")
	whose := h.Mark.Whose()
	switch h.Kind {
	case Instance:
		return fmt.Sprintf("vrrp_instance %s in %s has it, %s", h.Name, h.Place, whose)
	case Static:
		return fmt.Sprintf("%s has keepalived put it on a device", h.Place)
	case Exposure:
		return fmt.Sprintf("exposure %q has it, %s", h.Name, whose)
	case Bridge, Interface:
		return fmt.Sprintf("the %s %s has it, %s", h.Kind, h.Name, whose)
	case Before:
		return fmt.Sprintf("%s had it, and gets it back from what this provider configured, %s", h.Name, whose)
	case Draw:
		return fmt.Sprintf("it is drawn from a pool for key %q, %s", h.Name, whose)
	case Device:
		return on + " has it, and nothing of this provider's put it there"
	}
	if on == "" {
		return h.Place + ", which this provider did not write, has it"
	}
	return fmt.Sprintf("%s, which this provider did not write, gives it to %s", h.Place, on)
}

// Claim is who wants an address.
type Claim struct {
	Address netip.Addr
	// Suits says whether the claimant gets on with a holder: it is the claimant itself, or makes room.
	Suits func(Holder) bool
}

// Refuse returns a *TakenError where somebody has the address of a claim with whom the claimant does not get on.
func (u Use) Refuse(c Claim) error {
	others := slices.DeleteFunc(u.Holders(c.Address), c.Suits)
	if len(others) == 0 {
		return nil
	}
	return &TakenError{Address: c.Address, Machine: u.Machine, Reached: c.Address == u.Network.Reached, Holders: others}
}

// TakenError says that an address is somebody's.
type TakenError struct {
	Address netip.Addr
	Machine string
	// Reached says that the machine is reached at the address.
	Reached bool
	Holders []Holder
}

// Error names who has it, and the ways out.
func (e *TakenError) Error() string {
	first := e.Holders[0]
	words := fmt.Sprintf("%s is somebody's on %s already: %s", e.Address, e.Machine, first)
	if e.Reached {
		words += ", and Terraform reaches the machine at it"
	}
	switch first.Kind {
	case Draw:
		return words + ". Choose another address, or draw it here: a virtcluster_address of this configuration is for its VIPs and exposures"
	case Instance, Exposure, Bridge, Interface, Before:
		return words + ". Whoever of the two goes would take it from the other: choose another address, or have it given up there first, in an apply of its own"
	}
	return words + ". It would be lost as soon as this goes: choose another address, or take it out there first"
}
