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

// firstGrub is what GRUB fetches from where it came from itself: it asks for the configuration of the card that it booted from, until that
// boots something. Its files are at the server that GRUB came from, and by the protocol: Debian's GRUB 2.06 knows no other port for HTTP than 80.
const firstGrub = `while true; do
	source /boot/$net_default_mac/grub.cfg
	echo "Nothing was booted, once more in 10 s"
	sleep 10
done
`

// diskLoaders are where an installed system has its loader: where firmware looks without being told, and where distributions have their own.
var diskLoaders = []string{
	"/EFI/BOOT/BOOTX64.EFI", "/EFI/debian/shimx64.efi", "/EFI/ubuntu/shimx64.efi", "/EFI/fedora/shimx64.efi", "/EFI/redhat/shimx64.efi", "/EFI/centos/shimx64.efi",
	"/EFI/rocky/shimx64.efi", "/EFI/almalinux/shimx64.efi", "/EFI/opensuse/shim.efi",
}

// localGrub has the machine boot from its disk, by the loader that is there: firmware that GRUB returned to shows its menu in place of the next
// entry. That loader looks beside itself on the device that is root. Where there is none it is the firmware's turn.
func localGrub(why string) string {
	return "echo " + quoteGrub(why+": booting from disk") + "\nfor file in " + strings.Join(diskLoaders, " ") + `; do
	if search --no-floppy --file --set=root $file; then
		chainloader $file
		boot
	fi
done
exit
`
}

// renderGrub has GRUB boot what the profile says, or come to the end where a file cannot be had.
func (p Profile) renderGrub(s Server) string {
	return p.renderGrubFrom(strings.TrimPrefix(p.baseURL(s), s.URL()), s)
}

// renderGrubFrom is that with kernel and initial RAM disks in a directory.
func (p Profile) renderGrubFrom(own string, s Server) string {
	linux, initrd := []string{"linux", own + "/kernel"}, []string{"initrd"}
	for _, word := range splitCommandLine(p.CommandLine(s)) {
		linux = append(linux, quoteGrub(word))
	}
	for _, name := range p.initrdNames() {
		initrd = append(initrd, own+"/"+name)
	}
	lines := []string{"echo " + quoteGrub("booting "+p.Name), "if " + strings.Join(linux, " ") + "; then"}
	if len(initrd) > 1 {
		lines = append(lines, "if "+strings.Join(initrd, " ")+"; then", "boot", "fi")
	} else {
		lines = append(lines, "boot")
	}
	return strings.Join(append(lines, "fi", ""), "\n")
}

// quoteGrub has GRUB take a text as one word, whatever is in it.
func quoteGrub(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// splitCommandLine splits a kernel's command line as the kernel does, at blanks that are not between double quotes. GRUB sets quotes of its own
// around a word with blanks, so these are left out.
func splitCommandLine(line string) (words []string) {
	var word strings.Builder
	quoted, begun := false, false
	for _, r := range line {
		switch {
		case r == '"':
			quoted, begun = !quoted, true
		case r == ' ' && !quoted:
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}
