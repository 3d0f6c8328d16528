package plan

import "fmt"

// What every resource has.
var (
	ObjectName = Kind{Name: "name of an object", Everywhere: true}
	// LastingName is that of an object that holds what a new one of its name would not have.
	LastingName = Kind{Name: "name of a network, image, volume, backup or pool of storage", Everywhere: true}
)

// What a machine has once.
var (
	Route      = Kind{Name: "route of a machine", Noun: "route"}
	Device     = Kind{Name: "interface of a machine", Noun: "interface"}
	Resolver   = Kind{Name: "resolver of a machine", Noun: "resolver"}
	HostsBlock = Kind{Name: "block of a hosts file", Noun: "hosts file block"}
	NFSExport  = Kind{Name: "directory exported by NFS", Noun: "NFS export"}
	// Controllers are those of a name (virtcluster_bmc), and ControllerPort where one of them, or the console of a machine, listens.
	Controllers    = Kind{Name: "controllers of machines", Noun: "controllers"}
	ControllerPort = Kind{Name: "where a controller or a console of a machine listens", Noun: "listener"}
	ServedPath     = Kind{Name: "path that is served by HTTP", Noun: "content"}
	// ServedPort is that of a daemon which runs from a unit of the provider's own.
	ServedPort = Kind{Name: "port of a registry or a boot server", Noun: "port"}
	TimeServer = Kind{Name: "time server of a machine", Noun: "time server"}
	BootServer = Kind{Name: "boot server of a machine", Noun: "boot server"}
	// BootedMachine is a machine by its MAC address, which boots what one profile says.
	BootedMachine = Kind{Name: "machine that boots from the network", Noun: "boot profile of", Everywhere: true}
	// BootedNode is one by the name of its node, and NodeCard the first interface of a node, by its name too; For is the MAC address.
	BootedNode = Kind{Name: "node that boots from the network", Noun: "boot profile of node", Everywhere: true}
	NodeCard   = Kind{Name: "first interface of a node", Noun: "first interface of node", Everywhere: true}
	// ServedURL is what a resource of the plan serves by HTTP: a file, or a directory with all that is below it.
	ServedURL  = Kind{Name: "URL that the plan serves", Noun: "URL", Everywhere: true}
	DHCPServer = Kind{Name: "interface that has a DHCP server", Noun: "DHCP server on"}
)

// Addresses that the plan puts on devices of a machine, by what puts them there: whoever of two goes would take it from the other.
var (
	InterfaceAddress = Kind{Name: "address of an interface", Noun: "address"}
	BridgeAddress    = Kind{Name: "address of a bridge", Noun: "address"}
	ExposureAddress  = Kind{Name: "address that an exposure configures", Noun: "address"}
	VIPOnMachine     = Kind{Name: "address of a VIP on a member", Noun: "address"}
	// KnownAddresses says that the plan says which addresses a device has.
	KnownAddresses = Kind{Name: "device whose addresses are known", Noun: "addresses of"}
)

// What HAProxy has once on a machine, and what leads connections away before it gets them.
var (
	Section  = Kind{Name: "frontend or backend of HAProxy", Noun: "section"}
	BaseOf   = Kind{Name: "base configuration of HAProxy", Noun: "base configuration"}
	Setting  = Kind{Name: "line of HAProxy's base configuration", Noun: "setting"}
	Listener = Kind{Name: "where HAProxy listens", Noun: "listener"}
	// LeadsToHTTP is a backend that a frontend of HTTP leads to, and TCPBackend one in mode tcp.
	LeadsToHTTP = Kind{Name: "backend of a frontend in mode http", Noun: "backend"}
	TCPBackend  = Kind{Name: "backend in mode tcp", Noun: "backend"}
	// ExposedPort is one that is exposed, as messages have it, and ExposureListener where a program would listen for it.
	ExposedPort      = Kind{Name: "port that is exposed", Noun: "port"}
	ExposureListener = Kind{Name: "where a program would listen for an exposed port", Noun: "listener"}
	// WholeAddress is one of which every port is led away, SharedAddress one of which somebody exposes ports, and ListenerAddress one that
	// HAProxy listens at; For is the endpoint.
	WholeAddress    = Kind{Name: "floating address", Noun: "address"}
	SharedAddress   = Kind{Name: "address of an exposed port", Noun: "address"}
	ListenerAddress = Kind{Name: "address that HAProxy listens at", Noun: "address"}
	// RemovedListener is an address that a frontend leaves, be it for a moment: virtual addresses are handed over before.
	RemovedListener = Kind{Name: "address of a frontend that goes", Noun: "address"}
)

// What a DNS server has once: views, and in a zone, which is the scope, the records of a name and a type ("www A"), be they the zone's own
// or a resource's.
var (
	DNSView     = Kind{Name: "view of a DNS server", Noun: "view"}
	ZoneRecords = Kind{Name: "records of a DNS zone", Noun: "records"}
	RecordSet   = Kind{Name: "record set of a DNS zone", Noun: "record set"}
)

