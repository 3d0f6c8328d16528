package machine

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/drive"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage/upload"
)

// CDROM is what a machine's users want in its drive for media: a volume that is there, or what is at a URL, of which the machine gets a
// copy of its own. With neither the drive is empty.
type CDROM struct {
	// Image is a volume's path.
	Image string `attr:"image" xml:"image,attr,omitempty"`
	URL   string `attr:"url" xml:"url,attr,omitempty"`
}

// Medium is what is in the drive for media.
type Medium struct {
	// Path is a file or, with Block, a block device on the hypervisor; "" for nothing.
	Path  string
	Block bool
}

// copyPrefix is what the keys of copies of discs begin with. No disk of a user's can be called so (CheckKey), and each URL has a key and
// a volume of its own: a machine that is to get another disc has both for a while.
const copyPrefix = "cdrom:"

// copyKey is the key of the copy in the machine's mark; "" where there is none.
func (c *CDROM) copyKey() string {
	if c == nil || c.URL == "" {
		return ""
	}
	return copyPrefix + fmt.Sprintf("%x", sha256.Sum256([]byte(c.URL)))[:8]
}

// copySuffix is what the copy's volume is called behind the machine's name.
func (c *CDROM) copySuffix() string {
	return "-cdrom-" + strings.TrimPrefix(c.copyKey(), copyPrefix) + ".iso"
}

// addMedium resolves what is to be in the drive. What somebody else put into the drive of an external machine stays until the
// configuration wants something else than before.
func (r *resolver) addMedium(ctx context.Context, b *blueprint) error {
	want := r.spec.CDROM
	var was *CDROM
	var inside *Medium
	if r.existing != nil {
		was, inside = r.existing.Mark.CDROM, r.existing.Medium
	}
	if want == nil {
		if was != nil && inside != nil {
			b.machine.Medium = &Medium{}
		}
		return nil
	}
	if r.spec.Power == External && was != nil && *was == *want {
		return nil
	}
	b.machine.Medium = &Medium{}
	switch {
	case want.URL != "":
		return r.addCopy(ctx, b)
	case want.Image != "":
		volume, err := r.cache.Volume(ctx, r.client, want.Image)
		if err == nil {
			err = checkDiscVolume(ctx, r.client, volume)
		}
		if err != nil {
			return service.At(pathTo("cdrom", "image"), err)
		}
		b.machine.Medium = &Medium{Path: volume.Path(), Block: volume.XML.Type == "block"}
	}
	return nil
}

// addCopy has the machine's own copy of what is at a URL in the drive: the one that is there, or one that is to be made.
func (r *resolver) addCopy(ctx context.Context, b *blueprint) error {
	c := r.spec.CDROM
	own, err := r.resolveContentVolume(ctx, b, c.copyKey(), c.copySuffix(), nil)
	if err != nil {
		return service.At(own.path, err)
	}
	own.url = c.URL
	b.machine.Medium = &Medium{Path: own.filePath()}
	if r.existing != nil {
		if made := r.existing.Mark.Disk(c.copyKey()); made.Volume != "" && !made.Making {
			_, err := r.client.Volume(ctx, made.Pool, made.Volume)
			if err == nil || !hypervisor.IsNotFound(err) {
				return err
			}
		}
	}
	b.volumes = append(b.volumes, own)
	return nil
}

// markCDROM notes what the drive is to have, and the copy that the machine has of it already.
func (r *resolver) markCDROM(k *Mark) {
	k.CDROM = r.spec.CDROM
	if r.existing == nil || k.CDROM == nil {
		return
	}
	if made := r.existing.Mark.Disk(k.CDROM.copyKey()); made.Key != "" {
		made.Leaving = false
		k.Disks = append(k.Disks, made)
	}
}

// checkDiscVolume refuses a volume that is no image of a disc.
func checkDiscVolume(ctx context.Context, c *hypervisor.Client, v *hypervisor.Volume) error {
	head, err := c.PeekVolume(ctx, v, 0, drive.HeadLength)
	if err == nil {
		err = drive.Check(bufio.NewReaderSize(bytes.NewReader(head), drive.HeadLength))
	}
	if err != nil {
		return fmt.Errorf("volume %s: %w", v.Path(), err)
	}
	return nil
}

// openDisc starts to read the image of a disc at a URL. The error is one that does not answer, or that has something else.
func openDisc(ctx context.Context, url string, open func(upload.Source, context.Context) (io.ReadCloser, error)) (io.ReadCloser, error) {
	source, err := upload.ParseSource(url)
	if err != nil {
		return nil, err
	}
	raw, err := open(source, ctx)
	if err != nil {
		return nil, err
	}
	content := bufio.NewReaderSize(raw, 64<<10)
	if err := drive.Check(content); err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{content, raw}, nil
}

