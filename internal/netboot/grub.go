package netboot

import (
	"strings"
)

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
