package bmc

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"time"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/drive"
)

// slot is a place for media that every machine has, be there something in it or not.
type slot struct {
	// id, name and mediaTypes are Redfish's.
	id, name   string
	mediaTypes []string
	// noun is what one calls a medium that is in it, and suffix how the name of its volume ends.
	noun, suffix string

	// find returns what a domain has of it; nil for nothing.
	find func(*libvirtxml.Domain) *libvirtxml.DomainDisk
	// checkMachine refuses a machine that cannot take a medium as it is now.
	checkMachine func(*hypervisor.Domain) error
	// checkImage refuses an image that is none for it. The reader stays at its beginning.
	checkImage func(*bufio.Reader) error
	// put puts a source into it, and take takes out what is in it, if there is something.
	put  func(*domain, context.Context, *hypervisor.Domain, *libvirtxml.DomainDiskSource) error
	take func(*domain, context.Context, *hypervisor.Domain) error
}

// slots are all of them: the drive for discs, and a USB stick that is plugged in and out.
var slots = []*slot{
	{
		id: "Cd", name: "Virtual CD", mediaTypes: []string{"CD", "DVD"}, noun: "disc", suffix: ".iso",
		find: mediaDrive, checkMachine: checkDrive, checkImage: drive.Check, put: (*domain).putDisc, take: (*domain).takeDisc,
	},
	{
		id: "Usb", name: "Virtual USB stick", mediaTypes: []string{"USBStick"}, noun: "stick", suffix: ".img",
		find: drive.FindStick, checkMachine: checkUSB, checkImage: checkStick, put: (*domain).putStick, take: (*domain).takeStick,
	},
}

// Fetch implements Machine.
func (m *domain) Fetch(ctx context.Context, in *slot, medium Medium) error {
	d, err := m.client.DomainByName(ctx, m.name)
	if err == nil {
		err = in.checkMachine(d)
	}
	if err != nil {
		return err
	}
	content, err := openImage(ctx, medium, in.checkImage)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	v, err := m.client.CreateVolume(ctx, medium.Pool, &libvirtxml.StorageVolume{
		Name: medium.Volume, Capacity: &libvirtxml.StorageVolumeSize{Value: 0},
		Target: &libvirtxml.StorageVolumeTarget{Format: &libvirtxml.StorageVolumeTargetFormat{Type: "raw"}},
	})
	if err != nil {
		return err
	}
	_, err = m.client.UploadVolume(ctx, v, content)
	return err
}

// Insert implements Machine.
func (m *domain) Insert(ctx context.Context, in *slot, medium Medium) error {
	v, err := m.client.Volume(ctx, medium.Pool, medium.Volume)
	if err != nil {
		return err
	}
	d, err := m.client.DomainByName(ctx, m.name)
	if err == nil {
		err = in.checkMachine(d)
	}
	if err != nil {
		return err
	}
	return in.put(m, ctx, d, &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: v.Path()}})
}

// Eject implements Machine.
func (m *domain) Eject(ctx context.Context, from *slot, medium Medium) error {
	d, err := m.client.DomainByName(ctx, m.name)
	if err != nil && !hypervisor.IsNotFound(err) {
		return err
	}
	if err == nil {
		if err := from.take(m, ctx, d); err != nil {
			return err
		}
	}
	return m.Discard(ctx, medium)
}

// Discard implements Machine.
func (m *domain) Discard(ctx context.Context, medium Medium) error {
	if medium.Volume == "" || medium.Pool == "" {
		return nil
	}
	d, err := m.client.DomainByName(ctx, m.name)
	switch {
	case err != nil && !hypervisor.IsNotFound(err):
		return err
	case err == nil && takeFrom(d.Config, medium):
		if err := m.client.DefineDomain(ctx, d.Config); err != nil {
			return err
		}
	}
	return m.client.DeleteVolume(ctx, medium.Pool, medium.Volume)
}

// takeFrom takes a medium out of the slots of a domain's configuration, and says whether it was in one: virsh takes it out of the running machine
// alone.
func takeFrom(x *libvirtxml.Domain, medium Medium) (was bool) {
	for _, from := range slots {
		if in := from.find(x); in != nil && path.Base(drive.Source(in)) == medium.Volume {
			drive.SetSource(in, nil)
			x.Devices.Disks = slices.DeleteFunc(x.Devices.Disks, func(d libvirtxml.DomainDisk) bool { return drive.IsStick(&d) && d.Source == nil })
			was = true
		}
	}
	return was
}

// checkDrive refuses a machine that runs and has no drive.
func checkDrive(d *hypervisor.Domain) error {
	if mediaDrive(d.Config) == nil && isOn(d) {
		return fmt.Errorf("the machine has no drive for media, and none can be plugged into one that runs: switch it off first")
	}
	return nil
}

// putDisc puts a disc into the drive. A machine that is off and has none gets one with it.
func (m *domain) putDisc(ctx context.Context, d *hypervisor.Domain, source *libvirtxml.DomainDiskSource) error {
	if media := mediaDrive(d.Config); media != nil {
		return m.changeDisc(ctx, d, media, source)
	}
	return m.addDisk(ctx, d, drive.New(drive.Bus(d.Config), d.Config.Devices.Disks), source)
}

// takeDisc empties the drive.
func (m *domain) takeDisc(ctx context.Context, d *hypervisor.Domain) error {
	media := mediaDrive(d.Config)
	if media == nil {
		return nil
	}
	return m.changeDisc(ctx, d, media, nil)
}