// applyMedium puts a medium into the drive of a domain, which gets one where it has none. A nil one leaves the drive as it is.
func applyMedium(d *libvirtxml.Domain, want *Medium) {
	if want == nil {
		return
	}
	x := drive.Find(d)
	if x == nil {
		d.Devices.Disks = append(d.Devices.Disks, *drive.New(drive.Bus(d), d.Devices.Disks))
		x = drive.Find(d)
	}
	if drive.Source(x) != want.Path {
		drive.SetSource(x, want.renderSource())
	}
}

// renderSource returns what a drive's XML names; nil for nothing.
func (m *Medium) renderSource() *libvirtxml.DomainDiskSource {
	if m.Path == "" {
		return nil
	}
	source, _ := diskSource(Disk{Path: m.Path, Block: m.Block})
	return source
}

// readMedium reads what is in the drive of a domain; nil where there is no drive.
func readMedium(d *libvirtxml.Domain) *Medium {
	x := drive.Find(d)
	if x == nil {
		return nil
	}
	return &Medium{Path: drive.Source(x), Block: x.Source != nil && x.Source.Block != nil}
}

// readCDROM returns what is in the drive, in the words of known: what runs, where that differs from known, and else what the next start
// has. Of a machine that has nothing to be in it, nothing is read, nor of an external one, into which others put what they want.
func (s *Store) readCDROM(ctx context.Context, known *CDROM, power string, d *hypervisor.Domain, mark *Mark) (*CDROM, error) {
	if known == nil || power == External {
		return known, nil
	}
	for _, x := range []*libvirtxml.Domain{d.Live, d.Config} {
		if x == nil {
			continue
		}
		found, err := s.describeMedium(ctx, known, readMedium(x), mark)
		if err != nil || !samePointed(found, known) {
			return found, err
		}
	}
	return known, nil
}

// describeMedium returns a medium in the words of known, where it is that.
func (s *Store) describeMedium(ctx context.Context, known *CDROM, m *Medium, mark *Mark) (*CDROM, error) {
	switch {
	case m == nil:
		return nil, nil
	case m.Path == "":
		return &CDROM{}, nil
	case m.Path == known.Image:
		return known, nil
	}
	v, err := s.client.VolumeByPath(ctx, m.Path)
	if err != nil && !hypervisor.IsNotFound(err) {
		return nil, err
	}
	if made := mark.Disk(known.copyKey()); err == nil && made.Volume != "" && made.Pool == v.Pool && made.Volume == v.Name() {
		return known, nil
	}
	if asked, err := s.cache.Volume(ctx, s.client, known.Image); known.Image != "" && err == nil && asked.Path() == m.Path {
		return known, nil // by another path
	}
	return &CDROM{Image: m.Path}, nil
}

// changeMedium changes what is in the drive of a machine that runs. One without a drive gets one.
func (u *update) changeMedium(ctx context.Context) error {
	want := u.machine.Medium
	if want == nil {
		return nil
	}
	live, config := drive.Find(u.d.Live), drive.Find(u.d.Config)
	if live == nil {
		return service.At(pathTo("cdrom"), u.plugDrive(ctx, want))
	}
	if config == nil { // only the configuration has lost it
		lost := *live
		if err := u.attachDisk(ctx, &lost, false); err != nil {
			return service.At(pathTo("cdrom"), err)
		}
		config = &lost
	}
	if drive.Source(live) == want.Path && drive.Source(config) == want.Path {
		return nil
	}
	change := func(ctx context.Context, source *libvirtxml.DomainDiskSource) error {
		kept := *config
		drive.SetSource(&kept, source)
		changed := kept
		changed.Address, changed.Boot = nil, nil // nothing can change them in what runs
		if err := u.c.ChangeMedium(ctx, u.d.UUID, &changed, true); err != nil {
			return err
		}
		return u.c.UpdateDevice(ctx, u.d.UUID, &kept, false)
	}
	before := readMedium(u.d.Live)
	u.onFailure(func(ctx context.Context) error { return change(ctx, before.renderSource()) })
	return service.At(pathTo("cdrom"), change(ctx, want.renderSource()))
}

// pluggedBus is the bus at which a drive can be plugged into a machine that runs.
const pluggedBus = "scsi"

// plugDrive plugs a drive with a medium into a machine that runs.
func (u *update) plugDrive(ctx context.Context, want *Medium) error {
	if err := u.plugController(ctx, pluggedBus); err != nil {
		return err
	}
	x := drive.New(pluggedBus, append(u.d.Config.Devices.Disks, u.d.Live.Devices.Disks...))
	drive.SetSource(x, want.renderSource())
	if err := u.attachDisk(ctx, x, true); err != nil {
		return err
	}
	u.onFailure(func(ctx context.Context) error { return u.unplugDisk(ctx, x.Target.Dev, u.detachNow) })
	return nil
}
