package machine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// HypervisorCache keeps answers that all nodes of one provider process share, so that no hypervisor is asked twice: what
// it is, its pools, its images, its networks' names. Only answers are kept, never refusals, because what is
// absent now may be made by the next resource.
type HypervisorCache struct {
	known sync.Map // question → *answer
	// creating are the UUIDs of the domains that this process is making.
	creating sync.Map
	// destroys counts the machines that this process is destroying, and destroyed is when the last of them was.
	destroys  atomic.Int32
	destroyed atomic.Pointer[time.Time]
	// held are the interfaces of the nodes in state, by the UUIDs of their domains. Terraform plans a replacement, and a node that
	// is tainted, as if the node were not there: only this tells the domains of such nodes from somebody else's.
	held sync.Map
}

// RememberNode remembers a node that is in state.
func (f *HypervisorCache) RememberNode(s *Spec) {
	if s.UUID != "" {
		f.held.Store(s.UUID, s.Interfaces)
	}
}

// isNodeInState says whether a domain is a node in state.
func (f *HypervisorCache) isNodeInState(uuid string) bool {
	_, held := f.held.Load(uuid)
	return held
}

// hostFacts is what a hypervisor is.
type hostFacts struct {
	// chipsets are the machine types by virtualisation type, short names included, and whether a node can be one.
	chipsets map[string]map[string]bool
	// nestedFeature is "vmx" or "svm".
	nestedFeature string
	memory        uint64
	// uuid is that of the machine; "" where libvirt does not say.
	uuid string
	caps *libvirtxml.Caps
}

// askHostname returns what the hypervisor's machine calls itself.
func (f *HypervisorCache) askHostname(ctx context.Context, c *hypervisor.Client) (string, error) {
	return askOnce(f, question{c, "hostname", ""}, func() (string, error) {
		h, err := c.Host(ctx)
		return h.Hostname, err
	})
}

// askOnce answers from memory or asks, once for all who want the same at one time.
func askOnce[T any](f *HypervisorCache, key any, ask func() (T, error)) (T, error) {
	return askOnceIf(f, key, func(T) bool { return true }, ask)
}

// askOnceIf is askOnce for answers of which only some are worth remembering.
func askOnceIf[T any](f *HypervisorCache, key any, lasts func(T) bool, ask func() (T, error)) (T, error) {
	type answer struct {
		mu  sync.Mutex
		ok  bool
		got T
	}
	v, _ := f.known.LoadOrStore(key, &answer{})
	a := v.(*answer)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ok {
		return a.got, nil
	}
	got, err := ask()
	if err == nil && lasts(got) {
		a.got, a.ok = got, true
	}
	return got, err
}

// question identifies what was asked of whom.
type question struct {
	client     *hypervisor.Client
	kind, name string
}

func (f *HypervisorCache) askHost(ctx context.Context, c *hypervisor.Client) (*hostFacts, error) {
	return askOnce(f, question{c, "host", ""}, func() (*hostFacts, error) {
		caps, err := c.HostCapabilities(ctx)
		if err != nil {
			return nil, err
		}
		h := &hostFacts{chipsets: map[string]map[string]bool{}, nestedFeature: "vmx", uuid: caps.Host.UUID, caps: caps}
		if caps.Host.CPU != nil && caps.Host.CPU.Vendor == "AMD" {
			h.nestedFeature = "svm"
		}
		for _, guest := range caps.Guests {
			if guest.Arch.Name != "x86_64" {
				continue
			}
			for _, domain := range guest.Arch.Domains {
				offered := map[string]bool{}
				machines := domain.Machines
				if len(machines) == 0 {
					machines = guest.Arch.Machines
				}
				for _, m := range machines {
					offered[m.Name] = HasPCI(m.Name) || HasPCI(m.Canonical)
				}
				h.chipsets[domain.Type] = offered
			}
		}
		h.memory, err = c.HostMemory(ctx)
		return h, err
	})
}

// Pool reads a started pool by name or id.
func (f *HypervisorCache) Pool(ctx context.Context, c *hypervisor.Client, ref string) (*hypervisor.Pool, error) {
	return askOnce(f, question{c, "pool", ref}, func() (*hypervisor.Pool, error) {
		p, err := c.Pool(ctx, ref)
		return p, explainMissing(err, "there is no storage pool %q", ref)
	})
}

// Volume reads a volume by its path: one that disks are made of, or one to attach.
func (f *HypervisorCache) Volume(ctx context.Context, c *hypervisor.Client, path string) (*hypervisor.Volume, error) {
	return askOnce(f, question{c, "volume", path}, func() (*hypervisor.Volume, error) {
		v, err := c.VolumeByPath(ctx, path)
		return v, explainMissing(err, "no storage pool that is started has a volume %s", path)
	})
}

// NetworkName resolves a network's id; a name is taken as it is.
func (f *HypervisorCache) NetworkName(ctx context.Context, c *hypervisor.Client, ref string) (string, error) {
	if !hypervisor.IsUUID(ref) {
		return ref, nil
	}
	return askOnce(f, question{c, "network", ref}, func() (string, error) {
		n, err := c.Network(ctx, ref)
		if err != nil {
			return "", explainMissing(err, "there is no network %q", ref)
		}
		return n.Name, nil
	})
}

