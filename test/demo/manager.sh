# Sourced by stages: a network manager for the hypervisor, as the example's bridge shall stay over reboots.

# manage_eno1 leaves eno1 to ifupdown, which needs no daemon, as an administrator would. Its programs are those of the sandbox's
# Debian; they and /etc/network are there in the sandbox only.
manage_eno1() {
	local root
	root=$("$repository/test/sandbox/images" root)
	cp -a /usr/local/sbin /run/sandbox/sbin
	cp -P "$root"/usr/sbin/{ifup,ifdown,ifquery} /run/sandbox/sbin/
	mount --bind /run/sandbox/sbin /usr/local/sbin
	mkdir -p /etc/network /run/network
	mount -t tmpfs -o mode=755 tmpfs /etc/network
	mkdir /etc/network/{interfaces.d,if-{pre-up,up,down,post-down}.d}
	cat >/etc/network/interfaces <<-EOF
		source /etc/network/interfaces.d/*

		auto eno1
		iface eno1 inet static
		  address 10.19.41.10/24
		  gateway 10.19.41.254
	EOF
	ip address flush dev eno1
	ifup eno1
}
