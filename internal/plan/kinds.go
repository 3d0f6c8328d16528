package plan

// What a machine has once.
var (
	Route      = Kind{Name: "route of a machine", Noun: "route"}
	Device     = Kind{Name: "interface of a machine", Noun: "interface"}
	Resolver   = Kind{Name: "resolver of a machine", Noun: "resolver"}
	HostsBlock = Kind{Name: "block of a hosts file", Noun: "hosts file block"}
	NFSExport  = Kind{Name: "directory exported by NFS", Noun: "NFS export"}
)