// lacksDevice says whether a hypervisor's machine has no network device of a name, and whether that is sure.
func (f *HypervisorCache) lacksDevice(ctx context.Context, c *hypervisor.Client, name string) (lacks, sure bool, err error) {
	type witness struct{ lacks, sure bool }
	is, err := askOnceIf(f, question{c, "network device", name}, func(w witness) bool { return !w.lacks }, func() (w witness, err error) {
		w.lacks, w.sure, err = c.LacksDevice(ctx, name)
		return w, err
	})
	return is.lacks, is.sure, err
}

// missingError says that something the node is made of does not exist; the node itself may well do.
type missingError struct {
	what string
	err  error
}

func (e *missingError) Error() string { return e.what + ": " + e.err.Error() }

// explainMissing returns an error as a missingError where it proves that something does not exist.
func explainMissing(err error, format string, args ...any) error {
	if hypervisor.IsNotFound(err) {
		return &missingError{fmt.Sprintf(format, args...), err}
	}
	return err
}

// IsMissing tells the absence of something the node is made of from a hypervisor that does not answer.
func IsMissing(err error) bool {
	_, ok := errors.AsType[*missingError](err)
	return ok
}

// domainsFor is how long a list of all domains may be shared among the nodes of one plan.
const domainsFor = 3 * time.Second

// listDomains lists all domains of a hypervisor, for cross-checks at plan time.
func (f *HypervisorCache) listDomains(ctx context.Context, c *hypervisor.Client) ([]*hypervisor.Domain, error) {
	bucket := time.Now().Truncate(domainsFor).String()
	return askOnce(f, question{c, "domains", bucket}, func() ([]*hypervisor.Domain, error) { return c.Domains(ctx) })
}

// listHostDevices lists the devices of a hypervisor, for cross-checks at plan time.
func (f *HypervisorCache) listHostDevices(ctx context.Context, c *hypervisor.Client) (hostDevices, error) {
	bucket := time.Now().Truncate(domainsFor).String()
	return askOnce(f, question{c, "devices", bucket}, func() (hostDevices, error) {
		all, err := c.NodeDevices(ctx)
		return all, err
	})
}

// listLeases lists the leases of a network, once for all machines of one refresh.
func (f *HypervisorCache) listLeases(ctx context.Context, c *hypervisor.Client, network string) ([]hypervisor.Lease, error) {
	bucket := time.Now().Truncate(domainsFor).String()
	return askOnce(f, question{c, "leases " + bucket, network}, func() ([]hypervisor.Lease, error) { return c.Leases(ctx, network) })
}

// askCapabilities asks what a hypervisor offers to machines of a type and chipset.
func (f *HypervisorCache) askCapabilities(ctx context.Context, c *hypervisor.Client, virtualisation, chipset string) (*libvirtxml.DomainCaps, error) {
	return askOnce(f, question{c, "offers to " + virtualisation, chipset}, func() (*libvirtxml.DomainCaps, error) {
		return c.DomainCapabilities(ctx, virtualisation, chipset)
	})
}

// askProcessorFeatures returns what a hypervisor's own processor can do for machines of a type and chipset.
func (f *HypervisorCache) askProcessorFeatures(ctx context.Context, c *hypervisor.Client, offered *libvirtxml.DomainCaps) ([]string, error) {
	return askOnce(f, question{c, "processor for " + offered.Domain, offered.Machine}, func() ([]string, error) {
		return c.HostModelFeatures(ctx, offered)
	})
}

// SameNetwork says whether two references, each a name or an id, mean one network.
func (f *HypervisorCache) SameNetwork(ctx context.Context, c *hypervisor.Client, a, b string) bool {
	return sameReference(a, b, func(ref string) (string, error) { return f.NetworkName(ctx, c, ref) })
}

// SamePool says whether two references, each a name or an id, mean one storage pool.
func (f *HypervisorCache) SamePool(ctx context.Context, c *hypervisor.Client, a, b string) bool {
	return sameReference(a, b, func(ref string) (string, error) {
		p, err := f.Pool(ctx, c, ref)
		if err != nil {
			return "", err
		}
		return p.Name(), nil
	})
}

func sameReference(a, b string, name func(string) (string, error)) bool {
	if a == b || hypervisor.IsUUID(a) == hypervisor.IsUUID(b) {
		return a == b
	}
	x, err := name(a)
	y, err2 := name(b)
	return err == nil && err2 == nil && x == y
}

// IsID says whether a text is a machine's id, and no name.
func IsID(text string) bool { return hypervisor.IsUUID(text) }

// HasChipset says whether a machine is of a chipset; one that cannot be asked about is of none.
func HasChipset(ctx context.Context, c *hypervisor.Client, id, chipset string) bool {
	d, err := c.Domain(ctx, id)
	return err == nil && SameChipset(chipset, Read(d.Config).Chipset)
}

// HasMachine says whether a hypervisor has the machine of an id; one that cannot be asked has none.
func HasMachine(ctx context.Context, c *hypervisor.Client, id string) bool {
	_, err := c.Domain(ctx, id)
	return err == nil
}
