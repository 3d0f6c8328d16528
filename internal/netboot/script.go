package netboot

import (
	"fmt"
	"slices"
	"strings"
)

// dialect is the language of a loader: what says why a machine boots from its disk, and what boots a profile.
type dialect struct {
	local func(why string) string
	own   func(Profile, Server) string
}

// dialects are those of the loaders, by the file of a machine that has it.
var dialects = map[string]dialect{
	"script.ipxe": {localScript, Profile.renderScript},
	"grub.cfg":    {localGrub, Profile.renderGrub},
}

// firstScript is what iPXE is told by DHCP: it asks for the script of the card that it booted from. Where there is none left to ask for, the
// machine goes on to its disk.
func (s Server) firstScript() string {
	return "#!ipxe\nchain --replace --autofree " + s.URL() + "/boot/${netX/mac:hexhyp}/script.ipxe || exit 1\n"
}

// localScript has the machine boot from its disk: a BIOS by iPXE itself, as it may have no other entry, and UEFI by its next entry. UEFI goes on to
// that only where the one before failed: after one that ended well it may show its menu (UEFI 2.10, section 3.1.1).
func localScript(why string) string {
	return "#!ipxe\necho " + why + ": booting from disk\niseq ${platform} pcbios && sanboot --no-describe --drive 0x80 ||\nexit 1\n"
}

// baseURL is that of all that a profile's machine fetches.
func (p Profile) baseURL(s Server) string {
	return s.URL() + "/boot/" + strings.ReplaceAll(p.MAC, ":", "-")
}

// ReportURL is where the machine says that it is installed.
func (p Profile) ReportURL(s Server) string { return p.baseURL(s) + "/installed" }

// fileNames are the files that the machine has to have had, in the order in which it fetches them.
func (p Profile) fileNames() []string {
	return append(p.bootNames(), Kinds[p.Kind].Files...)
}

// bootNames are what its kernel and initial RAM disks are called.
func (p Profile) bootNames() []string { return append([]string{"kernel"}, p.initrdNames()...) }

// initrdNames are what its initial RAM disks are called.
func (p Profile) initrdNames() (names []string) {
	for i := range p.Initrd {
		names = append(names, fmt.Sprintf("initrd%d", i))
	}
	return names
}

// CommandLine is what the kernel is given: what the profile says with its words in braces replaced, and what the kind of its configuration
// needs, where the profile does not say itself where that is.
func (p Profile) CommandLine(s Server) string {
	var words []string
	if p.Cmdline != "" {
		words = append(words, p.Cmdline)
	}
	kind := Kinds[p.Kind]
	if kind.Arguments != "" && !strings.Contains(p.Cmdline, "{base}") && !strings.Contains(p.Cmdline, "{file}") {
		words = append(words, kind.Arguments)
	}
	file := p.baseURL(s)
	if len(kind.Files) == 1 {
		file += "/" + kind.Files[0]
	}
	return strings.NewReplacer("{base}", p.baseURL(s), "{file}", file, "{report_url}", p.ReportURL(s)).Replace(strings.Join(words, " "))
}

// renderScript has iPXE boot what the profile says.
func (p Profile) renderScript(s Server) string {
	kernel, initrd := []string{"kernel --name kernel " + p.baseURL(s) + "/kernel"}, []string(nil)
	for _, name := range p.initrdNames() {
		kernel = append(kernel, "initrd="+name) // UEFI's kernels look by name for what iPXE has
		initrd = append(initrd, "initrd --name "+name+" "+p.baseURL(s)+"/"+name)
	}
	lines := slices.Concat([]string{"#!ipxe", "imgfree", strings.Join(append(kernel, p.CommandLine(s)), " ")}, initrd)
	lines = append(lines, "boot")
	// Where a file cannot be had the machine tries again: to boot from a disk that has nothing would end the installation.
	return lines[0] + "\n" + strings.Join(lines[1:], " || goto failed\n") + " || goto failed\n:failed\necho Cannot boot " + p.Name + ", once more in 10 s\nsleep 10\nchain --replace --autofree " +
		p.baseURL(s) + "/script.ipxe || exit 1\n"
}

// hasFetchedAll says whether a machine that has had these files has had everything.
func (p Profile) hasFetchedAll(fetched []string) bool {
	return !slices.ContainsFunc(p.fileNames(), func(name string) bool { return !slices.Contains(fetched, name) })
}
