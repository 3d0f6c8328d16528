package machine

import (
	"context"

	"libvirt.org/go/libvirtxml"
)

// TPM is a trusted platform module that swtpm emulates.
type TPM struct {
	// Model is "tpm-crb" or "tpm-tis", and "none" for a machine without one.
	Model string `attr:"model" restart:"yes"`
	// Version of its specification; that of none is the default.
	Version string `attr:"version" restart:"yes"`
}

// DefaultTPM is that of a machine where nobody chose one.
var DefaultTPM = TPM{Model: none, Version: "2.0"}

// none is what the model of a device is called that a machine does not have.
const none = "none"

func applyTPM(d *libvirtxml.Domain, was, want TPM) {
	if was == want || want.Model == "" {
		return
	}
	if want.Model == none {
		d.Devices.TPMs = nil
		return
	}
	if len(d.Devices.TPMs) == 0 {
		d.Devices.TPMs = []libvirtxml.DomainTPM{{}}
	}
	x := &d.Devices.TPMs[0]
	if x.Model = want.Model; x.Backend == nil || x.Backend.Emulator == nil {
		x.Backend = &libvirtxml.DomainTPMBackend{Emulator: &libvirtxml.DomainTPMBackendEmulator{}}
	}
	x.Backend.Emulator.Version = want.Version
}

// readTPM reads a TPM, be it one that somebody passed through.
func readTPM(d *libvirtxml.Domain) TPM {
	t := DefaultTPM
	if d.Devices == nil || len(d.Devices.TPMs) == 0 {
		return t
	}
	x := d.Devices.TPMs[0]
	t.Model = x.Model
	if b := x.Backend; b != nil && b.Emulator != nil && b.Emulator.Version != "" {
		t.Version = b.Emulator.Version
	}
	return t
}

// checkTPM finds a TPM that the hypervisor does not emulate.
func (k hardwareChecker) checkTPM(ctx context.Context) error {
	model := k.Want.TPM.Model
	if model == "" || model == none || !k.isNewHere() && k.Was.TPM.Model == model {
		return nil
	}
	offered, err := k.askCapabilities(ctx)
	if err != nil || offered == nil || offered.Devices == nil || offered.Devices.TPM == nil {
		return err
	}
	switch tpm := offered.Devices.TPM; {
	case !offersValue(tpm, "backendModel", "emulator"):
		k.addProblem(pathTo("tpm"), "No TPM emulator", "hypervisor %s has no program that emulates a TPM: install swtpm there (Debian: swtpm and swtpm-tools, Fedora: swtpm), or leave out tpm", k.Client.URI())
	case !offersValue(tpm, "model", model):
		k.addProblem(pathTo("tpm", "model"), "TPM not offered", "hypervisor %s does not offer %q to machine %s: write another model", k.Client.URI(), model, k.Want.Chipset)
	}
	return nil
}

// offersValue says whether a hypervisor offers a value of a device.
func offersValue(device *libvirtxml.DomainCapsDevice, enum, value string) bool {
	return device.Supported == "yes" && hasValue(device.Enums, enum, value)
}
