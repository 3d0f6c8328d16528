package hypervisor

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// chooseImpact returns the impact on what runs and on what the next start uses; a stopped domain has only the latter.
func chooseImpact(live bool) libvirt.DomainModificationImpact {
	if live {
		return libvirt.DomainAffectLive | libvirt.DomainAffectConfig
	}
	return libvirt.DomainAffectConfig
}

// SetDomainMemory sets the memory that the guest is left with, within the domain's maximum.
func (c *Client) SetDomainMemory(ctx context.Context, uuid string, mib int64, live bool) error {
	return c.onDomain(ctx, uuid, fmt.Sprintf("set the memory to %d MiB of", mib), func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		return l.DomainSetMemoryFlags(ref, uint64(mib)<<10, uint32(chooseImpact(live)))
	})
}

// SetDomainVCPUs sets the number of vCPUs, within the domain's maximum. Taking one away needs the guest's consent.
func (c *Client) SetDomainVCPUs(ctx context.Context, uuid string, n int64, live bool) error {
	return c.onDomain(ctx, uuid, fmt.Sprintf("set the vCPUs to %d of", n), func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		return l.DomainSetVcpusFlags(ref, uint32(n), uint32(chooseImpact(live)))
	})
}

// LimitDisk bounds what a guest may ask of a disk in a second, by libvirt's names of the limits; 0 takes one away.
func (c *Client) LimitDisk(ctx context.Context, uuid, target string, limits map[string]int64, live bool) error {
	var params []libvirt.TypedParam
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		params = append(params, libvirt.TypedParam{Field: name, Value: *libvirt.NewTypedParamValueUllong(uint64(limits[name]))})
	}
	return c.onDomain(ctx, uuid, fmt.Sprintf("limit disk %s of", target), func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		return l.DomainSetBlockIOTune(ref, target, params, uint32(chooseImpact(live)))
	})
}

// PinVCPU has a vCPU run on some of the hypervisor's processors alone.
func (c *Client) PinVCPU(ctx context.Context, uuid string, vcpu uint32, cpus []int, live bool) error {
	return c.onDomain(ctx, uuid, fmt.Sprintf("pin vCPU %d of", vcpu), func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		return l.DomainPinVcpuFlags(ref, vcpu, newProcessorMap(cpus), uint32(chooseImpact(live)))
	})
}

// newProcessorMap returns a bit for each processor, the lowest first.
func newProcessorMap(cpus []int) []byte {
	bits := make([]byte, slices.Max(cpus)/8+1)
	for _, cpu := range cpus {
		bits[cpu/8] |= 1 << (cpu % 8)
	}
	return bits
}

// UseVCPUs has the guest agent bring the first n vCPUs online inside the guest: many kernels leave one that was
// plugged in alone until somebody asks for it. A guest that has not seen it yet is asked again; the error is the
// last refusal.
func (c *Client) UseVCPUs(ctx context.Context, uuid string, n int64) error {
	return Retry(ctx, vcpuPatience, 500*time.Millisecond, func() (bool, error) {
		refused := c.onDomain(ctx, uuid, fmt.Sprintf("bring %d vCPUs online in", n), func(l *libvirt.Libvirt, ref libvirt.Domain) error {
			return l.DomainSetVcpusFlags(ref, uint32(n), uint32(libvirt.DomainVCPULive|libvirt.DomainVCPUGuest))
		})
		return Code(refused) != 0, refused
	})
}

// vcpuPatience is how long a guest may take to see a vCPU that was plugged in.
const vcpuPatience = 10 * time.Second

// SetDomainAutostart says whether the domain starts with the hypervisor.
func (c *Client) SetDomainAutostart(ctx context.Context, uuid string, on bool) error {
	return c.onDomain(ctx, uuid, "set autostart of", func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		return l.DomainSetAutostart(ref, toFlag(on))
	})
}

// SetDomainMetadata puts an XML element of the caller's own namespace into the domain's metadata, in place
// of the one that is there. A domain whose guest has ended meanwhile gets it in its configuration alone.
func (c *Client) SetDomainMetadata(ctx context.Context, uuid, prefix, namespace, element string, live bool) error {
	err := c.onDomain(ctx, uuid, "set metadata of", func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		return l.DomainSetMetadata(ref, int32(libvirt.DomainMetadataElement), libvirt.OptString{element},
			libvirt.OptString{prefix}, libvirt.OptString{namespace}, chooseImpact(live))
	})
	if live && Code(err) == int(libvirt.ErrOperationInvalid) {
		return c.SetDomainMetadata(ctx, uuid, prefix, namespace, element, false)
	}
	return err
}

