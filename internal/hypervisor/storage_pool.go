package hypervisor

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// Pool is one storage pool as the hypervisor has it.
type Pool struct {
	// XML is the pool's definition. Capacity, Allocation and Available in it are bytes, and 0 while the
	// pool is stopped.
	XML libvirtxml.StoragePool
	// Config is how the pool is defined, as it is when it starts next.
	Config libvirtxml.StoragePool
	// Active says whether the pool is started: the volumes of a stopped one cannot be seen.
	Active     bool
	Autostart  bool
	Persistent bool
}

// Name of the pool.
func (p *Pool) Name() string { return p.XML.Name }

// UUID of the pool, as libvirt spells it.
func (p *Pool) UUID() string { return p.XML.UUID }

// Type is libvirt's word: "dir", "logical", …
func (p *Pool) Type() string { return p.XML.Type }

// Path is the directory or device that the pool is in; "" for types without one.
func (p *Pool) Path() string {
	if p.XML.Target == nil {
		return ""
	}
	return p.XML.Target.Path
}

// Available is how much room was left in the pool, in bytes, when libvirt looked at it last.
func (p *Pool) Available() uint64 {
	if p.XML.Available == nil {
		return 0
	}
	return p.XML.Available.Value
}

// Files says whether the pool's volumes are files that grow as they are written.
func (p *Pool) Files() bool { return p.Type() == "dir" || p.Type() == "fs" || p.Type() == "netfs" }

// Pool reads a storage pool by its name or UUID. The error is ErrNotFound where libvirt knows none.
func (c *Client) Pool(ctx context.Context, nameOrUUID string) (*Pool, error) {
	return callIdempotent(ctx, c, fmt.Sprintf("read storage pool %q", nameOrUUID), func(l *libvirt.Libvirt) (*Pool, error) {
		ref, err := lookupPool(l, nameOrUUID)
		if err != nil {
			return nil, err
		}
		return readPool(l, ref)
	})
}

// Pools reads all storage pools. One that vanishes meanwhile is left out.
func (c *Client) Pools(ctx context.Context) ([]*Pool, error) {
	return callIdempotent(ctx, c, "list storage pools", func(l *libvirt.Libvirt) ([]*Pool, error) {
		refs, _, err := l.ConnectListAllStoragePools(1, 0)
		if err != nil {
			return nil, err
		}
		return readAll(refs, func(ref libvirt.StoragePool) (*Pool, error) { return readPool(l, ref) })
	})
}

// PoolTypes lists the types of pools that the hypervisor's libvirt has drivers for; none where it does not tell.
func (c *Client) PoolTypes(ctx context.Context) ([]string, error) {
	text, err := callIdempotent(ctx, c, "ask for the types of storage pools", func(l *libvirt.Libvirt) (string, error) { return l.ConnectGetStoragePoolCapabilities(0) })
	if IsUnsupported(err) {
		return nil, nil // before libvirt 5.2, and its test driver
	}
	if err != nil {
		return nil, err
	}
	return parsePoolTypes(text)
}

func parsePoolTypes(text string) ([]string, error) {
	var told struct {
		Pools []struct {
			Type      string `xml:"type,attr"`
			Supported string `xml:"supported,attr"`
		} `xml:"pool"`
	}
	if err := xml.Unmarshal([]byte(text), &told); err != nil {
		return nil, fmt.Errorf("parse the types of storage pools: %w", err)
	}
	var offered []string
	for _, p := range told.Pools {
		if p.Supported == "yes" {
			offered = append(offered, p.Type)
		}
	}
	return offered, nil
}

// DefinePool defines a pool, or redefines the one that has its UUID. It starts nothing.
func (c *Client) DefinePool(ctx context.Context, pool *libvirtxml.StoragePool) error {
	text, err := pool.Marshal()
	if err != nil {
		return fmt.Errorf("write the XML of storage pool %q: %w", pool.Name, err)
	}
	_, err = callIdempotent(ctx, c, fmt.Sprintf("define storage pool %q", pool.Name), func(l *libvirt.Libvirt) (libvirt.StoragePool, error) {
		return l.StoragePoolDefineXML(text, 0)
	})
	return err
}

// RedefinePool changes how a pool is defined. It goes on as it is meanwhile.
func (c *Client) RedefinePool(ctx context.Context, pool string, change func(*libvirtxml.StoragePool)) error {
	p, err := c.Pool(ctx, pool)
	if err != nil {
		return err
	}
	change(&p.Config)
	if err := c.DefinePool(ctx, &p.Config); err != nil || !p.Active {
		return err
	}
	return c.RefreshPool(ctx, p.UUID()) // libvirt forgets how much room there is
}

// BuildPool makes the directory of a pool of type "dir" or "netfs", which may be there already. Of any other type it would format what the pool is
// made from.
func (c *Client) BuildPool(ctx context.Context, pool string) error {
	return c.actOnPool(ctx, "build", pool, func(l *libvirt.Libvirt, ref libvirt.StoragePool) error {
		return l.StoragePoolBuild(ref, libvirt.StoragePoolBuildNew)
	})
}

