package hypervisor

import (
	"context"
	"fmt"
	"sync"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// Network is one network as the hypervisor has it.
type Network struct {
	Name, UUID string
	// ConfigXML is what the next start uses, as libvirt prints it; Config is the same, parsed.
	ConfigXML string
	Config    *libvirtxml.Network
	// LiveXML is what runs now; "" where the network is inactive. Live is the same, parsed.
	LiveXML string
	Live    *libvirtxml.Network
	// Persistent networks have a configuration that survives a stop.
	Persistent, Autostart bool
}

// Active says whether the network runs.
func (n *Network) Active() bool { return n.Live != nil }

// Current is the running definition, or the configured one where the network is inactive.
func (n *Network) Current() *libvirtxml.Network {
	if n.Live != nil {
		return n.Live
	}
	return n.Config
}

// Bridge is the name of its bridge device; "" where it has none.
func (n *Network) Bridge() string {
	if b := n.Current().Bridge; b != nil {
		return b.Name
	}
	return ""
}

// Network reads a network by its UUID or its name. The error is ErrNotFound where libvirt knows none.
func (c *Client) Network(ctx context.Context, nameOrUUID string) (*Network, error) {
	return callIdempotent(ctx, c, fmt.Sprintf("read network %q", nameOrUUID), func(l *libvirt.Libvirt) (*Network, error) {
		ref, err := lookupNetwork(l, nameOrUUID)
		if err != nil {
			return nil, err
		}
		return readNetwork(l, ref)
	})
}

// Networks reads all networks of the hypervisor.
func (c *Client) Networks(ctx context.Context) ([]*Network, error) {
	return callIdempotent(ctx, c, "list networks", func(l *libvirt.Libvirt) ([]*Network, error) {
		refs, _, err := l.ConnectListAllNetworks(1, libvirt.ConnectListNetworksActive|libvirt.ConnectListNetworksInactive)
		if err != nil {
			return nil, err
		}
		return readAll(refs, func(ref libvirt.Network) (*Network, error) { return readNetwork(l, ref) })
	})
}

// OwnBridge is the bridge that comes and goes with the network; "" where it is somebody else's.
func (n *Network) OwnBridge() string {
	if f := n.Current().Forward; f != nil && f.Mode == "bridge" {
		return ""
	}
	return n.Bridge()
}

// DefineNetwork writes a network's configuration and returns its UUID. XML that carries the UUID of an
// existing network replaces that one's configuration; without one, a taken name is refused.
func (c *Client) DefineNetwork(ctx context.Context, name, xml string) (uuid string, err error) {
	defer c.ForgetPlan()
	c.bridgeNames.Lock()
	defer c.bridgeNames.Unlock()
	return callOnce(ctx, c, fmt.Sprintf("define network %q", name), func(l *libvirt.Libvirt) (string, error) {
		ref, err := l.NetworkDefineXML(xml)
		return formatUUID(ref.UUID), err
	})
}

// StartNetwork starts a network, and says whether it was inactive before.
func (c *Client) StartNetwork(ctx context.Context, nameOrUUID string) (started bool, err error) {
	defer c.ForgetPlan()
	return callIdempotent(ctx, c, fmt.Sprintf("start network %q", nameOrUUID), func(l *libvirt.Libvirt) (bool, error) {
		ref, err := lookupNetwork(l, nameOrUUID)
		if err != nil {
			return false, err
		}
		if active, err := l.NetworkIsActive(ref); err != nil || active == 1 {
			return false, err
		}
		return true, l.NetworkCreate(ref)
	})
}

// CreateTransientNetwork starts a network that is gone when it is stopped.
func (c *Client) CreateTransientNetwork(ctx context.Context, what, xml string) error {
	defer c.ForgetPlan()
	c.bridgeNames.Lock()
	defer c.bridgeNames.Unlock()
	_, err := callOnce(ctx, c, what, func(l *libvirt.Libvirt) (libvirt.Network, error) { return l.NetworkCreateXML(xml) })
	return err
}

// StopNetwork stops a network, which takes its bridge away; an inactive or absent one is left alone.
func (c *Client) StopNetwork(ctx context.Context, nameOrUUID string) error {
	defer c.ForgetPlan()
	return ignoreAbsence(c.actOnNetwork(ctx, "stop", nameOrUUID, func(l *libvirt.Libvirt, ref libvirt.Network) error {
		if active, err := l.NetworkIsActive(ref); err != nil || active == 0 {
			return err
		}
		return l.NetworkDestroy(ref)
	}))
}

// UndefineNetwork removes a network's configuration; an absent one is no error.
func (c *Client) UndefineNetwork(ctx context.Context, nameOrUUID string) error {
	defer c.ForgetPlan()
	return ignoreAbsence(c.actOnNetwork(ctx, "undefine", nameOrUUID, func(l *libvirt.Libvirt, ref libvirt.Network) error {
		return l.NetworkUndefine(ref)
	}))
}

// SetNetworkAutostart says whether the network starts with the hypervisor.
func (c *Client) SetNetworkAutostart(ctx context.Context, nameOrUUID string, on bool) error {
	defer c.ForgetPlan()
	return c.actOnNetwork(ctx, "set autostart of", nameOrUUID, func(l *libvirt.Libvirt, ref libvirt.Network) error {
		return l.NetworkSetAutostart(ref, toFlag(on))
	})
}

// actOnNetwork makes a call that may be made twice.
func (c *Client) actOnNetwork(ctx context.Context, verb, nameOrUUID string, fn func(*libvirt.Libvirt, libvirt.Network) error) error {
	_, err := callIdempotent(ctx, c, fmt.Sprintf("%s network %q", verb, nameOrUUID), withoutResult(func(l *libvirt.Libvirt) error {
		ref, err := lookupNetwork(l, nameOrUUID)
		if err != nil {
			return err
		}
		return fn(l, ref)
	}))
	return err
}

// ignoreAbsence returns the error of removing something, for which one that is not there is as good.
func ignoreAbsence(err error) error {
	if IsNotFound(err) {
		return nil
	}
	return err
}

func lookupNetwork(l *libvirt.Libvirt, nameOrUUID string) (libvirt.Network, error) {
	if IsUUID(nameOrUUID) {
		d, err := newDomainRef(nameOrUUID)
		if err != nil {
			return libvirt.Network{}, err
		}
		return l.NetworkLookupByUUID(d.UUID)
	}
	return l.NetworkLookupByName(nameOrUUID)
}

// NetworkUUID spells a network's name as its UUID.
func (c *Client) NetworkUUID(ctx context.Context, nameOrUUID string) (string, error) {
	if IsUUID(nameOrUUID) {
		return nameOrUUID, nil
	}
	return callIdempotent(ctx, c, fmt.Sprintf("look up network %q", nameOrUUID), func(l *libvirt.Libvirt) (string, error) {
		ref, err := lookupNetwork(l, nameOrUUID)
		return formatUUID(ref.UUID), err
	})
}

func readNetwork(l *libvirt.Libvirt, ref libvirt.Network) (*Network, error) {
	n := &Network{Name: ref.Name, UUID: formatUUID(ref.UUID)}
	active, err := l.NetworkIsActive(ref)
	if err != nil {
		return nil, err
	}
	persistent, err := l.NetworkIsPersistent(ref)
	if err != nil {
		return nil, err
	}
	n.Persistent = persistent == 1
	if n.ConfigXML, n.Config, err = networkXML(l, ref, uint32(libvirt.NetworkXMLInactive)); err != nil {
		return nil, err
	}
	if active == 1 {
		if n.LiveXML, n.Live, err = networkXML(l, ref, 0); err != nil {
			return nil, err
		}
	}
	if n.Persistent { // a transient network cannot start by itself, and libvirt refuses to say so
		autostart, err := l.NetworkGetAutostart(ref)
		if err != nil {
			return nil, err
		}
		n.Autostart = autostart == 1
	}
	return n, nil
}

func networkXML(l *libvirt.Libvirt, ref libvirt.Network, flags uint32) (string, *libvirtxml.Network, error) {
	text, err := l.NetworkGetXMLDesc(ref, flags)
	if flags != 0 && Code(explainError("", err)) == int(libvirt.ErrInvalidArg) {
		text, err = l.NetworkGetXMLDesc(ref, 0) // libvirt's test driver tells no configuration from what runs
	}
	if err != nil {
		return "", nil, err
	}
	var n libvirtxml.Network
	if err := n.Unmarshal(text); err != nil {
		return "", nil, fmt.Errorf("parse libvirt's XML of network %q: %w", ref.Name, err)
	}
	return text, &n, nil
}

// LockNetwork lets one change of a network happen at a time: each is a read followed by a write.
func (c *Client) LockNetwork(uuid string) (unlock func()) {
	mu, _ := c.networkLocks.LoadOrStore(uuid, new(sync.Mutex))
	lock, _ := mu.(*sync.Mutex)
	lock.Lock()
	return lock.Unlock
}

func toFlag(on bool) int32 {
	if on {
		return 1
	}
	return 0
}

// NetworkSection is a part of a network that libvirt changes without a restart.
type NetworkSection string

// The sections that are used, by virsh's names.
const (
	SectionDHCPRange NetworkSection = "ip-dhcp-range"
	SectionDHCPHost  NetworkSection = "ip-dhcp-host"
	SectionDNSHost   NetworkSection = "dns-host"
)

// EditCommand is what an edit does with its element.
type EditCommand string

// The commands.
const (
	EditAdd    EditCommand = "add"
	EditDelete EditCommand = "delete"
	EditModify EditCommand = "modify"
)

// NetworkEdit is one change that libvirt makes to a network without a restart.
type NetworkEdit struct {
	Section NetworkSection
	Command EditCommand
	// Parent is the place of the <ip> element that is meant; -1 where the section has none.
	Parent int
	XML    string
}

var (
	sectionNumbers = map[NetworkSection]libvirt.NetworkUpdateSection{
		SectionDHCPRange: libvirt.NetworkSectionIPDhcpRange, SectionDHCPHost: libvirt.NetworkSectionIPDhcpHost, SectionDNSHost: libvirt.NetworkSectionDNSHost,
	}
	commandNumbers = map[EditCommand]libvirt.NetworkUpdateCommand{
		EditAdd: libvirt.NetworkUpdateCommandAddLast, EditDelete: libvirt.NetworkUpdateCommandDelete, EditModify: libvirt.NetworkUpdateCommandModify,
	}
)

// EditNetwork makes one change in what runs, in the configuration, or in both at once, so that nothing can come between.
func (c *Client) EditNetwork(ctx context.Context, what, uuid string, e NetworkEdit, live, config bool) error {
	defer c.ForgetPlan()
	var affect libvirt.NetworkUpdateFlags
	if live {
		affect |= libvirt.NetworkUpdateAffectLive
	}
	if config {
		affect |= libvirt.NetworkUpdateAffectConfig
	}
	_, err := callOnce(ctx, c, what, withoutResult(func(l *libvirt.Libvirt) error {
		ref, err := lookupNetwork(l, uuid)
		if err != nil {
			return err
		}
		// Compat asks which of two orders of the arguments the daemon understands.
		return l.NetworkUpdateCompat(ref, commandNumbers[e.Command], sectionNumbers[e.Section], int32(e.Parent), e.XML, affect)
	}))
	if err != nil {
		return fmt.Errorf("%w (while sending %s)", err, e.XML)
	}
	return nil
}
