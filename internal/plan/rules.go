package plan

// Rule says that a use of one kind is refused where another resource of the plan has one of another kind, or of the same: both are
// there once, and have the value, or an address, in common.
type Rule struct {
	Mine, Theirs Kind
	// MineIs and TheirsIs are what the plan does with the two.
	MineIs, TheirsIs State
	// Summary and Detail are the error at the use that is refused. In the detail stand {mine} and {theirs} for the two uses with where they
	// are, {value} and {their value}, {scope} and {their scope}, {for} and {their for}, {self} and {holder} for the two resources, {common}
	// for the first address that both have, {place} for the machine and {object} for the id of the one that is refused.
	Summary, Detail string
	// AnyScope is set where one of the two does not say where it is, so that only the value counts.
	AnyScope bool
	// ForOthers is set where only uses for two machines that are known collide.
	ForOthers bool
	// Unless is a kind of which no use may have the addresses: these are what the two have in common.
	Unless Kind
}

// State is what the plan does with a use, for a rule to compare it.
type State int

const (
	// Stays is for what the plan keeps, changes or makes.
	Stays State = iota
	// Goes is for what a resource has that is removed.
	Goes
	// Made is for what a resource has that is made.
	Made
	// Changed is for what a resource has that is made or changed, whether or not this use of it is new.
	Changed
	// New is for what the resource did not use before.
	New
)

// Is says whether a use of a holder is in a state.
func (s State) Is(h Holder, u Use) bool {
	switch s {
	case Goes:
		return h.Doing == Removes
	case Made:
		return h.Doing == Makes
	case Changed:
		return h.Doing == Makes || h.Doing == Changes
	case New:
		return h.Doing != Removes && u.New
	}
	return h.Doing != Removes
}

// moved is what to write where an object of the configuration has another address now.
const moved = "{self} is to be destroyed at one address of the configuration and made at another, as for a renamed for_each key. Terraform does both at once, " +
	"and what the old one holds would be lost. Where only its address changed, write that, and nothing happens to it:\n\n  moved {\n    from = virtcluster_{for}.OLD\n    to   = virtcluster_{for}.NEW\n  }\n\n" +
	"Where it is to be made anew, remove the old one in an apply of its own."

// placed is why two things of a machine cannot both have an address.
const placed = "{holder} puts {value} on {place} too, and whoever of the two goes would take it from the other: "

