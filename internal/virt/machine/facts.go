package machine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// Facts are answers that all nodes of one provider process share, so that no hypervisor is asked twice: what
// it is, its pools, its images, its networks' names. Only answers are kept, never refusals, because what is
// absent now may be made by the next resource.
type Facts struct {
	known sync.Map // question → *answer
	// creating are the UUIDs of the domains that this process is making.
	creating sync.Map
	// leaving are the MAC addresses of the machines that this process is destroying.
	leaving sync.Map
	// held are the interfaces of the nodes in state by their domains' UUIDs. Terraform plans a replacement, and a node
	// that it holds to be broken, as if there had been none: only this tells their domains from somebody else's.
	held sync.Map
}

// Hold remembers a node that is in state.
func (f *Facts) Hold(s *Spec) {
	if s.UUID != "" {
		f.held.Store(s.UUID, s.Interfaces)
	}
}

// holds says whether a domain is a node in state.
func (f *Facts) holds(uuid string) bool {
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
}

// ask answers from memory or asks, once for all who want the same at one time.
func ask[T any](f *Facts, key any, question func() (T, error)) (T, error) {
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
	got, err := question()
	if err == nil {
		a.got, a.ok = got, true
	}
	return got, err
}

// question identifies what was asked of whom.
type question struct {
	client     *hypervisor.Client
	kind, name string
}

func (f *Facts) host(ctx context.Context, c *hypervisor.Client) (*hostFacts, error) {
	return ask(f, question{c, "host", ""}, func() (*hostFacts, error) {
		caps, err := c.HostCapabilities(ctx)
		if err != nil {
			return nil, err
		}
		h := &hostFacts{chipsets: map[string]map[string]bool{}, nestedFeature: "vmx"}
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
					offered[m.Name] = Usable(m.Name) || Usable(m.Canonical)
				}
				h.chipsets[domain.Type] = offered
			}
		}
		h.memory, err = c.HostMemory(ctx)
		return h, err
	})
}

// Pool reads a started pool by name or id.
func (f *Facts) Pool(ctx context.Context, c *hypervisor.Client, ref string) (*hypervisor.Pool, error) {
	return ask(f, question{c, "pool", ref}, func() (*hypervisor.Pool, error) {
		p, err := c.Pool(ctx, ref)
		if hypervisor.IsNotFound(err) {
			return nil, &missingError{fmt.Sprintf("there is no storage pool %q", ref), err}
		}
		return p, err
	})
}

// Volume reads a volume by its path: one that disks are made of, or one to attach.
func (f *Facts) Volume(ctx context.Context, c *hypervisor.Client, path string) (*hypervisor.Volume, error) {
	return ask(f, question{c, "volume", path}, func() (*hypervisor.Volume, error) {
		v, err := c.VolumeByPath(ctx, path)
		if hypervisor.IsNotFound(err) {
			return nil, &missingError{fmt.Sprintf("no storage pool that is started has a volume %s", path), err}
		}
		return v, err
	})
}

// NetworkName resolves a network's id; a name is taken as it is.
func (f *Facts) NetworkName(ctx context.Context, c *hypervisor.Client, ref string) (string, error) {
	if !hypervisor.IsUUID(ref) {
		return ref, nil
	}
	return ask(f, question{c, "network", ref}, func() (string, error) {
		n, err := c.Network(ctx, ref)
		if hypervisor.IsNotFound(err) {
			return "", &missingError{fmt.Sprintf("there is no network %q", ref), err}
		}
		if err != nil {
			return "", err
		}
		return n.Name, nil
	})
}

// lacksBridge says whether a hypervisor's machine has no bridge of a name, and whether that is sure.
func (f *Facts) lacksBridge(ctx context.Context, c *hypervisor.Client, name string) (lacks, sure bool, err error) {
	_, err = ask(f, question{c, "bridge", name}, func() (struct{}, error) {
		var err error
		if lacks, sure, err = c.LacksDevice(ctx, name); err == nil && lacks {
			err = errLacking
		}
		return struct{}{}, err
	})
	if errors.Is(err, errLacking) {
		err = nil
	}
	return lacks, sure, err
}

// errLacking keeps an absence from being remembered.
var errLacking = errors.New("there is no such bridge")

// missingError says that something the node is made of does not exist; the node itself may well do.
type missingError struct {
	what string
	err  error
}

func (e *missingError) Error() string { return e.what + ": " + e.err.Error() }

// IsMissing tells the absence of something the node is made of from a hypervisor that does not answer.
func IsMissing(err error) bool {
	_, ok := errors.AsType[*missingError](err)
	return ok
}

// domainsFor is how long a list of all domains may be shared among the nodes of one plan.
const domainsFor = 3 * time.Second

// domains lists all domains of a hypervisor, for cross-checks at plan time.
func (f *Facts) domains(ctx context.Context, c *hypervisor.Client) ([]*hypervisor.Domain, error) {
	bucket := time.Now().Truncate(domainsFor).String()
	return ask(f, question{c, "domains", bucket}, func() ([]*hypervisor.Domain, error) { return c.Domains(ctx) })
}

// leases lists the leases of a network, once for all machines of one refresh.
func (f *Facts) leases(ctx context.Context, c *hypervisor.Client, network string) ([]hypervisor.Lease, error) {
	bucket := time.Now().Truncate(domainsFor).String()
	return ask(f, question{c, "leases " + bucket, network}, func() ([]hypervisor.Lease, error) { return c.Leases(ctx, network) })
}

// offers asks what a hypervisor offers to machines of a type and chipset.
func (f *Facts) offers(ctx context.Context, c *hypervisor.Client, virtualisation, chipset string) (*libvirtxml.DomainCaps, error) {
	return ask(f, question{c, "offers to " + virtualisation, chipset}, func() (*libvirtxml.DomainCaps, error) {
		return c.DomainCapabilities(ctx, virtualisation, chipset)
	})
}

// processor is what a hypervisor's own processor can do for machines of a type and chipset.
func (f *Facts) processor(ctx context.Context, c *hypervisor.Client, offered *libvirtxml.DomainCaps) ([]string, error) {
	return ask(f, question{c, "processor for " + offered.Domain, offered.Machine}, func() ([]string, error) {
		return c.HostModelFeatures(ctx, offered)
	})
}
