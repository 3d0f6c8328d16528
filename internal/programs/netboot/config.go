// Package netboot is the program that machines boot from: TFTP for loaders, HTTP for all else, and for each machine what it boots next, which
// is its own disk once its installer has what it needs. It runs on a service node from the provider's own binary.
package netboot

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/unitprogram"
)

// Server is what stands in ServerFile.
type Server struct {
	// Address and Port are where machines reach it by HTTP; TFTP has its usual port at the same address.
	Address netip.Addr `json:"address"`
	Port    int64      `json:"port"`
	TFTP    bool       `json:"tftp"`
	// Interfaces are those that machines are answered at; all where there are none.
	Interfaces []string `json:"interfaces,omitempty"`
	// Loaders is the directory that has the loaders. SecureBoot says that machines with UEFI get signed ones, shim and GRUB, in place of iPXE.
	Loaders    string `json:"loaders"`
	SecureBoot bool   `json:"secure_boot,omitempty"`
	// Peers are other servers of the same machines, as "ADDRESS:PORT": what one knows of a machine all know.
	Peers []string `json:"peers,omitempty"`
}

// URL is what machines reach the server by.
func (s Server) URL() string {
	return "http://" + net.JoinHostPort(s.Address.String(), fmt.Sprint(s.Port))
}

// Profile is what a machine boots until it is installed, in a file that ProfileFile names.
type Profile struct {
	Name string `json:"name"`
	MAC  string `json:"mac"`
	// ID is made with the profile and stays while it is changed: what is known of the machine is known of one profile. "" is any.
	ID string `json:"id,omitempty"`
	// Node is the node that the address was taken from, for who reads the profile back; "" where it was written.
	Node string `json:"node,omitempty"`
	// Servers are the ids of the boot servers that have the profile, where it was given to two, for who reads it back.
	Servers []string `json:"servers,omitempty"`
	// Kernel and Initrd are URLs, which the server fetches and passes on.
	Kernel  string   `json:"kernel"`
	Initrd  []string `json:"initrd,omitempty"`
	Cmdline string   `json:"cmdline,omitempty"`
	// Kind is what the installer takes its configuration for (Kinds), "" for none, and Files has it, by name.
	Kind  string            `json:"kind,omitempty"`
	Files map[string]string `json:"files,omitempty"`
	// Butane is what Ignition was made of, for who reads the profile back; the machine gets the Files.
	Butane string `json:"butane,omitempty"`
	// Once says that the machine boots from its disk after it has fetched everything, or has reported back where Reports says so.
	Once    bool `json:"once"`
	Reports bool `json:"reports,omitempty"`
	// Generation arms it again.
	Generation int64 `json:"generation"`
}

// ServerFile is the server's own file in its directory.
const ServerFile = "server.json"

// ProfileFile is the file of a profile.
func ProfileFile(name string) string { return "profile-" + name + ".json" }

// Kinds are what a machine's configuration may be, each with what the kernel's command line says of where it is: {base} is the URL of its
// files, and {file} that of its one file.
var Kinds = map[string]struct {
	Files     []string
	Arguments string
}{
	"ignition":   {[]string{"config.ign"}, "ignition.firstboot ignition.platform.id=metal ignition.config.url={file}"},
	"cloud_init": {[]string{"meta-data", "user-data"}, "ds=nocloud;s={base}/"},
	"kickstart":  {[]string{"kickstart.cfg"}, "inst.ks={file}"},
	"talos":      {[]string{"talos.yaml"}, "talos.platform=metal talos.config={file}"},
}

// Config is all of a directory: the profiles by MAC address.
type Config struct {
	Server   Server
	Profiles map[string]Profile
	// Unread says why files of profiles cannot be read, which a person edited; the machines of all others are served. Twice says which
	// profiles are of one machine.
	Unread []error
	Twice  error
}

