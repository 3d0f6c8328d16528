# shellcheck shell=bash
# Real systemd machines in containers, each on its own thin layer over the one cached Debian root: service nodes, svc-1…, and further
# hypervisors, hv-1….

NODES=/run/sandbox/nodes

node_start() { # NAME LOWER PUBLIC_KEY: LOWER are the layers of its root, the upper ones first, with a colon between
	node_disk "$@"
	network_node "$1"
	node_power "$@" &
}

# Gives a machine an empty disk: what was written to an earlier one is gone. Who made it anew may have left a seed for cloud-init.
node_disk() { # NAME LOWER PUBLIC_KEY
	local name=$1 lower=$2 dir=$NODES/$1 disk
	umount --lazy "$dir/root" 2>/dev/null || true
	rm -rf "$dir"/disk.*
	mkdir -p "$dir/root"
	disk=$(mktemp -d "$dir/disk.XXXXXX")
	mkdir "$disk"/{upper,work}
	mount -t overlay -o "lowerdir=$lower,upperdir=$disk/upper,workdir=$disk/work" overlay "$dir/root"
	node_configure "$dir/root" "$name" "$3"
	[[ $name != hv-* ]] || hypervisor_configure "$dir/root" "$name"
	[[ ! -d $dir/seed ]] || node_seed "$dir/root" "$dir/seed"
}

# Has cloud-init do at the first boot what a seed says. The network is that of the sandbox.
node_seed() { # ROOT SEED
	local etc=$1/etc
	rm "$etc/cloud/cloud-init.disabled"
	mkdir -p "$1/var/lib/cloud/seed"
	cp -r "$2" "$1/var/lib/cloud/seed/nocloud"
	printf 'datasource_list: [NoCloud]\nnetwork: {config: disabled}\n' >"$etc/cloud/cloud.cfg.d/99-sandbox.cfg"
	# Its generator, which would look for a seed on disks, is not run.
	ln -s /lib/systemd/system/cloud-init.target "$etc/systemd/system/multi-user.target.wants/cloud-init.target"
}

# What firmware and power supply do for a machine: systemd-nspawn ends with 133 where a machine reboots, and waits for
# somebody to start it again. Of the network such a machine keeps its cables only.
node_power() { # NAME LOWER PUBLIC_KEY
	local name=$1 dir=$NODES/$1 status disk
	local -a more=()
	# A hypervisor makes devices of networks, and configures its bridges below /proc/sys/net itself.
	[[ $name != hv-* ]] || more=(--bind=/dev/net/tun "--bind-ro=$SANDBOX_TINY_IMAGE")
	cgroup_join_machine "$name"
	while true; do
		# The limit of open files is a usual machine's, whatever it is where the sandbox was begun. systemd-nspawn gives as
		# much of it as the kernel lets it: where root may not raise its own hard limit, machines have that.
		# Unregistered and in our own control group: there is no machined here, and none of the host's is to know.
		SYSTEMD_NSPAWN_LOCK=0 SYSTEMD_NSPAWN_API_VFS_WRITABLE=$([[ $name == hv-* ]] && echo network || echo no) systemd-nspawn --quiet --boot --register=no --keep-unit --machine="$name" \
			--directory="$dir/root" --network-namespace-path="/run/netns/$name" \
			--capability=CAP_NET_ADMIN,CAP_NET_RAW --link-journal=no --resolv-conf=off --timezone=off \
			--rlimit=NOFILE=1024:524288 ${more[@]+"${more[@]}"} \
			--console=read-only --kill-signal=SIGRTMIN+3 \
			</dev/null >>"$dir/console" 2>&1 &
		echo $! >"$dir/pid"
		status=0
		wait $! 2>/dev/null || status=$?
		rm "$dir/pid"
		case $status in
		133) ;;
		137) # somebody took its power away, and gives it back by this file, perhaps with an empty disk
			# What was inside outlives systemd-nspawn.
			ip netns pids "$name" | xargs -r kill -KILL 2>/dev/null || true
			until [[ -e $dir/on ]]; do sleep 0.2; done
			disk=$(<"$dir/on")
			rm "$dir/on"
			[[ $disk != empty ]] || node_disk "$@"
			;;
		*) break ;;
		esac
		network_node_remove "$name"
		network_node "$name"
	done
}

