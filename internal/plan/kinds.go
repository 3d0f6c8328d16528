package plan

// What every resource has.
var (
	ObjectName = Kind{Name: "name of an object", Everywhere: true}
	// LastingName is that of an object that holds what a new one of its name would not have.
	LastingName = Kind{Name: "name of a network, image, volume or pool of storage", Everywhere: true}
)

// What a machine has once.
var (
	Route      = Kind{Name: "route of a machine", Noun: "route"}
	Device     = Kind{Name: "interface of a machine", Noun: "interface"}
	Resolver   = Kind{Name: "resolver of a machine", Noun: "resolver"}
	HostsBlock = Kind{Name: "block of a hosts file", Noun: "hosts file block"}
	NFSExport  = Kind{Name: "directory exported by NFS", Noun: "NFS export"}
)