// StartPool starts a pool; one that runs already is no error.
func (c *Client) StartPool(ctx context.Context, pool string) error {
	return c.actOnPool(ctx, "start", pool, func(l *libvirt.Libvirt, ref libvirt.StoragePool) error {
		if active, err := l.StoragePoolIsActive(ref); err != nil || active != 0 {
			return err
		}
		return l.StoragePoolCreate(ref, libvirt.StoragePoolCreateNormal)
	})
}

// StartTransientPool starts a pool that libvirt forgets when it ends. One that is started already is no error.
func (c *Client) StartTransientPool(ctx context.Context, pool *libvirtxml.StoragePool) error {
	text, err := pool.Marshal()
	if err != nil {
		return fmt.Errorf("write the XML of storage pool %q: %w", pool.Name, err)
	}
	_, err = callIdempotent(ctx, c, fmt.Sprintf("start storage pool %q", pool.Name), withoutResult(func(l *libvirt.Libvirt) error {
		if ref, err := l.StoragePoolLookupByName(pool.Name); err == nil {
			active, err := l.StoragePoolIsActive(ref)
			if err != nil || active != 0 {
				return err
			}
		}
		_, err := l.StoragePoolCreateXML(text, 0)
		return err
	}))
	return err
}

// StopPool stops a pool, which leaves its content alone; one that is stopped already is no error.
func (c *Client) StopPool(ctx context.Context, pool string) error {
	return c.actOnPool(ctx, "stop", pool, func(l *libvirt.Libvirt, ref libvirt.StoragePool) error {
		if active, err := l.StoragePoolIsActive(ref); err != nil || active == 0 {
			return err
		}
		return l.StoragePoolDestroy(ref)
	})
}

// SetPoolAutostart sets whether the pool starts with its daemon.
func (c *Client) SetPoolAutostart(ctx context.Context, pool string, on bool) error {
	return c.actOnPool(ctx, "set autostart of", pool, func(l *libvirt.Libvirt, ref libvirt.StoragePool) error {
		return l.StoragePoolSetAutostart(ref, toFlag(on))
	})
}

// DeletePoolTarget removes the directory of a stopped pool of type "dir" or "netfs"; libvirt refuses while there is
// anything in it. Of any other type it would delete what the pool is made from.
func (c *Client) DeletePoolTarget(ctx context.Context, pool string) error {
	return c.actOnPool(ctx, "delete the directory of", pool, func(l *libvirt.Libvirt, ref libvirt.StoragePool) error {
		return l.StoragePoolDelete(ref, libvirt.StoragePoolDeleteNormal)
	})
}

// UndefinePool forgets a stopped pool; its content stays.
func (c *Client) UndefinePool(ctx context.Context, pool string) error {
	return c.actOnPool(ctx, "undefine", pool, func(l *libvirt.Libvirt, ref libvirt.StoragePool) error {
		return l.StoragePoolUndefine(ref)
	})
}

// refreshPatience is how long a refresh waits while other volumes of the pool are being made: libvirt
// refuses to look at a pool meanwhile.
const refreshPatience = 30 * time.Second

// RefreshPool makes libvirt look at what is in a started pool, as files come and go behind its back.
func (c *Client) RefreshPool(ctx context.Context, pool string) error {
	return Retry(ctx, refreshPatience, 100*time.Millisecond, func() (bool, error) {
		err := c.actOnPool(ctx, "refresh", pool, func(l *libvirt.Libvirt, ref libvirt.StoragePool) error {
			return l.StoragePoolRefresh(ref, 0)
		})
		// libvirt has no code of its own for this refusal: it is "internal error" with this text, which
		// is translated where the daemon runs in another language; then the refusal is just an error.
		return Code(err) == int(libvirt.ErrInternalError) && strings.Contains(err.Error(), "asynchronous jobs"), err
	})
}

// LookIntoPool has libvirt look at what is in a started pool, as RefreshPool does, but in one whose directory is gone: libvirt would stop it, and whether it
// is to be is for whoever has the pool. The error is ErrPoolStopped then. That the machine has no such directory proves nothing where libvirtd sees
// other files, as in a container: of a pool with volumes libvirt says whether any of them can be seen.
func (c *Client) LookIntoPool(ctx context.Context, p *Pool) error {
	if p.Active && p.Files() {
		lacks, err := c.LacksDirectory(ctx, p.Path())
		if lacks {
			lacks, err = c.seesNoVolume(ctx, p.UUID())
		}
		if lacks || err != nil && !errors.Is(err, fs.ErrPermission) {
			return errors.Join(fmt.Errorf("%w: its directory %s cannot be seen", ErrPoolStopped, p.Path()), err)
		}
	}
	return c.RefreshPool(ctx, p.UUID())
}