node_configure() { # ROOT NAME PUBLIC_KEY
	local root=$1 name=$2 home generator
	echo "$name" >"$root/etc/hostname"
	printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$name" >"$root/etc/hosts"
	for home in root home/admin; do
		install -d -m 0700 "$root/$home/.ssh"
		printf '%s\n' "$3" >"$root/$home/.ssh/authorized_keys"
	done
	chroot "$root" chown -R admin:admin /home/admin/.ssh
	# A user's manager that is told to end while it still begins ends at its limit only, which is two minutes: a machine
	# that somebody has just logged in to would go down as late as that.
	install -d "$root/etc/systemd/system/user@.service.d"
	printf '[Service]\nTimeoutStopSec=3\n' >"$root/etc/systemd/system/user@.service.d/stop.conf"
	# A container may not set the clock: chrony serves time and leaves its own alone.
	install -d "$root/etc/systemd/system/chrony.service.d"
	printf '[Unit]\nConditionCapability=\n[Service]\nExecStart=\nExecStart=!/usr/sbin/chronyd -x -F 0\n' >"$root/etc/systemd/system/chrony.service.d/container.conf"
	# What looks for disks and for what to boot has nothing to find here, and would be sixteen processes at each reload of systemd. The
	# greeting of who logs in would be six.
	install -d "$root/etc/systemd/system-generators"
	for generator in cryptsetup debug getty gpt-auto hibernate-resume integritysetup rc-local run system-update veritysetup bless-boot; do
		ln -sf /dev/null "$root/etc/systemd/system-generators/systemd-$generator-generator"
	done
	ln -sf /dev/null "$root/etc/systemd/system-generators/cloud-init-generator"
	sed -i '/pam_motd/d' "$root/etc/pam.d/sshd"
	# The container has its network from the start; cloud-init belongs to the disk image made of the same root.
	mkdir -p "$root/etc/cloud"
	: >"$root/etc/cloud/cloud-init.disabled"
	cat >"$root/etc/systemd/network/10-eth0.network" <<-EOF
		[Match]
		Name=eth0
		[Network]
		Address=$(node_address "$name")/24
		Gateway=10.0.100.254
		LinkLocalAddressing=no
		IPv6AcceptRA=no
	EOF
	cat >"$root/etc/systemd/network/10-eth1.network" <<-EOF
		[Match]
		Name=eth1
		[Network]
		$([[ $name == hv-* ]] || echo "Address=10.19.41.$((100 + ${name#svc-}))/24")
		LinkLocalAddressing=no
		IPv6AcceptRA=no
	EOF
}

# Prints the address that a machine is reached at from the sandbox's own hypervisor.
node_address() { # NAME
	case $1 in
	svc-*) echo "10.0.100.$((100 + ${1#svc-}))" ;;
	hv-*) echo "10.0.100.$((10 + ${1#hv-}))" ;;
	esac
}

# The machine's first process: the only child of its nspawn.
node_leader() { # NAME
	local nspawn
	nspawn=$(cat "$NODES/$1/pid" 2>/dev/null) || return 1
	awk '{ print $1 }' "/proc/$nspawn/task/$nspawn/children" 2>/dev/null | grep .
}

node_ready() { # NAME
	local leader
	leader=$(node_leader "$1") || return 1
	[[ -n $leader ]] && timeout 10 bash -c ": </dev/tcp/$(node_address "$1")/22" && nsenter -t "$leader" -a -- systemctl is-active --quiet multi-user.target
}

# Whether a machine has booted since LEADER was its first process, and answers.
node_ready_again() { # NAME LEADER
	[[ $(node_leader "$1") != "$2" ]] && node_ready "$1"
}
