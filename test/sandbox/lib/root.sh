# shellcheck shell=bash
# The hypervisor's own root: everything that the machine has is in it, and what is written goes to memory and ends with the sandbox.

# Prints the directories in which what is written stays: where COMMAND was started, with its repository; this repository; temporary
# files; and what is built once for all sandboxes.
root_shared() {
	local directory own
	local -a directories
	mapfile -t directories < <(
		git -C "$REPOSITORY" rev-parse --path-format=absolute --git-common-dir 2>/dev/null || true
		git rev-parse --path-format=absolute --show-toplevel --git-common-dir 2>/dev/null || true
		cd "$REPOSITORY" && go env GOCACHE GOMODCACHE
	)
	realpath --canonicalize-existing --quiet -- /tmp /var/tmp "${TMPDIR:-/tmp}" "$CACHE" "$REPOSITORY" "$PWD" "${directories[@]}" | sort -u |
		while read -r directory; do
			# Whoever starts it in / does not mean that the machine's own files are to be changed.
			for own in /etc /usr /var/lib; do [[ $own/ != "${directory%/}/"* ]] || continue 2; done
			printf '%s\n' "$directory"
		done
}

# Lays a layer of memory over the root and over each file system that is mounted below it, and makes that the root of all of the
# sandbox. /run is the sandbox's own already.
root_own() {
	local layers=/run/sandbox/hypervisor point layer shared
	local root=$layers/root
	local -a directories
	mapfile -t directories < <(root_shared)
	mkdir -p "$root" "$layers/machine"
	while read -r point; do
		printf -v point %b "$point"
		case $point in /proc | /proc/* | /sys | /sys/* | /dev | /dev/* | /run | /run/*) continue ;; esac
		if [[ ! -d $point ]]; then # a container's /etc/hosts
			[[ ! -f $point ]] || cp -p "$point" "$root$point"
			continue
		fi
		layer=$(mktemp -d "$layers/layer.XXXXXX")
		mkdir "$layer/upper" "$layer/work"
		chown --reference="$point" "$layer/upper"
		chmod --reference="$point" "$layer/upper"
		# Some file systems take no layer, such as FAT: these are there to be read.
		mount -t overlay -o "lowerdir=$point,upperdir=$layer/upper,workdir=$layer/work" overlay "$root$point" 2>/dev/null ||
			mount -o bind,ro "$point" "$root$point" || say "warning: the sandbox does not have what is mounted at $point"
	done < <(findmnt --raw --noheadings --output TARGET | sort -u)
	for shared in /proc /sys /dev "${directories[@]}"; do mount --rbind "$shared" "$root$shared"; done
	mount --bind /run "$root/run"
	# Not chroot: who enters the sandbox's namespaces from outside is to come to this root too.
	pivot_root "$root" "$root$layers/machine"
	cd "$PWD" || return
	umount --lazy "$layers/machine"
}
