package bmc

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/drive"
)

// bootNamespace is that of the element which says in the XML of a running machine which override it was started with.
const bootNamespace = "https://github.com/virtcluster/terraform-provider-virtcluster/bmc/boot/1"

// alreadyRunning is VIR_ERR_OPERATION_INVALID, by which libvirt refuses to start what runs.
const alreadyRunning = 55

// domain is a Machine that libvirt runs.
type domain struct {
	client *hypervisor.Client
	name   string
	log    func(msg string, args ...any)
}

// Describe implements Machine.
func (m *domain) Describe(ctx context.Context) (Description, error) {
	d, err := m.client.DomainByName(ctx, m.name)
	if err != nil {
		return Description{}, err
	}
	x := d.Config
	if d.Live != nil {
		x = d.Live
	}
	got := Description{Name: d.Name, UUID: d.UUID, On: isOn(d)}
	if x.OS != nil {
		got.UEFI = x.OS.Firmware == "efi" || x.OS.Loader != nil && x.OS.Loader.Type == "pflash"
		got.SecureBoot = got.UEFI && x.OS.Loader != nil && x.OS.Loader.Secure == "yes"
		if x.OS.Type != nil {
			got.Chipset, got.Architecture = x.OS.Type.Machine, x.OS.Type.Arch
		}
	}
	if x.Memory != nil {
		got.MemoryMiB = int64(x.Memory.Value) >> 10 // libvirt answers in KiB
	}
	if x.VCPU != nil {
		got.VCPUs = int64(x.VCPU.Value)
		if x.VCPU.Current > 0 {
			got.VCPUs = int64(x.VCPU.Current)
		}
	}
	if x.Devices != nil {
		for _, i := range x.Devices.Interfaces {
			if i.MAC != nil {
				got.MACs = append(got.MACs, i.MAC.Address)
			}
		}
		for i := range x.Devices.Disks {
			disk := &x.Devices.Disks[i]
			if kindOf(disk) != "hd" || disk.Target == nil {
				continue
			}
			size, _ := m.client.DomainDiskCapacity(ctx, d.UUID, disk.Target.Dev) // 0 where it cannot be seen
			got.Disks = append(got.Disks, Disk{Name: disk.Target.Dev, Bus: disk.Target.Bus, Bytes: int64(size)})
			if got.MediaPool == "" {
				got.MediaPool = m.poolOf(ctx, disk)
			}
		}
	}
	if got.MediaPool == "" {
		if p, err := m.client.Pool(ctx, "default"); err == nil {
			got.MediaPool = p.Name()
		}
	}
	got.Inserted = map[string]string{}
	for _, slot := range slots {
		if media := slot.find(x); media != nil {
			got.Inserted[slot.id] = drive.Source(media)
		}
	}
	if d.Live != nil && d.Live.Metadata != nil {
		got.BootID = readBootID(d.Live.Metadata.XML)
	}
	return got, nil
}

// isOn says whether a machine has power; one that crashed has, and so has one that sleeps.
func isOn(d *hypervisor.Domain) bool { return d.Active() }

// poolOf is the name of the pool that a disk is in; "" for none.
func (m *domain) poolOf(ctx context.Context, disk *libvirtxml.DomainDisk) string {
	switch {
	case disk.Source == nil:
	case disk.Source.Volume != nil:
		return disk.Source.Volume.Pool
	case disk.Source.File != nil:
		if v, err := m.client.VolumeByPath(ctx, disk.Source.File.File); err == nil {
			return v.Pool
		}
	}
	return ""
}

// Switch implements Machine.
func (m *domain) Switch(ctx context.Context, action Action, start Start) (started bool, err error) {
	d, err := m.client.DomainByName(ctx, m.name)
	if err != nil {
		return false, err
	}
	on := isOn(d)
	switch action {
	case On, ForceOn:
		if on {
			return false, m.client.StartDomain(ctx, d.UUID) // one that is paused goes on
		}
		return m.startDomain(ctx, d, start)
	case ForceOff:
		return false, m.client.StopDomain(ctx, d.UUID, 0)
	case GracefulShutdown:
		if !on {
			return false, nil
		}
		return false, m.client.AskDomainToShutDown(ctx, d.UUID)
	case PushPowerButton:
		if !on {
			return m.startDomain(ctx, d, start)
		}
		return false, m.client.AskDomainToShutDown(ctx, d.UUID)
	}
	if !on {
		return false, ErrOff
	}
	switch action {
	case PowerCycle:
		if err := m.client.StopDomain(ctx, d.UUID, 0); err != nil {
			return false, err
		}
		return m.startDomain(ctx, d, start)
	case ForceRestart:
		return false, m.client.ResetDomain(ctx, d.UUID)
	case GracefulRestart:
		return false, m.client.RebootDomain(ctx, d.UUID)
	case Nmi:
		return false, m.client.InterruptDomain(ctx, d.UUID)
	}
	return false, fmt.Errorf("%q is no action", action)
}