// Rules are all of them.
var Rules = joinRules(
	[]Rule{
		{Mine: ObjectName, Theirs: ObjectName, Summary: "Described twice", Detail: "another resource of this configuration describes {self} too, and each would undo what the other makes: keep one of them, or give this one another name"},
		{Mine: LastingName, Theirs: LastingName, TheirsIs: Goes, Summary: "Destroyed and made under one name", Detail: moved},
		{Mine: LastingName, MineIs: Goes, Theirs: LastingName, Summary: "Destroyed and made under one name", Detail: moved},
	},
	[]Rule{
		{Mine: Route, Theirs: Route, Summary: "Route described twice", Detail: "route {value} on {object} is that of the {holder} too: give one of them a metric"},
		{Mine: Device, Theirs: Device, Summary: "Interface described twice", Detail: "{mine} is that of the {holder} too: an interface has one configuration"},
		{Mine: Resolver, Theirs: Resolver, Summary: "Resolver described twice", Detail: "resolver {place} on {place} is also the {holder}: a machine has one"},
		{Mine: Controllers, Theirs: Controllers, Summary: "Controllers described twice", Detail: "{mine} on {place} are also the {holder}: write another name"},
		{Mine: ControllerPort, Theirs: ControllerPort, Summary: "Port in use", Detail: "{Holder} on {place} listens at {value} too: write another port, or another address"},
		{Mine: HostsBlock, Theirs: HostsBlock, Summary: "Block described twice", Detail: "{mine} is also the {holder}: write another name"},
		{Mine: NFSExport, Theirs: NFSExport, Summary: "Exported twice", Detail: "{mine} is another resource's: write all clients into one of them"},
		{Mine: ServedPath, Theirs: ServedPath, Summary: "Served twice", Detail: "{mine} of {place} is also the {holder}: a path has one content"},
		{Mine: ServedPort, Theirs: ServedPort, Summary: "Port in use", Detail: "{holder} on {place} listens at port {value} too: write another one"},
		{Mine: TimeServer, Theirs: TimeServer, Summary: "Two time servers", Detail: "another virtcluster_time_server of this configuration is for {place} too: a service node has one"},
		{Mine: BootServer, Theirs: BootServer, Summary: "Two boot servers", Detail: "another virtcluster_boot_server of this configuration is for {place} too: a service node has one"},
		{Mine: BootedMachine, Theirs: BootedMachine, Summary: "Two profiles for one machine", Detail: "{value} boots what {holder} says already: a machine has one profile"},
		{Mine: BootedNode, Theirs: NodeCard, ForOthers: true, Summary: "Another machine than the node", Detail: "{for} is to boot what the profile says, and {holder} has {their for}: write mac = \"{their for}\" in place of node"},
		{Mine: NodeCard, Theirs: BootedNode, ForOthers: true, Summary: "Another machine than its boot profile's", Detail: "{holder} is for {their for}, which a node of this name gets by itself, and this one is to have {for}: write mac = \"{for}\" there in place of node"},
		{Mine: DHCPServer, Theirs: DHCPServer, Summary: "Two DHCP servers", Detail: "{mine} is also the {holder}: an interface has one"},
	},
	[]Rule{
		{Mine: StoragePool, Theirs: StoragePool, Summary: "Storage pool name taken", Detail: "The {mine} is what {holder} makes too. Give one of them another name."},
		{Mine: Directory, Theirs: Directory, Summary: "Directory taken", Detail: "The {mine} is that of {holder} too. Give one of them another path."},
		{Mine: RunningVolume, Theirs: RunningVolume, Summary: "Taken by another resource", Detail: "{mine} belongs to {holder}: write another one"},
		{Mine: HostDevice, Theirs: HostDevice, Summary: "Device in use", Detail: "{mine} belongs to {holder}: write another one"},
		{Mine: HostDevice, Theirs: DevicePart, Summary: "Device in use", Detail: "{holder} is upon {value} too, which only one can have as a whole: write another one, or another mode"},
		{Mine: DevicePart, Theirs: HostDevice, Summary: "Device in use", Detail: "{holder} has {value} as a whole: write another one, or another mode there"},
		{Mine: TurnLimit, Theirs: TurnLimit, ForOthers: true, Summary: "Two limits of one group", Detail: "max_unavailable of group {value} is {for} here, and {their for} for {holder}: write the same for all nodes of the group"},
		{Mine: AttachedVolume, Theirs: VolumePath, TheirsIs: Goes, Summary: "Volume destroyed by the plan", Detail: "{value} is destroyed by the same plan: take the disk out of the node first, or keep the volume"},
		{Mine: VolumePath, MineIs: Goes, Theirs: AttachedVolume, Summary: "Volume in use", Detail: "{value} is to be destroyed, and {holder} of the same plan has it as a disk: take the disk out of the node first, or keep the volume."},
	},
	[]Rule{
		{Mine: BaseCheckpoint, Theirs: Checkpoint, TheirsIs: Goes, Summary: "Base destroyed by the plan", Detail: "{holder} is destroyed by the same plan, and this one is incremental from it: keep that one, or destroy both"},
		{Mine: Checkpoint, MineIs: Goes, Theirs: BaseCheckpoint, Summary: "Base of a backup", Detail: "{self} is to be destroyed, and {holder} of the same plan is incremental from it: keep it, or destroy both."},
	},
	ruleForEach(InterfaceAddress, []Kind{BridgeAddress, ExposureAddress, VIPOnMachine}, Rule{Summary: "Address taken", Detail: placed + "choose another address"}),
	ruleForEach(BridgeAddress, []Kind{InterfaceAddress, ExposureAddress, VIPOnMachine}, Rule{Summary: "Address taken", Detail: placed + "choose another address"}),
	ruleForEach(VIPOnMachine, []Kind{InterfaceAddress, BridgeAddress, ExposureAddress}, Rule{Summary: "Address taken", Detail: placed + "choose another address"}),
	ruleForEach(ExposureAddress, []Kind{InterfaceAddress, BridgeAddress, VIPOnMachine}, Rule{Summary: "Address taken", Detail: placed + "leave configure_address out to serve on it there, or choose another address"}),
	ruleForEach(Volume, []Kind{Volume, NodeVolume}, Rule{Summary: "Volume name taken", Detail: "The {mine} is what {holder} makes too. Give one of them another name."}),
	ruleForEach(NodeVolume, []Kind{Volume, NodeVolume}, Rule{Summary: "Taken by another resource", Detail: "{mine} belongs to {holder}: write another one"}),
	ruleForEach(NetworkBridge, []Kind{NetworkBridge, HostBridge}, Rule{Summary: "Bridge name taken", Detail: "{mine} is the one of {holder}: write another name, or none."}),
	ruleForEach(HostBridge, []Kind{NetworkBridge, HostBridge}, Rule{Summary: "Bridge name taken", Detail: "{mine} is the one of {holder}: write another name"}),
	[]Rule{
		{Mine: RecordSet, Theirs: ZoneRecords, Summary: "Records that the zone has itself", Detail: "{scope} has {value} in its records; keep them in one place"},
		{Mine: ZoneRecords, Theirs: RecordSet, Summary: "Records of another resource", Detail: "{value} is a virtcluster_dns_record_set too; keep it in one place"},
		{Mine: RecordSet, Theirs: RecordSet, Summary: "Record set twice", Detail: "another resource has {value} of {scope} too; put all values in one"},
	},
	proxyRules,
	addressRules,
	[]Rule{
		{Mine: NetworkSubnet, Theirs: NetworkSubnet, Summary: "Overlapping subnets", Detail: "{value} overlaps {their value} that {holder} of this configuration has: choose a subnet outside of it."},
		{Mine: NetworkSubnet, Theirs: PodSubnet, AnyScope: true, Summary: "Overlapping subnets", Detail: "{value} overlaps {their value} that {holder} of this configuration has: choose a subnet outside of it."},
		{Mine: PodSubnet, Theirs: NetworkSubnet, AnyScope: true, Summary: "Overlapping subnets", Detail: "{value} overlaps {their value} that {holder} of this configuration has: choose a network outside of it."},
		{Mine: PodSubnet, Theirs: PodSubnet, Summary: "Overlapping subnets", Detail: "{value} overlaps {their value} that {holder} of this configuration has: choose a network outside of it."},
	},
)