// RemoveDomainMetadata takes the element of a namespace out of the domain's metadata. One that is not there is no error.
func (c *Client) RemoveDomainMetadata(ctx context.Context, uuid, namespace string) error {
	d, err := c.Domain(ctx, uuid)
	if err != nil {
		return ignoreAbsence(err)
	}
	return ignoreAbsence(c.onDomain(ctx, uuid, "remove metadata of", func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		return l.DomainSetMetadata(ref, int32(libvirt.DomainMetadataElement), nil, nil, libvirt.OptString{namespace}, chooseImpact(d.Active()))
	}))
}

// AttachDevice plugs a device in: a libvirtxml.DomainDisk, DomainInterface, DomainController, ….
func (c *Client) AttachDevice(ctx context.Context, uuid string, device any, live bool) error {
	text, err := xml.MarshalIndent(device, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot render device: %w", err)
	}
	ref, err := newDomainRef(uuid)
	if err != nil {
		return err
	}
	_, err = callOnce(ctx, c, fmt.Sprintf("attach device to domain %s", uuid), withoutResult(func(l *libvirt.Libvirt) error {
		return l.DomainAttachDeviceFlags(ref, string(text), uint32(chooseImpact(live)))
	}))
	return err
}

// UpdateDevice changes a device where it is.
func (c *Client) UpdateDevice(ctx context.Context, uuid string, device any, live bool) error {
	return c.changeDevice(ctx, uuid, device, chooseImpact(live))
}

// UpdateRunningDevice changes a device of what runs, for as long as that does.
func (c *Client) UpdateRunningDevice(ctx context.Context, uuid string, device any) error {
	return c.changeDevice(ctx, uuid, device, libvirt.DomainAffectLive)
}

func (c *Client) changeDevice(ctx context.Context, uuid string, device any, impact libvirt.DomainModificationImpact) error {
	text, err := xml.MarshalIndent(device, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot render device: %w", err)
	}
	return c.onDomain(ctx, uuid, "update device of", func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		return l.DomainUpdateDeviceFlags(ref, string(text), libvirt.DomainDeviceModifyFlags(impact))
	})
}

// ErrGuestHolds is of a device that the guest did not let go of in time: one without a system, or whose kernel has no driver for it, never does.
var ErrGuestHolds = errors.New("the guest did not let go of the device")

// DetachDevice unplugs a device and waits until the guest has let go of it; it is asked again every few seconds until the
// context ends, which gives ErrGuestHolds. `has` says whether a domain's XML has the device. The configuration keeps it for as long as what
// runs does, so that an unplugging that ends early is seen, and taken up again.
func (c *Client) DetachDevice(ctx context.Context, uuid string, device any, has func(*libvirtxml.Domain) bool) error {
	var refused error
	var asked time.Time
	for {
		d, err := c.Domain(ctx, uuid)
		if err != nil && ctx.Err() != nil && !asked.IsZero() {
			return fmt.Errorf("%w: %w", ErrGuestHolds, cmp.Or(refused, err))
		}
		if err != nil {
			return err
		}
		if !d.Active() || !has(d.Live) {
			if !has(d.Config) {
				return nil
			}
			return c.detachDevice(ctx, uuid, device, "the configuration of", libvirt.DomainAffectConfig)
		}
		if time.Since(asked) > 5*time.Second {
			asked = time.Now()
			refused = c.detachDevice(ctx, uuid, device, "what runs of", libvirt.DomainAffectLive)
			if refused != nil && Code(refused) == 0 && ctx.Err() == nil { // libvirt itself waits for the guest
				return refused
			}
		}
		if err := Pause(ctx, 200*time.Millisecond); err != nil {
			return fmt.Errorf("%w: %w", ErrGuestHolds, cmp.Or(refused, err))
		}
	}
}

func (c *Client) detachDevice(ctx context.Context, uuid string, device any, from string, impact libvirt.DomainModificationImpact) error {
	text, err := xml.MarshalIndent(device, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot render device: %w", err)
	}
	return c.onDomain(ctx, uuid, "detach device from "+from, func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		return l.DomainDetachDeviceFlags(ref, string(text), uint32(impact))
	})
}

// ResizeDomainDisk grows a running domain's disk; disk is its target ("vda") or its file.
func (c *Client) ResizeDomainDisk(ctx context.Context, uuid, disk string, bytes uint64) error {
	return c.onDomain(ctx, uuid, fmt.Sprintf("resize disk %s of", disk), func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		return l.DomainBlockResize(ref, disk, bytes, libvirt.DomainBlockResizeBytes)
	})
}

// DomainDiskCapacity is a disk's size in bytes as the guest sees it, of a running or a stopped domain.
func (c *Client) DomainDiskCapacity(ctx context.Context, uuid, disk string) (uint64, error) {
	ref, err := newDomainRef(uuid)
	if err != nil {
		return 0, err
	}
	return callIdempotent(ctx, c, fmt.Sprintf("read size of disk %s of domain %s", disk, uuid), func(l *libvirt.Libvirt) (uint64, error) {
		_, capacity, _, err := l.DomainGetBlockInfo(ref, disk, 0)
		return capacity, err
	})
}