// startDomain starts a machine that is off.
func (m *domain) startDomain(ctx context.Context, d *hypervisor.Domain, startDomain Start) (bool, error) {
	if startDomain.Target == "" {
		return true, m.client.StartDomain(ctx, d.UUID)
	}
	saved, err := m.client.HasSavedState(ctx, d.UUID)
	if err != nil {
		return false, err
	}
	if saved {
		return false, fmt.Errorf("the machine was saved with its memory (virsh managedsave) and would go on from there, which no boot is: start it without an override, or discard what was saved")
	}
	text, err := d.Config.Marshal()
	if err != nil {
		return false, err
	}
	x := &libvirtxml.Domain{}
	if err := x.Unmarshal(text); err != nil {
		return false, err
	}
	before := bootPlaces(x)
	if err := bootFrom(x, startDomain.Target); err != nil {
		return false, err
	}
	if x.Metadata == nil {
		x.Metadata = &libvirtxml.DomainMetadata{}
	}
	x.Metadata.XML += fmt.Sprintf(`<boot xmlns=%q>%s</boot>`, bootNamespace, startDomain.ID)
	err = m.client.StartDomainAs(ctx, x)
	if hypervisor.Code(err) == alreadyRunning {
		return false, nil // somebody else was faster
	}
	if err != nil {
		return false, err
	}
	if startDomain.Once {
		if err := m.restoreOrder(ctx, d.UUID, before); err != nil {
			m.log("the guest's own reboots go on booting from "+string(startDomain.Target)+" until the machine is switched off", "error", err)
		}
	}
	return true, nil
}

// restoreOrder gives the devices of a machine that has just been started the places that they have otherwise, which count from its next
// reset on.
func (m *domain) restoreOrder(ctx context.Context, uuid string, places map[string]int) error {
	d, err := m.client.Domain(ctx, uuid)
	if err != nil || d.Live == nil {
		return err
	}
	index := map[string]int{}
	var aliases []string
	for _, dev := range listBootable(d.Live) {
		if dev.alias == "" {
			continue
		}
		aliases = append(aliases, dev.alias)
		index[dev.alias] = -1
		if place, ok := places[dev.key]; ok {
			index[dev.alias] = place
		}
	}
	return m.client.SetBootIndexes(ctx, uuid, aliases, func(alias string) int { return index[alias] })
}

// readBootID finds the element that start wrote among a machine's metadata.
func readBootID(metadata string) string {
	decoder := xml.NewDecoder(strings.NewReader("<metadata>" + metadata + "</metadata>"))
	for {
		token, err := decoder.Token()
		if err != nil {
			return ""
		}
		if begin, ok := token.(xml.StartElement); ok && begin.Name.Space == bootNamespace {
			var id string
			_ = decoder.DecodeElement(&id, &begin) // "" where it cannot be read
			return id
		}
	}
}

// ResetKeys implements Machine.
func (m *domain) ResetKeys(ctx context.Context) error {
	d, err := m.client.DomainByName(ctx, m.name)
	if err != nil {
		return err
	}
	if isOn(d) {
		return ErrOn
	}
	if err := m.client.CanResetStore(ctx); err != nil {
		return err
	}
	return m.client.ResetDomainStore(ctx, d.UUID)
}

// OpenConsole implements Machine.
func (m *domain) OpenConsole(ctx context.Context) (io.ReadWriteCloser, error) {
	d, err := m.client.DomainByName(ctx, m.name)
	if err != nil {
		return nil, err
	}
	if !isOn(d) {
		return nil, ErrOff
	}
	return m.client.OpenConsole(ctx, d.UUID)
}