// seesNoVolume says whether libvirt can see none of the volumes that it remembers of a started pool; false where it remembers none.
func (c *Client) seesNoVolume(ctx context.Context, pool string) (bool, error) {
	names, err := c.VolumeNames(ctx, pool)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if _, err := c.readVolume(ctx, "look for the volumes of a storage pool", pool, name); err == nil {
			return false, nil
		} else if Code(err) == 0 {
			return false, err // libvirt did not answer
		}
	}
	return len(names) > 0, nil
}

// actOnPool looks a pool up and makes a call on it, all of which are safe to repeat.
func (c *Client) actOnPool(ctx context.Context, verb, pool string, fn func(*libvirt.Libvirt, libvirt.StoragePool) error) error {
	_, err := callIdempotent(ctx, c, fmt.Sprintf("%s storage pool %q", verb, pool), withoutResult(func(l *libvirt.Libvirt) error {
		ref, err := lookupPool(l, pool)
		if err != nil {
			return err
		}
		return fn(l, ref)
	}))
	return err
}

func lookupPool(l *libvirt.Libvirt, nameOrUUID string) (libvirt.StoragePool, error) {
	if ref, err := newDomainRef(nameOrUUID); err == nil && IsUUID(nameOrUUID) {
		if pool, err := l.StoragePoolLookupByUUID(ref.UUID); err == nil {
			return pool, nil
		}
	}
	return l.StoragePoolLookupByName(nameOrUUID)
}

func readPool(l *libvirt.Libvirt, ref libvirt.StoragePool) (*Pool, error) {
	p := &Pool{}
	for into, flags := range map[*libvirtxml.StoragePool]libvirt.StorageXMLFlags{&p.XML: 0, &p.Config: libvirt.StorageXMLInactive} {
		text, err := l.StoragePoolGetXMLDesc(ref, flags)
		if flags != 0 && Code(explainError("", err)) == int(libvirt.ErrInvalidArg) {
			text, err = l.StoragePoolGetXMLDesc(ref, 0) // the test driver has no other one
		}
		if err != nil {
			return nil, err
		}
		if err := into.Unmarshal(text); err != nil {
			return nil, fmt.Errorf("parse the XML of storage pool %q: %w", ref.Name, err)
		}
	}
	for _, ask := range []struct {
		answer *bool
		fn     func(libvirt.StoragePool) (int32, error)
	}{{&p.Active, l.StoragePoolIsActive}, {&p.Persistent, l.StoragePoolIsPersistent}, {&p.Autostart, l.StoragePoolGetAutostart}} {
		n, err := ask.fn(ref)
		if err != nil {
			return nil, err
		}
		*ask.answer = n != 0
	}
	return p, nil
}

// GrowVolume gives a volume a larger capacity, in bytes, whether or not a running machine uses it. The
// machine's own view follows at once; its partitions and file systems are its own affair.
func (c *Client) GrowVolume(ctx context.Context, v *Volume, capacity uint64) error {
	uuid, disk, err := c.runningUser(ctx, v)
	if err != nil {
		return err
	}
	if uuid != "" {
		// QEMU holds the file: only through it can the file grow.
		return c.ResizeDomainDisk(ctx, uuid, disk, capacity)
	}
	_, err = callIdempotent(ctx, c, fmt.Sprintf("grow volume %q of storage pool %q", v.Name(), v.Pool), withoutResult(func(l *libvirt.Libvirt) error {
		p, err := activePool(l, v.Pool)
		if err != nil {
			return err
		}
		ref, err := l.StorageVolLookupByName(p, v.Name())
		if err != nil {
			return err
		}
		return l.StorageVolResize(ref, capacity, 0)
	}))
	return err
}

// runningUser finds the running domain that has a volume as a disk, and the disk's target name; "" for none.
func (c *Client) runningUser(ctx context.Context, v *Volume) (uuid, disk string, err error) {
	domains, err := c.Domains(ctx)
	if err != nil {
		return "", "", err
	}
	for _, d := range domains {
		if !d.Active() || d.Live.Devices == nil {
			continue
		}
		for _, disk := range d.Live.Devices.Disks {
			if disk.Target != nil && v.IsSource(disk.Source) {
				return d.UUID, disk.Target.Dev, nil
			}
		}
	}
	return "", "", nil
}

// IsSource says whether a disk's source is the volume, by its path or by the names of pool and volume.
func (v *Volume) IsSource(source *libvirtxml.DomainDiskSource) bool {
	switch {
	case source == nil:
		return false
	case source.File != nil:
		return source.File.File == v.Path()
	case source.Block != nil:
		return source.Block.Dev == v.Path()
	case source.Volume != nil:
		return source.Volume.Pool == v.Pool && source.Volume.Volume == v.Name()
	}
	return false
}

// IsBelow says whether a disk lies upon the volume.
func (v *Volume) IsBelow(disk libvirtxml.DomainDisk) bool {
	for below := disk.BackingStore; below != nil; below = below.BackingStore {
		if v.IsSource(below.Source) {
			return true
		}
	}
	return false
}
