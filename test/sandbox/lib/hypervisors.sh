# shellcheck shell=bash
# What makes a machine a further hypervisor: its own libvirtd, and a cable to the underlay that hypervisors have between them.

# libvirtd runs as on the sandbox's own hypervisor (libvirt.sh), by the units of its package.
hypervisor_configure() { # ROOT NAME
	local root=$1 number=${2#hv-} n
	printf '%s\n' 'security_driver = "none"' 'user = "root"' 'group = "root"' 'stdio_handler = "file"' 'namespaces = [ ]' 'remember_owner = 0' 'cgroup_controllers = [ ]' >"$root/etc/libvirt/qemu.conf"
	printf '%s\n' 'auth_unix_ro = "none"' 'auth_unix_rw = "none"' 'max_clients = 2000' 'max_workers = 40' 'max_client_requests = 50' >"$root/etc/libvirt/libvirtd.conf"
	# All would have that of the computer which they are on, and libvirt moves no guest from a machine to itself.
	printf 'host_uuid = "00000000-0000-4000-8000-%012d"\n' "$number" >>"$root/etc/libvirt/libvirtd.conf"
	# It stays when nobody asks it anything: the machine's systemd does not start it again by its socket.
	printf '%s\n' 'LIBVIRTD_ARGS=""' >"$root/etc/default/libvirtd"
	# The others by name on the underlay, as a live migration asks for them.
	for ((n = 1; n <= SANDBOX_HYPERVISOR_COUNT; n++)); do ((n == number)) || printf '172.16.0.%d hv-%d\n' "$((10 + n))" "$n"; done >>"$root/etc/hosts"
	cat >"$root/etc/systemd/network/10-eth2.network" <<-EOT
		[Match]
		Name=eth2
		[Network]
		Address=172.16.0.$((10 + number))/24
		LinkLocalAddressing=no
		IPv6AcceptRA=no
	EOT
	install -m 0755 "$SANDBOX_DIR/lib/underlay" "$root/usr/local/sbin/underlay"
	cat >"$root/etc/systemd/system/underlay.service" <<-EOT
		[Unit]
		Description=The underlay's address where Open vSwitch's user-space datapath reaches it
		After=openvswitch-switch.service
		BindsTo=openvswitch-switch.service
		[Service]
		Type=oneshot
		RemainAfterExit=yes
		ExecStart=/usr/local/sbin/underlay up
		ExecStop=/usr/local/sbin/underlay down
		[Install]
		WantedBy=openvswitch-switch.service
	EOT
	# Netplan's would start Open vSwitch's database at every boot, to look for bridges of netplan's own.
	ln -sf /dev/null "$root/etc/systemd/system/netplan-ovs-cleanup.service"
	chroot "$root" systemctl enable --quiet underlay.service libvirtd.service
}

hypervisor_ready() { # NAME
	nsenter -t "$(node_leader "$1")" --all -- virsh --quiet --connect qemu:///system version
}
