// Package bmc is a baseboard management controller for virtual machines: the program that runs on a hypervisor. Redfish (redfish*.go)
// and IPMI (ipmi*.go) ask a System, which remembers what is to be done at the next start, and that asks a Machine, which is libvirt's.
package bmc

import (
	"context"
	"errors"
	"io"
)

// Target is where a machine boots from, in Redfish's words; "" is the machine's own order.
type Target string

// The targets of a boot override.
const (
	None     Target = "None"
	Pxe      Target = "Pxe"
	Hdd      Target = "Hdd"
	Cd       Target = "Cd"
	UefiHTTP Target = "UefiHttp"
)

// Action is what is done to the power of a machine, in Redfish's words (ResetType).
type Action string

// The actions. Those that start a machine which is off start it cold: a boot override counts then, and only then.
const (
	On               Action = "On"
	ForceOn          Action = "ForceOn"
	ForceOff         Action = "ForceOff"
	GracefulShutdown Action = "GracefulShutdown"
	GracefulRestart  Action = "GracefulRestart"
	ForceRestart     Action = "ForceRestart"
	PowerCycle       Action = "PowerCycle"
	PushPowerButton  Action = "PushPowerButton"
	Nmi              Action = "Nmi"
)

// Actions lists all of them.
var Actions = []Action{On, ForceOn, ForceOff, GracefulShutdown, GracefulRestart, ForceRestart, PowerCycle, PushPowerButton, Nmi}

// ErrOff says that a machine is off and would have to run for what was asked.
var ErrOff = errors.New("the machine is off: switch it on first")

// ErrOn says that a machine runs and would have to be off for what was asked.
var ErrOn = errors.New("the machine runs: switch it off first")

// InputError says that what was asked for cannot be done by anybody: Property is the one at fault.
type InputError struct {
	Property, Why string
}

func (e *InputError) Error() string { return e.Why }

// Description is a machine as it is now.
type Description struct {
	Name, UUID string
	On         bool
	// UEFI is the kind of firmware; SecureBoot says that it checks signatures.
	UEFI, SecureBoot bool
	// Chipset is libvirt's machine ("pc-q35-7.2"), Architecture libvirt's too ("x86_64").
	Chipset, Architecture string
	MemoryMiB             int64
	VCPUs                 int64
	MACs                  []string
	Disks                 []Disk
	// Inserted is what is in each slot, by its id: a path on the hypervisor; "" for nothing.
	Inserted map[string]string
	// BootID is that of the override that the machine was started with; "" for none.
	BootID string
	// MediaPool is the storage pool in which media are put.
	MediaPool string
}

// Disk is a disk as the guest sees it.
type Disk struct {
	// Name is libvirt's target: "vda".
	Name string
	Bus  string
	// Bytes is 0 where nobody knows.
	Bytes int64
}

// Medium is an image that was inserted by its URL: the volume that it is kept in.
type Medium struct {
	URL    string `json:"url"`
	Pool   string `json:"pool"`
	Volume string `json:"volume"`
	// User and Password are what the URL's server asks for; they are not kept.
	User     string `json:"-"`
	Password string `json:"-"`
}

// Start is how a machine is started.
type Start struct {
	Target Target
	// Once says that only the first boot of this start is from there: when the guest reboots, its own order counts.
	Once bool
	// ID comes back in Description.BootID.
	ID string
}

// Machine is what a controller does with one machine.
type Machine interface {
	Describe(ctx context.Context) (Description, error)
	// Switch does an action. It uses start where that starts the machine, and says whether it did.
	Switch(ctx context.Context, action Action, start Start) (started bool, err error)
	// Fetch fetches an image for a slot into the volume of a medium, which it makes.
	Fetch(ctx context.Context, in *slot, m Medium) error
	// Insert puts a medium that was fetched into a slot that is empty. It does not start the machine.
	Insert(ctx context.Context, in *slot, m Medium) error
	// Eject empties a slot, and removes the volume of a medium; the zero Medium has none.
	Eject(ctx context.Context, from *slot, m Medium) error
	// Discard removes the volume of a medium that is in no slot now; nor will it be in one when the machine is started next.
	Discard(ctx context.Context, m Medium) error
	// ResetKeys has the UEFI variables of a machine that is off, and with them the keys of Secure Boot, be those of its firmware's template.
	ResetKeys(ctx context.Context) error
	// OpenConsole connects to the serial console of a running machine.
	OpenConsole(ctx context.Context) (io.ReadWriteCloser, error)
}
