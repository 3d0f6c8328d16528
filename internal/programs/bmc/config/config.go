// Package config is what the program on a hypervisor is told: the provider writes it, the program reads it.
package config

// The files of the program's directory, all of them root's alone: systemd hands them over.
const (
	File         = "config.json"
	PasswordFile = "ipmi-password"
	CertFile     = "tls.crt"
	KeyFile      = "tls.key"
)

// Config is the file File.
type Config struct {
	// Owner is the mark of the resource that wrote it.
	Owner string `json:"owner"`
	// Applied is set once the program runs with what is written here.
	Applied bool `json:"applied"`
	// URI of libvirt on this machine.
	URI string `json:"uri"`
	// UUID of the service.
	UUID string `json:"uuid"`
	// User who may come in, and a hash (bcrypt) of the password. Version is that of the password where nobody else knows it, and Seal a
	// digest of the two as they were written.
	User         string `json:"user"`
	PasswordHash string `json:"password_hash"`
	Version      int64  `json:"password_version"`
	Seal         string `json:"password_seal"`
	// OwnCertificate says that the certificate was made here and is signed by nobody.
	OwnCertificate bool `json:"own_certificate"`
	// Program is where the program came from, ProgramSum the SHA-256 of that, and InstalledSum the one of the program itself.
	Program      string `json:"program"`
	ProgramSum   string `json:"program_sum"`
	InstalledSum string `json:"installed_sum"`
	// Address is where nodes listen that say nothing else, and SharedPort the port of Redfish that they have in common; 0 for one each.
	Address    string `json:"address"`
	SharedPort int    `json:"shared_port"`
	// Nodes by the names of their domains.
	Nodes map[string]Node `json:"nodes"`
}

// Node is where a machine's controller listens.
type Node struct {
	Address string `json:"address"`
	// Port of Redfish, where several machines may be, and of IPMI; 0 is none.
	Port     int `json:"port"`
	IPMIPort int `json:"ipmi_port"`
	// SystemID is what Redfish calls the machine.
	SystemID string `json:"system_id"`
}
