// Package provision makes a machine ready to run the services, and puts it back as it was.
package provision

import (
	"maps"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision/packages"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/chrony"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/kea"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/nfs"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/registry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Service is a daemon that a service node runs.
type Service struct {
	// Command proves by its presence that the daemon is installed; Version is a shell command that tells
	// its version, on either output.
	Command, Version string
	// Packages are what installs it.
	Packages map[packages.Family][]string
	// Unit is its systemd unit.
	Unit string
	// Start says that the daemon works with the configuration that its package brings, so that it can be
	// started before any resource has a part in it.
	Start bool
	// AtBoot says that the unit is for starts of the machine alone: to start or to stop it now would take away what others have.
	AtBoot bool
	// Aside says that the provider runs the program in units of its own. The package's one is left alone, but for one that came with the package
	// just now: that is stopped, as it would be in the way.
	Aside bool
	// Replaces names the one of replaced that has to go where this is installed; "" for none.
	Replaces string
	// Daemon is what transactions know of it, nil where none is made.
	Daemon transaction.Daemon
	// Portable says that what was written into its configuration is all that it takes to serve the same on another machine: there are no data, and
	// no directories.
	Portable bool
}

// comesWithUnit says whether a package brings a unit along that would be in the way of the provider's own.
func (s Service) comesWithUnit() bool { return s.Aside && !strings.HasPrefix(s.Unit, "virtcluster-") }

// Services are all that a service node can run, by name.
var Services = map[string]Service{
	"bind": {
		Command: "named", Version: "named -v", Unit: "named.service", Start: true,
		Packages: map[packages.Family][]string{packages.Debian: {"bind9", "bind9-utils"}, packages.Fedora: {"bind", "bind-utils"}},
		Daemon:   bind.Daemon{}, Portable: true,
	},
	"chrony": {
		// As Debian has it: Fedora's unit has another name, and its chrony.conf reads no directory. There chronyd alone is not enough.
		Command: "/lib/systemd/system/chrony.service", Version: "chronyd -v", Unit: "chrony.service",
		Packages: map[packages.Family][]string{packages.Debian: {"chrony"}},
		Replaces: "systemd-timesyncd", Daemon: chrony.Daemon{}, Portable: true,
	},
	"haproxy": {
		Command: "haproxy", Version: "haproxy -v", Unit: "haproxy.service", Start: true,
		// The runtime API is a Unix socket: Debian always has perl to talk to it.
		Packages: map[packages.Family][]string{packages.Debian: {"haproxy"}, packages.Fedora: {"haproxy", "socat"}},
		Daemon:   haproxy.Daemon{}, Portable: true,
	},
	"ipxe": {
		// Loaders, which a virtcluster_boot_server serves: there is nothing to run. Whether what a profile boots is there is asked by curl.
		Command: "/usr/lib/ipxe/snponly.efi", Version: "dpkg-query -W ipxe", Unit: "virtcluster-boot@server.service", Aside: true,
		Packages: map[packages.Family][]string{packages.Debian: {"ipxe", "curl"}, packages.Fedora: {"ipxe-bootimgs-x86", "curl"}},
	},
	"kea": {
		// A virtcluster_dhcp_server runs it in a unit of its own, and the packages' one stays as it is.
		Command: "kea-dhcp4", Version: "kea-dhcp4 -v", Unit: "kea-dhcp4-server.service", Aside: true,
		Packages: map[packages.Family][]string{packages.Debian: {"kea-dhcp4-server"}, packages.Fedora: {"kea"}},
		Daemon:   kea.Daemon,
	},
	"keepalived": {
		// Without an instance keepalived has nothing to do, and Debian's unit does not even start.
		Command: "keepalived", Version: "keepalived --version", Unit: "keepalived.service",
		Packages: map[packages.Family][]string{packages.Debian: {"keepalived"}, packages.Fedora: {"keepalived"}},
		Daemon:   keepalived.Daemon{}, Portable: true,
	},
	"nfs": {
		// The server needs the host kernel's nfsd, which a container lacks: it is started with the first export.
		Command: "exportfs", Version: "mount.nfs -V", Unit: "nfs-server.service",
		Packages: map[packages.Family][]string{packages.Debian: {"nfs-kernel-server"}, packages.Fedora: {"nfs-utils"}},
		Daemon:   nfs.Daemon{},
	},
	"openvswitch": {
		Command: "ovs-vsctl", Version: "ovs-vsctl --version", Unit: "openvswitch-switch.service", Start: true,
		Packages: map[packages.Family][]string{packages.Debian: {"openvswitch-switch"}},
	},
	"ovn-central": {
		// What a virtcluster_ovn has its databases by, and below, what a chassis of it follows them by.
		Command: "ovn-northd", Version: "ovn-nbctl --version", Unit: "ovn-central.service", Start: true,
		Packages: map[packages.Family][]string{packages.Debian: {"ovn-central"}},
	},
	"ovn-host": {
		Command: "ovn-controller", Version: "ovn-controller --version", Unit: "ovn-host.service", Start: true,
		Packages: map[packages.Family][]string{packages.Debian: {"ovn-host"}},
	},
	"registry": {
		// A mirror asks by curl whether the registry that it mirrors answers.
		Command: "docker-registry", Version: "docker-registry --version", Unit: "docker-registry.service", Aside: true,
		Packages: map[packages.Family][]string{packages.Debian: {"docker-registry", "curl"}, packages.Fedora: {"docker-distribution", "curl"}},
		Daemon:   registry.Daemon,
	},
	"shim": {
		// What machines boot from a virtcluster_boot_server under Secure Boot: there is nothing to run.
		Command: "/usr/lib/shim/shimx64.efi.signed", Version: "dpkg-query -W shim-signed", Unit: "virtcluster-boot@server.service", Aside: true,
		Packages: map[packages.Family][]string{packages.Debian: {"shim-signed", "grub-efi-amd64-signed"}, packages.Fedora: {"shim-x64", "grub2-efi-x64"}},
	},
	"nftables": {
		// Starting the unit flushes the ruleset, and so does stopping it, whoever made it: it is enabled for the next boot alone.
		Command: "nft", Version: "nft --version", Unit: "nftables.service", AtBoot: true,
		Packages: map[packages.Family][]string{packages.Debian: {"nftables"}, packages.Fedora: {"nftables"}},
	},
}

// replaced are what distributions come with and services replace, by the names of their packages. They come back when the service is given back.
var replaced = map[string]Service{
	// Debian's packages that keep the time exclude each other.
	"systemd-timesyncd": {
		Command: "/lib/systemd/systemd-timesyncd", Version: ":", Unit: "systemd-timesyncd.service",
		Packages: map[packages.Family][]string{packages.Debian: {"systemd-timesyncd"}},
	},
}

// lookedAt is what an inventory is taken of: the services, and what they replace.
func lookedAt() map[string]Service {
	all := maps.Clone(Services)
	maps.Copy(all, replaced)
	return all
}

// Names lists the services in order.
func Names() []string { return slices.Sorted(maps.Keys(Services)) }
