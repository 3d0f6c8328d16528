# Sourced by stages, and by the sandbox's self-test: a network manager for the hypervisor, as the example's bridge shall stay over reboots.

# manage_eno1 leaves eno1 to ifupdown, which needs no daemon, as an administrator would. Its programs are those of the sandbox's
# Debian; nothing of the machine's own /etc/network counts.
manage_eno1() {
	local root
	root=$("$repository/test/sandbox/images" root)
	cp -P "$root"/usr/sbin/{ifup,ifdown,ifquery} /usr/local/sbin/
	rm -rf /etc/network
	mkdir -p /run/network /etc/network/{interfaces.d,if-{pre-up,up,down,post-down}.d}
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
