# shellcheck shell=bash
# A libvirtd that knows nothing of the machine it runs on.

# The account that libvirt insists on comes with libvirt-daemon-system, which also starts a daemon.
libvirt_account() {
	grep -q '^libvirt-qemu:' /etc/passwd || echo 'libvirt-qemu:x:64055:64055::/var/lib/libvirt:/usr/sbin/nologin' >>/etc/passwd
	grep -q '^libvirt-qemu:' /etc/group || echo 'libvirt-qemu:x:64055:' >>/etc/group
}

libvirt_configure() {
	libvirt_account
	mkdir -p /var/lib/libvirt/{images,boot,dnsmasq,network,qemu} /var/log/libvirt/qemu /run/libvirt
	mkdir -p /etc/libvirt/{qemu/networks,storage,nwfilter,secrets}
	cat >/etc/libvirt/libvirtd.conf <<-'EOF'
		auth_unix_ro = "none"
		auth_unix_rw = "none"
		unix_sock_group = "root"
		log_outputs = "3:file:/var/log/libvirt/libvirtd.log"
		# Tests apply many resources at a time over one or several connections, and a package's providers are parts of
		# one process: they let go of theirs when it ends. libvirt does not answer who is beyond the limit.
		max_clients = 2000
		max_workers = 40
		max_client_requests = 50
	EOF
	cat >/etc/libvirt/qemu.conf <<-'EOF'
		security_driver = "none"
		user = "root"
		group = "root"
		# No virtlogd, no device namespaces, no ownership records: a sandbox has no one to protect from.
		stdio_handler = "file"
		namespaces = [ ]
		remember_owner = 0
	EOF
	# A machine whose systemd is not there to mount it has no place for guests of huge pages, and libvirt looks for one when it starts.
	mkdir -p /run/sandbox/hugepages
	! mount -t hugetlbfs hugetlbfs /run/sandbox/hugepages 2>/dev/null || printf 'hugetlbfs_mount = "/run/sandbox/hugepages"\n' >>/etc/libvirt/qemu.conf
	printf 'uri_default = "qemu:///system"\n' >/etc/libvirt/libvirt.conf
	mkdir /etc/libvirt/hooks
	ln -s "$SANDBOX_DIR/lib/power" /etc/libvirt/hooks/qemu
}

libvirt_start() {
	libvirtd >/run/sandbox/libvirtd.out 2>&1 </dev/null &
	echo $! >/run/sandbox/libvirtd.pid
}

libvirt_ready() { virsh --quiet --connect qemu:///system version; }