// Load reads a directory.
func Load(directory string) (Config, error) {
	c := Config{Profiles: map[string]Profile{}}
	err := unitprogram.ReadFile(directory, ServerFile, &c.Server)
	if errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("there is no %s in %s", ServerFile, directory)
	}
	if err != nil {
		return c, err
	}
	paths, err := filepath.Glob(filepath.Join(directory, ProfileFile("*")))
	for _, path := range paths {
		var p Profile
		failed := unitprogram.ReadFile(directory, filepath.Base(path), &p)
		other, twice := c.Profiles[p.MAC]
		switch {
		case failed != nil:
			c.Unread = append(c.Unread, failed)
		case twice:
			c.Twice = fmt.Errorf("the profiles %s and %s are both for %s", other.Name, p.Name, p.MAC)
		default:
			c.Profiles[p.MAC] = p
		}
	}
	return c, err
}

// Check says why a configuration cannot be served.
func (c Config) Check() error {
	if c.Twice != nil {
		return c.Twice
	}
	for _, at := range c.Server.LoaderFiles() {
		f, err := os.Open(at) //nolint:gosec // it is what the configuration says
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no %s in %s: install %s there, or name the directory that has it as loaders", filepath.Base(at), filepath.Dir(at), c.Server.listPackages())
		}
		if err != nil {
			return fmt.Errorf("the loader cannot be read: %w", err)
		}
		_ = f.Close()
	}
	return nil
}

// DefaultLoaders is the directory of Debian's ipxe.
const DefaultLoaders = "/usr/lib/ipxe"

// The loaders that machines are told to fetch: for a BIOS, for UEFI, and for UEFI under Secure Boot, which takes what its vendor signed. That is
// shim, which fetches GRUB by its name from beside itself.
const (
	biosLoader   = "ipxe.pxe"
	uefiLoader   = "snponly.efi"
	secureLoader = "shimx64.efi"
	grubLoader   = "grubx64.efi"
)

// signed are the places of Debian's shim-signed and grub-efi-amd64-signed; this GRUB is the one that boots from a network.
var signed = map[string]string{
	secureLoader: "/usr/lib/shim/shimx64.efi.signed",
	grubLoader:   "/usr/lib/grub/x86_64-efi-signed/grubnetx64.efi.signed",
}

// ForBIOS is the loader that machines with a BIOS are told to fetch.
func (Server) ForBIOS() string { return biosLoader }

// ForUEFI is the loader that machines with UEFI are told to fetch.
func (s Server) ForUEFI() string {
	if s.SecureBoot {
		return secureLoader
	}
	return uefiLoader
}

// ForHTTP is what machines with UEFI that boot by HTTP are told to fetch. GRUB as Debian signed it has no HTTP, so that they get a disc with all
// that it would fetch; whoever names other loaders has a GRUB of their own.
func (s Server) ForHTTP() string {
	if s.SecureBoot && s.Loaders == DefaultLoaders {
		return discName
	}
	return s.ForUEFI()
}

// LoaderFiles are the files of the loaders that machines cannot do without.
func (s Server) LoaderFiles() (all []string) {
	var names []string
	if s.TFTP {
		names = []string{biosLoader, uefiLoader}
	}
	if s.SecureBoot {
		names = append(names, secureLoader, grubLoader)
	}
	for _, name := range names {
		all = append(all, s.findLoader(name))
	}
	return all
}

// findLoader is the file of a loader, of the needed ones and others of ipxe that are asked for by name; "" for none.
func (s Server) findLoader(name string) string {
	at, isSigned := signed[name]
	switch {
	case isSigned && !s.SecureBoot:
		return ""
	case isSigned && s.Loaders == DefaultLoaders:
		return at
	case isSigned, slices.Contains([]string{biosLoader, uefiLoader, "ipxe.efi", "undionly.kpxe"}, name):
		return filepath.Join(s.Loaders, name)
	}
	return ""
}

// listPackages names what brings the loaders.
func (s Server) listPackages() string {
	if s.SecureBoot {
		return "ipxe, shim-signed and grub-efi-amd64-signed"
	}
	return "ipxe"
}

// CanonicalMAC is a MAC address as profiles have it, from any spelling with colons or dashes; "" where it is none.
func CanonicalMAC(text string) string {
	mac, err := net.ParseMAC(strings.ReplaceAll(text, "-", ":"))
	if err != nil || len(mac) != 6 {
		return ""
	}
	return mac.String()
}
