# shellcheck shell=bash
# Makes a bootable disk out of a directory, without mounting and without loop devices, so that it works in any container:
# mkfs.ext4 fills the file system from the directory, and GRUB's core image carries its whole configuration, so that
# writing it to the gap before the first partition is all the installing it needs.

# Programs of the Debian root, run with that root's own libraries: the machine that builds needs none of them.
from_root() { # ROOT PROGRAM ARGUMENTS…
	local root=$1 program=$2 target
	shift 2
	target=$(readlink "$root/$program" || true)
	# A program with many names (kmod, mke2fs) goes by the name it is called with.
	[[ $target == /* ]] && target=$root$target || target=$root/$program
	"$root/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" --argv0 "$(basename "$program")" \
		--library-path "$root/usr/lib/x86_64-linux-gnu" "$target" "$@"
}

# GRUB reads this without its shell: plain commands only. Kernel and initramfs lie bare in a partition of their own and are
# named by their sectors: reading them through a file system takes GRUB eight times as many calls of the firmware, which
# under emulation is ten seconds. The partition is the one that GRUB's prefix names on the disk it was started from.
grub_config() { # KERNEL_SECTORS INITRD_SECTORS CMDLINE
	printf 'linux 0+%d %s\ninitrd %d+%d\nboot\n' "$1" "$3" "$1" "$2"
}

# What the kernel leaves out here: clearing each page before it is used, random addresses, tests of its ciphers and of the
# timer, and above all the doubt about the processor's clock. On a busy machine it would give that up for one which takes a
# way through QEMU for each look.
# shellcheck disable=SC2034 # used by those who source this
fast_boot="tsc=reliable init_on_alloc=0 nokaslr cryptomgr.notests no_timer_check random.trust_cpu=on selinux=0"

# Copies drivers, with what they depend on, to a tree for an initramfs, and lists them in the order they must be loaded in.
initrd_modules() { # ROOT TREE MODULE…
	local root=$1 tree=$2 module
	shift 2
	mkdir -p "$tree/lib/modules"
	from_root "$root" usr/sbin/modprobe --dirname "$root" --set-version "$(basename "$root"/usr/lib/modules/*)" \
		--show-depends --ignore-install --all "$@" | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' |
		while read -r module; do
			cp "$module" "$tree/lib/modules/"
			printf '/lib/modules/%s\n' "$(basename "$module")"
		done >"$tree/modules.order"
}

# Packs a tree as an initramfs. Small counts: reading a megabyte takes GRUB longer than the kernel takes to unpack it.
initrd_make() { # ROOT TREE OUTPUT
	(cd "$2" && find . -print0 | LC_ALL=C sort -z | from_root "$1" usr/bin/cpio --quiet --null --create --format=newc --owner=0:0 |
		from_root "$1" usr/bin/zstd -q -19 -T2) >"$3"
}

sectors() { echo $((($(stat -L -c %s "$1") + 511) / 512)); }

disk_make() { # ROOT CONTENT OUTPUT SIZE_MIB KERNEL INITRD CMDLINE
	local root=$1 content=$2 output=$3 size=$4 kernel=$5 initrd=$6 work
	local esp_start=2048 esp_size=4096 boot_start=6144 kernel_size initrd_size root_start
	work=$(mktemp -d "$output.work.XXXXXX")
	kernel_size=$(sectors "$kernel") initrd_size=$(sectors "$initrd")
	root_start=$(((boot_start + kernel_size + initrd_size + 2047) / 2048 * 2048))
	grub_config "$kernel_size" "$initrd_size" "$7" >"$work/grub.cfg"
	truncate -s "${size}M" "$work/disk"
	from_root "$root" usr/sbin/sfdisk --quiet "$work/disk" <<-EOF
		label: dos
		label-id: 0x56434c31
		start=$esp_start, size=$esp_size, type=ef
		start=$boot_start, size=$((root_start - boot_start)), type=da
		start=$root_start, type=83, bootable
	EOF
	dd if="$kernel" of="$work/disk" bs=512 seek=$boot_start conv=notrunc status=none
	# To a kernel that says it can be relocated GRUB 2.06 gives a place elsewhere first, and then moves all 54 MiB of that to
	# the preferred one, byte by byte: two and a half seconds under emulation. One that cannot is read to where it belongs
	# (relocatable_kernel at 0x234, Documentation/x86/boot.rst).
	printf '\0' | dd of="$work/disk" bs=1 seek=$((boot_start * 512 + 0x234)) conv=notrunc status=none
	dd if="$initrd" of="$work/disk" bs=512 seek=$((boot_start + kernel_size)) conv=notrunc status=none

	# The root comes last, where it can grow. Its identifier is fixed: the same recipe makes the same file system.
	from_root "$root" usr/sbin/mkfs.ext4 -q -F -L rootfs -m 0 -O ^has_journal,^metadata_csum,^64bit -E "offset=$((root_start * 512)),lazy_itable_init=0,root_owner=0:0" \
		-U 5a6d0f3e-3c1f-4d0e-9b55-7663736e6478 -d "$content" "$work/disk" "$(((size * 2048 - root_start) / 2))k"

	# BIOS: boot.img loads sector 1, where core.img starts; both default to exactly that place.
	from_root "$root" usr/bin/grub-mkimage -O i386-pc -d "$root/usr/lib/grub/i386-pc" -p '(,msdos2)/boot/grub' \
		-c "$work/grub.cfg" -o "$work/core.img" biosdisk part_msdos linux
	(($(stat -c %s "$work/core.img") < (esp_start - 1) * 512)) || fail "GRUB's core image does not fit before the first partition"
	dd if="$root/usr/lib/grub/i386-pc/boot.img" of="$work/disk" bs=440 count=1 conv=notrunc status=none
	dd if="$work/core.img" of="$work/disk" bs=512 seek=1 conv=notrunc status=none

	# UEFI: the same configuration in the one place that firmware looks at on an unknown disk.
	from_root "$root" usr/bin/grub-mkimage -O x86_64-efi -d "$root/usr/lib/grub/x86_64-efi" -p '(,msdos2)/boot/grub' \
		-c "$work/grub.cfg" -o "$work/BOOTX64.EFI" part_msdos linux
	truncate -s $((esp_size * 512)) "$work/esp"
	from_root "$root" usr/sbin/mkfs.fat -n ESP "$work/esp" >/dev/null
	from_root "$root" usr/bin/mmd -i "$work/esp" ::/EFI ::/EFI/BOOT
	from_root "$root" usr/bin/mcopy -i "$work/esp" "$work/BOOTX64.EFI" ::/EFI/BOOT/BOOTX64.EFI
	dd if="$work/esp" of="$work/disk" bs=512 seek=$esp_start conv=notrunc,sparse status=none

	# Not compressed: each read of a part of a cluster would unpack the whole cluster again, a third of all the work of a boot.
	qemu-img convert -q -f raw -O qcow2 "$work/disk" "$output"
	rm -rf "$work"
}