// proxyRules are those of HAProxy, and of what leads connections away before it gets them.
var proxyRules = joinRules(
	[]Rule{
		{Mine: Section, Theirs: Section, Summary: "Name taken", Detail: "another resource of this configuration provides the {value} on {place} too: give one of them another name"},
		{Mine: BaseOf, Theirs: BaseOf, Summary: "Two base configurations", Detail: "another virtcluster_haproxy of this configuration is for {place} too: a service node has one"},
		{Mine: LeadsToHTTP, Theirs: TCPBackend, Summary: "Modes that do not fit", Detail: "backend \"{value}\" on {place} is in mode tcp, and a frontend of HTTP leads to backends of HTTP only: write mode = \"http\" for the backend, or mode = \"tcp\" here"},
		{Mine: TCPBackend, Theirs: LeadsToHTTP, Summary: "Modes that do not fit", Detail: "frontend \"{their for}\" on {place} speaks HTTP and leads to this backend, which has to as well: write mode = \"http\", or mode = \"tcp\" for the frontend"},
		{Mine: Listener, Theirs: Listener, Summary: "Address in use", Detail: "{Holder} on {place} listens at {value} already; choose another address or port. HAProxy would take both and share the connections out at random."},
		{Mine: Listener, Theirs: ExposureListener, Summary: "Address in use", Detail: "{Holder} on {place} leads what comes to {value} to a guest, so HAProxy would get none of it: choose another address or port."},
		{Mine: ListenerAddress, Theirs: WholeAddress, Summary: "Address in use", Detail: "{Holder} on {place} leads what comes to {for} to a guest, so HAProxy would get none of it: choose another address or port."},
		{Mine: ExposedPort, Theirs: ExposedPort, Summary: "Exposed twice", Detail: "{holder} on {place} has {value} too: choose another address or port"},
		{Mine: WholeAddress, Theirs: WholeAddress, Summary: "Exposed twice", Detail: "{holder} on {place} has every port of {value} too: choose another address or port"},
		{Mine: SharedAddress, Theirs: WholeAddress, Summary: "Exposed twice", Detail: "{holder} on {place} has every port of {value}: choose another address"},
	},
	ruleForEach(ExposureListener, []Kind{Listener, ExposureListener}, Rule{Summary: "Exposed twice", Detail: "{holder} on {place} has {value} too: choose another address or port"}),
	ruleForEach(WholeAddress, []Kind{SharedAddress, ListenerAddress}, Rule{Summary: "Exposed twice", Detail: "{holder} on {place} has ports of {value}: choose another address"}),
)