func (m *domain) changeDisc(ctx context.Context, d *hypervisor.Domain, media *libvirtxml.DomainDisk, source *libvirtxml.DomainDiskSource) error {
	drive.SetSource(media, source)
	media.Address, media.Boot = nil, nil
	return m.client.ChangeMedium(ctx, d.UUID, media, isOn(d))
}

// checkUSB refuses a machine that runs and has no USB, which libvirt can plug into none.
func checkUSB(d *hypervisor.Domain) error {
	if isOn(d) && drive.MissingController(d.Live, stickBus) != nil {
		return fmt.Errorf("the machine has no USB for a stick, and gets it with the first one that is inserted while it is off: %w", ErrOn)
	}
	return nil
}

// stickBus is the bus of the stick.
const stickBus = "usb"

// pullPatience is how long a guest may hold a stick that is pulled out.
const pullPatience = 30 * time.Second

// putStick plugs in a stick.
func (m *domain) putStick(ctx context.Context, d *hypervisor.Domain, source *libvirtxml.DomainDiskSource) error {
	if !isOn(d) {
		drive.AddController(d.Config, stickBus)
		return m.addDisk(ctx, d, drive.NewStick(d.Config.Devices.Disks), source)
	}
	stick := drive.NewStick(slices.Concat(d.Config.Devices.Disks, d.Live.Devices.Disks))
	drive.SetSource(stick, source)
	return m.client.AttachDevice(ctx, d.UUID, stick, true)
}

// takeStick pulls out the stick.
func (m *domain) takeStick(ctx context.Context, d *hypervisor.Domain) error {
	stick := cmp.Or(drive.FindStick(d.Live), drive.FindStick(d.Config))
	if stick == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pullPatience)
	defer cancel()
	return m.client.DetachDevice(ctx, d.UUID, stick, func(x *libvirtxml.Domain) bool { return drive.FindStick(x) != nil })
}

// addDisk gives a machine that is off a disk with a source in it.
func (m *domain) addDisk(ctx context.Context, d *hypervisor.Domain, added *libvirtxml.DomainDisk, source *libvirtxml.DomainDiskSource) error {
	drive.SetSource(added, source)
	d.Config.Devices.Disks = append(d.Config.Devices.Disks, *added)
	return m.client.DefineDomain(ctx, d.Config)
}

// fetchPatience is how long a server may send nothing. A variable for tests.
var fetchPatience = 30 * time.Second

// image is one that is being fetched. Its server may take its time, but not be silent for long.
type image struct {
	body io.ReadCloser
	// patience ends the transfer when it runs out, which it does while somebody reads alone.
	patience *time.Timer
	ended    context.Context
	end      context.CancelCauseFunc
}

// Read implements io.Reader.
func (i *image) Read(p []byte) (int, error) {
	i.patience.Reset(fetchPatience)
	n, err := i.body.Read(p)
	i.patience.Stop()
	if cause := context.Cause(i.ended); err != nil && cause != nil {
		err = cause
	}
	return n, err
}

// Close implements io.Closer.
func (i *image) Close() error {
	i.patience.Stop()
	err := i.body.Close()
	i.end(nil)
	return err
}

// openImage opens an image by its URL and has its beginning checked. The error is an *InputError where that is none for the machine.
func openImage(ctx context.Context, medium Medium, check func(*bufio.Reader) error) (io.ReadCloser, error) {
	ctx, end := context.WithCancelCause(ctx)
	silent := func() { end(fmt.Errorf("its server has sent nothing for %s", fetchPatience)) }
	opened := &image{body: http.NoBody, ended: ctx, end: end, patience: time.AfterFunc(fetchPatience, silent)}
	content, err := opened.requestImage(medium, check)
	if err != nil {
		_ = opened.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{content, opened}, nil
}

// requestImage asks for the image and has its beginning checked.
func (i *image) requestImage(medium Medium, check func(*bufio.Reader) error) (*bufio.Reader, error) {
	request, err := http.NewRequestWithContext(i.ended, http.MethodGet, medium.URL, nil)
	if err != nil {
		return nil, &InputError{"Image", fmt.Sprintf("%q is no URL: %v", medium.URL, err)}
	}
	if medium.User != "" {
		request.SetBasicAuth(medium.User, medium.Password)
	}
	answer, err := http.DefaultClient.Do(request) //nolint:bodyclose // Close closes it
	if err != nil {
		return nil, &InputError{"Image", fmt.Sprintf("the image cannot be fetched: %v", cmp.Or(context.Cause(i.ended), err))}
	}
	i.body = answer.Body
	if answer.StatusCode != http.StatusOK {
		return nil, &InputError{"Image", fmt.Sprintf("the image cannot be fetched: %s answers %s", medium.URL, answer.Status)}
	}
	content := bufio.NewReaderSize(i, 64<<10)
	if err := check(content); err != nil {
		return nil, &InputError{"Image", fmt.Sprintf("%s: %v", medium.URL, err)}
	}
	return content, nil
}

// checkStick refuses an image of a stick that has nothing in it. Whatever else is on a disk is for the guest to understand.
func checkStick(r *bufio.Reader) error {
	_, err := r.Peek(1)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		return errors.New("the image is empty")
	}
	return fmt.Errorf("the image cannot be read: %w", err)
}
