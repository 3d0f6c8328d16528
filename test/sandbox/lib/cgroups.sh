# shellcheck shell=bash
# Every sandbox lives in a control group of its own, in every hierarchy: libvirt and systemd-nspawn make groups with fixed
# names below what they take for the root, and two sandboxes would meet there. It also makes the groups easy to remove.

cgroup_parents() { # the directory of this process's own group in each mounted hierarchy
	local line id controllers path mountpoint
	while IFS=: read -r id controllers path; do
		if [[ $id == 0 ]]; then
			mountpoint=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
		else
			mountpoint=$(awk -v want="$controllers" '$3 == "cgroup" && index("," $4 ",", "," want ",") { print $2; exit }' /proc/mounts)
		fi
		line=${mountpoint}${path%/}
		[[ -n $mountpoint && -d $line ]] && printf '%s\n' "$line"
	done </proc/self/cgroup
	return 0
}

# Puts the calling shell into a new group NAME below each PARENT. In a pipeline it would be a shell of the pipeline's that is put there.
cgroup_join() { # NAME PARENT...
	local name=$1 parent group
	shift
	for parent; do
		group=$parent/$name
		mkdir -p "$group"
		# A cpuset takes no process before it has processors and memory nodes.
		if [[ -e $group/cpuset.cpus && -e $group/cgroup.clone_children ]]; then
			echo 1 >"$group/cgroup.clone_children"
			cat "$parent/cpuset.cpus" >"$group/cpuset.cpus"
			cat "$parent/cpuset.mems" >"$group/cpuset.mems"
		fi
		echo "$BASHPID" >"$group/cgroup.procs"
	done
}

# Removes the groups NAME with all below; a process may take a moment to be gone.
cgroup_sweep() { # NAME PARENT...
	local name=$1 parent group try
	shift
	for parent; do
		group=$parent/$name
		for ((try = 0; try < 100; try++)); do
			[[ -d $group ]] || break
			find "$group" -depth -type d -exec rmdir {} + 2>/dev/null && break
			sleep 0.1
		done
	done
}

# Puts the calling shell into a group of a machine's own, beside those of the sandbox's other machines: systemd-nspawn makes groups with fixed
# names below its own one, and the systemd of one machine would remove what another one has just made for a service of the same name.
cgroup_join_machine() { # NAME
	local -a roots
	mapfile -t roots < <(awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/mounts)
	cgroup_join "machine-$1" "${roots[@]}"
}

# Inside the new cgroup namespace: mount the same hierarchies again, so that the sandbox's group is their root.
cgroup_remount() {
	local device mountpoint kind options rest
	local -a table
	mapfile -t table < <(grep -E '^[^ ]+ /sys/fs/cgroup' /proc/mounts)
	umount -R -l /sys
	mount -t sysfs sysfs /sys
	((${#table[@]})) || return 0
	if [[ ${table[0]} != *" cgroup2 "* ]]; then
		mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
	fi
	for line in "${table[@]}"; do
		read -r device mountpoint kind options rest <<<"$line"
		case $kind in
		cgroup2)
			mkdir -p "$mountpoint"
			mount -t cgroup2 cgroup2 "$mountpoint"
			;;
		cgroup)
			mkdir -p "$mountpoint"
			# Only the controllers matter; flags such as rw or noexec come first in the list.
			options=$(tr , '\n' <<<"$options" | grep -Ev '^(rw|ro|nosuid|nodev|noexec|relatime|xattr|release_agent=.*|clone_children)$' | paste -sd,)
			[[ $options == name=* ]] && options=none,$options
			mount -t cgroup -o "$options" cgroup "$mountpoint"
			;;
		esac
	done
	# In the unified hierarchy a group with processes cannot hand controllers to groups below it.
	if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
		mkdir -p /sys/fs/cgroup/sandbox
		xargs -n1 <"/sys/fs/cgroup/cgroup.procs" | while read -r pid; do
			[[ $pid == 0 ]] || echo "$pid" >/sys/fs/cgroup/sandbox/cgroup.procs 2>/dev/null || true
		done
		sed 's/\(^\| \)/ +/g' /sys/fs/cgroup/cgroup.controllers >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || true
	fi
	: "$device" "$rest"
}