// machineAddresses are the kinds of addresses of machines, each on a network that is known.
var machineAddresses = []Kind{GuestAddress, ReservedAddress, GatewayAddress}

// addressRules are those of addresses that a machine, a virtual address, a pool and a network's DHCP have.
var addressRules = joinRules(
	[]Rule{
		{Mine: MAC, Theirs: MAC, Summary: "Taken by another resource", Detail: "{mine} belongs to {holder}: write another one"},
		{Mine: RouterID, Theirs: RouterID, Summary: "Conflict with another VIP", Detail: "{mine} is the one of {holder} already: set virtual_router_id of one of them to another number from 1 to 255"},
		{Mine: VRRPInstance, Theirs: VRRPInstance, Summary: "Conflict with another VIP", Detail: "{mine} is the one of {holder} already: give one of them another name"},
	},

	ruleForEach(GuestAddress, machineAddresses, Rule{Summary: "Taken by another resource", Detail: "{mine} belongs to {holder}: write another one"}),
	[]Rule{
		{Mine: OutsideAddress, Theirs: OutsideAddress, Summary: "Taken by another resource", Detail: "{mine} belongs to {holder}: write another one"},
	},
	ruleForEach(NodeReservation, []Kind{NodeReservation, Reservation}, Rule{Summary: "Taken by another resource", Detail: "{mine} belongs to {holder}: write another one"}),
	[]Rule{
		{Mine: GuestAddress, Theirs: VirtualAddress, AnyScope: true, Summary: "Taken by another resource", Detail: "{theirs} belongs to {holder}, and a virtual address is no machine's own: write another one"},
		{Mine: GuestAddress, Theirs: PoolStock, TheirsIs: Made, AnyScope: true, Unless: DrawnAddress, Summary: "Taken by another resource", Detail: "{value} is one that the new {holder} gives out: write another one, or reserve it there"},
		{Mine: GuestAddress, Theirs: ListedAddress, TheirsIs: Changed, ForOthers: true, Summary: "Address listed by the network", Detail: "the dhcp.hosts of {their scope} keeps {value} for {their for}: write another address"},
		{Mine: GuestAddress, MineIs: New, Theirs: HandedOut, TheirsIs: Changed, Summary: "Address in a DHCP range", Detail: "{their scope} gives {their value} to any machine, so another one could have {value} too: choose an address outside of it, or end the range before it"},
	},

	ruleForEach(ReservedAddress, machineAddresses, Rule{Summary: "Address taken by another resource", Detail: "{mine} belongs to {holder}: write another address."}),
	ruleForEach(Reservation, []Kind{NodeReservation, Reservation}, Rule{Summary: "Machine has a reservation already", Detail: "The {mine} is {holder}: a machine can have one on a network."}),
	[]Rule{
		{Mine: IPv4Name, Theirs: IPv4Name, Summary: "Name taken by another resource", Detail: "{mine} belongs to {holder}, and libvirt takes a name once: write another."},
		{Mine: IPv6Name, Theirs: IPv6Name, Summary: "Name taken by another resource", Detail: "{mine} belongs to {holder}, and libvirt takes a name once: write another."},
		{Mine: ReservedAddress, Theirs: VirtualAddress, AnyScope: true, Summary: "Address taken by another resource", Detail: "{theirs} belongs to {holder}, and a virtual address is no machine's own: write another address."},
		{Mine: ReservedAddress, Theirs: PoolStock, TheirsIs: Made, AnyScope: true, Unless: DrawnAddress, Summary: "Address taken by another resource", Detail: "{value} is one that the new {holder} gives out: write another address, or reserve it there."},
		{Mine: ReservedAddress, Theirs: ListedAddress, TheirsIs: Changed, ForOthers: true, Summary: "Address listed by the network", Detail: "The dhcp.hosts of {their scope} keeps {value} for {their for}: write another address."},
		{Mine: ReservedAddress, MineIs: New, Theirs: HandedOut, TheirsIs: Changed, Summary: "Address in a DHCP range", Detail: "{Their scope} gives {their value} to any machine, so another one could have {value} already: write an address outside of it, or end the range before it."},
	},

	ruleForEach(GatewayAddress, machineAddresses, Rule{MineIs: Changed, Summary: "Gateway's address taken", Detail: "{mine} is the one of {holder}: write another gateway."}),
	[]Rule{
		{Mine: GatewayAddress, Theirs: VirtualAddress, AnyScope: true, Summary: "Gateway's address taken", Detail: "{theirs} belongs to {holder}, and a virtual address is no machine's own: write another gateway."},
		{Mine: GatewayAddress, Theirs: PoolStock, TheirsIs: Made, AnyScope: true, Unless: DrawnAddress, Summary: "Gateway's address taken", Detail: "{value} is one that the new {holder} gives out: write another gateway, or reserve it there."},
	},

	ruleForEach(ListedAddress, []Kind{GuestAddress, ReservedAddress}, Rule{MineIs: Changed, ForOthers: true, Summary: "Listed address of another machine", Detail: "hosts has {value} for {for}, and {holder} keeps it for {their for}: write another address."}),
	ruleForEach(HandedOut, []Kind{GuestAddress, ReservedAddress}, Rule{MineIs: Changed, TheirsIs: New, Summary: "Reserved address in a DHCP range", Detail: "{their value} is kept by {holder}, and in the range {value}, so that another machine may have been given it when the one it is for comes. End the range before it, or move the reservation out of it in an apply of its own."}),
	ruleForEach(HandedOut, []Kind{VirtualAddress, PoolRange}, Rule{AnyScope: true, Summary: "Virtual address in a DHCP range", Detail: "{common} of {holder} is in the range {value}: a guest could be given it too. End the range before it."}),
	[]Rule{
		{Mine: ListedAddress, MineIs: Changed, Theirs: PoolStock, TheirsIs: Made, AnyScope: true, Unless: DrawnAddress, Summary: "Listed address of another machine", Detail: "hosts has {value} for {for}, and the new {holder} gives it out: write another address, or reserve it there."},
	},

	ruleForEach(VirtualAddress, machineAddresses, Rule{AnyScope: true, Summary: "Address taken", Detail: "{theirs} belongs to {holder}: a virtual address is no machine's own, choose another one"}),
	[]Rule{
		{Mine: VirtualAddress, Theirs: VirtualAddress, Summary: "Conflict with another VIP", Detail: "{mine} is the one of {holder} already: an address belongs to one VIP"},
		{Mine: VirtualAddress, Theirs: PoolStock, TheirsIs: Made, AnyScope: true, Unless: DrawnAddress, Summary: "Address taken", Detail: "{value} is one that the new {holder} gives out: choose another one, or reserve it there"},
		{Mine: VirtualAddress, Theirs: HandedOut, AnyScope: true, Summary: "Virtual address in a DHCP range", Detail: "{value} is in the range {their value} that {holder} hands out, so a guest could be given it too: choose an address outside of it"},
	},

	ruleForEach(PoolStock, append([]Kind{VirtualAddress}, machineAddresses...), Rule{MineIs: Made, AnyScope: true, Unless: DrawnAddress, Summary: "Pool gives out what somebody has", Detail: "{theirs} belongs to {holder}: end a range before it, or write it into reserved, so that it is never given out"}),
	[]Rule{
		{Mine: PoolStock, MineIs: Made, Theirs: ListedAddress, TheirsIs: Changed, AnyScope: true, Unless: DrawnAddress, Summary: "Pool gives out what somebody has", Detail: "IP address {their value} belongs to {their for} in the dhcp.hosts of {their scope}: end a range before it, or write it into reserved, so that it is never given out"},
		{Mine: PoolRange, Theirs: HandedOut, AnyScope: true, Summary: "Pool overlaps DHCP", Detail: "{value} overlaps {their value} that {holder} hands out, so two machines could have one address: end the range before it"},
		{Mine: PoolRange, Theirs: PoolRange, Summary: "Pools overlap", Detail: "{value} overlaps {their value} of {holder}, so one address could be drawn from both: choose other ranges, or draw from that pool"},
	},
)

// ruleForEach returns a rule for a kind with each of others.
func ruleForEach(mine Kind, theirs []Kind, rule Rule) []Rule {
	all := make([]Rule, 0, len(theirs))
	for _, kind := range theirs {
		rule.Mine, rule.Theirs = mine, kind
		all = append(all, rule)
	}
	return all
}

func joinRules(lists ...[]Rule) (all []Rule) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// rulesOf are the Rules by the kind that they refuse.
var rulesOf = func() map[Kind][]Rule {
	all := map[Kind][]Rule{}
	for _, r := range Rules {
		all[r.Mine] = append(all[r.Mine], r)
	}
	return all
}()

// RulesOf returns the rules by which a use of a kind is refused.
func RulesOf(k Kind) []Rule { return rulesOf[k] }