// What a hypervisor has once.
var (
	StoragePool = Kind{Name: "name of a pool of storage", Noun: "storage pool"}
	Directory   = Kind{Name: "directory of a pool of storage", Noun: "directory"}
	// Volume is the name of one in a pool, NodeVolume that of a node's own disk or seed.
	Volume     = Kind{Name: "volume or image in a pool", Noun: "volume"}
	NodeVolume = Kind{Name: "volume of a node", Noun: "volume"}
	// VolumePath is a volume that the plan has, AttachedVolume one that a node has as a disk, and RunningVolume that of a node that runs:
	// QEMU lets only one write to it.
	VolumePath     = Kind{Name: "volume", Noun: "volume"}
	AttachedVolume = Kind{Name: "disk of a node that is a volume of its own", Noun: "volume"}
	RunningVolume  = Kind{Name: "disk of a node that runs", Noun: "use of volume"}
	// HostDevice is one of the hypervisor's devices, which only one node that runs can have.
	// DevicePart is a part of one, which several can have, where none has the whole.
	HostDevice = Kind{Name: "device of a hypervisor that a running node has", Noun: "use of"}
	DevicePart = Kind{Name: "device of a hypervisor that a running node is upon", Noun: "use of"}
	// Checkpoint is that of a backup of a node, and BaseCheckpoint one that a backup is incremental from.
	Checkpoint     = Kind{Name: "checkpoint of a backup", Noun: "checkpoint", Everywhere: true}
	BaseCheckpoint = Kind{Name: "checkpoint that a backup is incremental from", Noun: "checkpoint", Everywhere: true}
	NetworkBridge  = Kind{Name: "bridge of a network", Noun: "bridge"}
	// TurnLimit is how many nodes of a group may be down at one time; For is the number.
	TurnLimit  = Kind{Name: "limit of a group of nodes", Noun: "limit of group", Everywhere: true}
	HostBridge = Kind{Name: "bridge of a host", Noun: "bridge"}
)

// What a segment of Ethernet has once. MAC addresses are compared as if there was one: the nodes may meet.
var (
	MAC             = Kind{Name: "MAC address", Noun: "MAC address", Everywhere: true}
	GuestAddress    = Kind{Name: "address of a node", Noun: "IP address"}
	ReservedAddress = Kind{Name: "address of a reservation", Noun: "IP address"}
	GatewayAddress  = Kind{Name: "gateway of a network", Noun: "IP address"}
	// VirtualAddress is one of a VIP, which does not say where it is.
	VirtualAddress  = Kind{Name: "address of a VIP", Noun: "virtual address", Everywhere: true}
	ListedAddress   = Kind{Name: "entry of dhcp.hosts", Noun: "IP address"}
	HandedOut       = Kind{Name: "range of a network's DHCP", Noun: "range"}
	NodeReservation = Kind{Name: "reservation of a node", Noun: "reservation for"}
	Reservation     = Kind{Name: "reservation of a machine", Noun: "reservation for"}
	IPv4Name        = Kind{Name: "name of an IPv4 reservation", Noun: "IPv4 name"}
	IPv6Name        = Kind{Name: "name of an IPv6 reservation", Noun: "IPv6 name"}
	RouterID        = Kind{Name: "virtual router id", Noun: "virtual router id", Everywhere: true}
	VRRPInstance    = Kind{Name: "VRRP instance", Noun: "VRRP instance"}
)

// Pools of addresses, each with the addresses that it has, those that it gives out, and those that are drawn, wherever they are used.
var (
	PoolRange    = Kind{Name: "range of an address pool", Noun: "range"}
	PoolStock    = Kind{Name: "address that a new pool gives out", Noun: "address"}
	DrawnAddress = Kind{Name: "address that is drawn", Noun: "address", Everywhere: true}
)

// Subnets, and what a plan knows of a network.
var (
	NetworkSubnet = Kind{Name: "subnet of a network", Noun: "subnet"}
	PodSubnet     = Kind{Name: "network of pods", Noun: "subnet", Everywhere: true}
	// Network is one that the plan has. KnownSubnets says that all of its subnets are known, NoDHCP that it gives no addresses, and
	// NetworkMode how it forwards.
	Network      = Kind{Name: "network", Noun: "network"}
	KnownSubnets = Kind{Name: "subnets of a network", Noun: "subnets of network"}
	NoDHCP       = Kind{Name: "network without DHCP", Noun: "network without DHCP"}
	NetworkMode  = Kind{Name: "mode of a network", Noun: "mode"}
	// OVN is OVN on its machines that the plan has. OVNMTU says that it is known how large packets of its guests may be; For is the number of
	// bytes, "" where there is none yet.
	OVN    = Kind{Name: "OVN of the plan", Noun: "OVN", Everywhere: true}
	OVNMTU = Kind{Name: "MTU of guests on OVN", Noun: "MTU", Everywhere: true}
	// OVNChassis are the machines that OVN of the plan will have guests on, as Of.
	OVNChassis = Kind{Name: "chassis of OVN", Noun: "chassis", Everywhere: true}
	// OVNNetwork is a network of OVN that the plan has; Of is what it will be.
	OVNNetwork = Kind{Name: "network of OVN", Noun: "network of OVN", Everywhere: true}
	// OVNRouter is a router of OVN that the plan has; Of is what it will be.
	OVNRouter = Kind{Name: "router of OVN", Noun: "router of OVN", Everywhere: true}
	// OVNLoadBalancer is a load balancer of OVN that the plan has; Of is what it will be.
	OVNLoadBalancer = Kind{Name: "load balancer of OVN", Noun: "load balancer of OVN", Everywhere: true}
	// OutsideAddress is one that a router of OVN has in a network of the chassis: its own, or a floating one.
	OutsideAddress = Kind{Name: "address of a router of OVN outside", Noun: "IP address"}
	// SucceededNetwork is one of a hypervisor, by its URI and UUID, that another one takes the place of; For is "first" where it has to go
	// before that can be made.
	SucceededNetwork = Kind{Name: "network that another one succeeds", Noun: "network"}
)

// OnNetwork is the scope of what a network has once.
func OnNetwork(name string) string { return fmt.Sprintf("network %q", name) }

// InPool is the scope of what a pool of storage has once.
func InPool(name string) string { return fmt.Sprintf("storage pool %q", name) }
