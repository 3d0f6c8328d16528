package hunt

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
)

// hypervisorSubjects are what libvirt keeps.
func hypervisorSubjects() []subject {
	tiny := cmp.Or(os.Getenv("SANDBOX_TINY_IMAGE"), "/images/tiny.qcow2")
	leases := object{"ranges": list{object{"start": "10.222.0.100", "end": "10.222.0.120"}}}
	return []subject{
		{
			kind: "virtcluster_storage_pool", importID: onHypervisor("name"), base: object{"name": "hunted", "path": "/run/hunt/pool"},
			samples: map[string]any{
				"name": "hunted", "path": "/run/hunt/pool", "active": true, "autostart": true, "type": "dir", "hypervisor": "other", "source": object{"name": "hunted"}, "source.name": "hunted",
				"source.hosts": list{"10.0.100.101"}, "source.path": "/srv/hunted", "source.format": "nfs", "source.target": "iqn.2013-06.com.example:hunted", "source.username": "hunted",
				"source.secret_uuid": "2ec115d7-3a88-3ceb-bc12-0ac909a6fd87",
			},
			beside: map[string]object{
				"source": {"type": "logical", "path": nil}, "source.name": {"type": "logical", "path": nil},
				"source.hosts": {"type": "netfs", "source": object{"path": "/srv/hunted"}}, "source.path": {"type": "netfs", "source": object{"hosts": list{"10.0.100.101"}}},
				"source.format":      {"type": "netfs", "source": object{"hosts": list{"10.0.100.101"}, "path": "/srv/hunted"}},
				"source.target":      {"type": "iscsi", "path": nil, "source": object{"hosts": list{"10.0.100.101"}}},
				"source.username":    {"type": "rbd", "path": nil, "source": object{"hosts": list{"10.0.100.101"}, "name": "rbd", "secret_uuid": "2ec115d7-3a88-3ceb-bc12-0ac909a6fd87"}},
				"source.secret_uuid": {"type": "rbd", "path": nil, "source": object{"hosts": list{"10.0.100.101"}, "name": "rbd", "username": "hunted"}},
			},
		},
		{
			kind: "virtcluster_volume", importID: onHypervisor("pool", "name"), base: object{"name": "hunted.qcow2", "pool": "fixture", "size_gib": 1},
			samples: map[string]any{"name": "hunted.qcow2", "pool": "fixture", "size_gib": 1, "format": "qcow2", "image": "$image.id", "hypervisor": "other"},
		},
		{
			kind: "virtcluster_image", importID: onHypervisor("pool", "name"), base: object{"name": "hunted", "pool": "fixture", "source": tiny},
			samples: map[string]any{"name": "hunted", "pool": "fixture", "source": tiny, "checksum": checksumOf(tiny), "format": "qcow2", "timeouts": object{"create": "10m"}, "timeouts.create": "10m", "timeouts.delete": "10m", "hypervisor": "other"},
			unread:  []string{"source", "checksum", "timeouts", "source_sha256"},
		},
		{
			kind: "virtcluster_network", importID: onHypervisor("name"), base: object{"name": "hunted", "cidr": "10.222.0.0/24"},
			samples: map[string]any{
				"name": "hunted", "active": true, "autostart": true, "bridge": "huntbr0", "cidr": "10.222.0.0/24", "dhcp": object{}, "dhcp.hosts": object{"52:54:00:aa:6c:b1": object{"ip": "10.222.0.9"}},
				"dhcp.hosts.hostname": "nine", "dhcp.hosts.ip": "10.222.0.9", "dhcp.lease_seconds": 3600, "dhcp.options": object{"ntp-server": "10.222.0.1"},
				"dhcp.ranges": list{object{"start": "10.222.0.100", "end": "10.222.0.120"}}, "dhcp.ranges.start": "10.222.0.100", "dhcp.ranges.end": "10.222.0.120",
				"dns": object{"enabled": true}, "dns.enabled": true, "dns.forwarders": list{object{"address": "10.0.100.254"}}, "dns.forwarders.address": "10.0.100.254", "dns.forwarders.domain": "corp.example",
				"dns.hosts": object{"10.222.0.50": list{"api"}}, "dns.local_only": true, "domain": "hunted.example", "gateway": "10.222.0.254", "ipv6_cidr": "fd22::/64", "ipv6_gateway": "fd22::fe",
				"ipv6_nat": true, "mode": "nat", "mtu": 1400, "pxe": object{"boot_file": "pxelinux.0", "server": "10.222.0.5"}, "pxe.boot_file": "pxelinux.0", "pxe.server": "10.222.0.5", "pxe.tftp_root": "/run/hunt/fixture",
				"routes": list{object{"cidr": "10.233.0.0/16", "via": "10.222.0.9"}}, "routes.cidr": "10.233.0.0/16", "routes.via": "10.222.0.9", "virtual_port": "openvswitch", "hypervisor": "other",
			},
			beside: map[string]object{
				"dhcp.lease_seconds": {"dhcp": leases}, "ipv6_gateway": {"ipv6_cidr": "fd22::/64"}, "ipv6_nat": {"ipv6_cidr": "fd22::/64"},
				"pxe": {"dhcp": leases}, "pxe.boot_file": {"dhcp": leases}, "pxe.server": {"dhcp": leases}, "pxe.tftp_root": {"dhcp": leases, "pxe": object{"boot_file": "pxelinux.0"}},
				"dns.local_only": {"domain": "hunted.example"}, "virtual_port": {"mode": "bridge", "bridge": "svcbr0", "cidr": nil},
			},
		},
		{
			kind: "virtcluster_dhcp_reservation", base: object{"network": "fixture2", "mac": "52:54:00:aa:6c:01", "ip": "10.220.0.90"},
			samples: map[string]any{"network": "fixture2", "mac": "52:54:00:aa:6c:01", "ip": "10.220.0.90", "hostname": "ninety", "duid": "00:03:00:01:52:54:00:aa:6c:b1", "hypervisor": "other"},
			beside:  map[string]object{"duid": {"mac": nil, "ip": "fd20::90", "hostname": "ninety"}},
		},
		{
			kind: "virtcluster_snapshot", base: object{"name": "hunted", "nodes": list{"$disk machine.id"}},
			samples: map[string]any{"name": "hunted", "nodes": list{"$disk machine.id"}, "memory": true, "quiesce": "none", "revert": 7},
		},
		{
			// Of one machine: a snapshot and a backup have it run for a moment.
			kind: "virtcluster_backup", lane: "virtcluster_snapshot", base: object{"name": "hunted", "node": "$disk machine.id", "target": object{"pool": "fixture"}},
			samples: map[string]any{
				"name": "hunted", "node": "$disk machine.id", "disks": list{"root"}, "target": object{"pool": "fixture"}, "target.pool": "fixture", "target.path": "/run/hunt/fixture",
				"incremental_from": "never", "bandwidth_mib": 100, "quiesce": "none", "generation": 7, "timeouts": object{"create": "10m"}, "timeouts.create": "10m", "timeouts.delete": "10m",
			},
			beside: map[string]object{"target.path": {"target": object{}}},
		},
		nodeSubject(),
	}
}

// checksumOf is that of a file, or of nothing where there is none.
func checksumOf(file string) string {
	content, _ := os.ReadFile(file) //nolint:gosec // the sandbox's image
	return fmt.Sprintf("sha256:%x", sha256.Sum256(content))
}

func nodeSubject() subject {
	wire := list{object{"network": "fixture"}}
	interfaces := map[string]any{
		"addresses": list{"10.221.0.50/24"}, "allowed_addresses": list{"10.221.0.77"}, "bridge": "svcbr0", "gateway": "10.221.0.1", "hostname": "hunted", "ip": "10.221.0.60", "ipv6": "fd21::60", "ovn_network": "$ovn network.id", "security_groups": list{"fixture"},
		"direct": object{"device": "eno1"}, "direct.device": "eno1", "direct.mode": "vepa", "trust": true,
		"virtual_port": "openvswitch", "interface_id": "3d1f9a52-7c3e-4d55-9f0e-6a1b2c3d4e5f", "vlan": object{"id": 7}, "vlan.id": 7, "vlan.trunk": list{8, 9}, "bandwidth": object{"inbound_average_kib": 1000}, "mac": "52:54:00:aa:6c:c1", "model": "virtio", "mtu": 1400, "name": "lan0", "nameservers": list{"10.221.0.1"}, "network": "fixture", "port_security": true,
		"routes": list{object{"cidr": "10.233.0.0/16", "via": "10.221.0.9"}}, "routes.cidr": "10.233.0.0/16", "routes.via": "10.221.0.9",
		"security_rules": list{object{"direction": "ingress", "protocol": "tcp", "ports": "22"}}, "security_rules.direction": "egress", "security_rules.ports": "30000-32767", "security_rules.protocol": "VRRP",
		"security_rules.remote": "10.19.41.0/24",
	}
	turn := object{"endpoint": "$node1.id", "command": list{"true"}}
	rollout := map[string]any{
		"group": "hunted", "max_unavailable": 2, "timeout": "60s", "drain": object{"service_nodes": list{"$node1.id"}}, "drain.service_nodes": list{"$node1.id"}, "drain.timeout": "5s",
		"service_node": object{"endpoint": "$node1.id"}, "service_node.endpoint": "$node1.id", "service_node.host_key": hostKey("10.0.100.101"), "service_node.timeout": "5s",
		"before": turn, "before.endpoint": "$node1.id", "before.command": list{"true"}, "before.timeout": "5s", "after": turn, "after.endpoint": "$node1.id", "after.command": list{"true"}, "after.timeout": "5s",
		"ready": object{"tcp": "10.0.100.101:22"}, "ready.tcp": "10.0.100.101:22", "ready.url": "http://10.0.100.101:80/", "ready.dns": "localhost", "ready.endpoint": "$node1.id", "ready.command": list{"true"}, "ready.interval": "1s", "ready.timeout": "5s",
	}
	migration := map[string]any{"allow": false, "bandwidth_mib": 100, "timeout": "5m"}
	return subject{
		kind: "virtcluster_node", importID: onHypervisor("name"), base: object{"name": "hunted", "type": "qemu", "running": false, "memory_mib": 64, "shutdown_timeout": "0s"},
		samples: merged(map[string]any{
			"name": "hunted", "type": "qemu", "running": false, "memory_mib": 64, "shutdown_timeout": "30s", "allow_restart": true, "autostart": true, "boot": object{"order": list{"network"}},
			"boot.order": list{"cdrom", "network"}, "cdrom": object{}, "cdrom.image": "$disc.id", "cdrom.url": discURL, "boot.kernel": "/run/hunt/kernel", "boot.initrd": "/run/hunt/initrd", "boot.cmdline": "quiet", "butane": "variant: fcos\nversion: 1.5.0\n",
			"cloud_init": object{"user_data": "#!/bin/sh\ntrue\n"}, "cloud_init.user_data": "#!/bin/sh\ntrue\n", "cloud_init.meta_data": "foo: bar\n", "cloud_init.vendor_data": "#!/bin/sh\nfalse\n",
			"cloud_init.network_config": "version: 2\n", "console": object{"type": "pty"}, "console.type": "pty", "console.log_file": "/run/hunt/console.log", "cpu": object{"mode": "custom", "model": "Nehalem"},
			"console.address": "127.0.0.1", "console.protocol": "telnet", "cpu.pinning": object{"0": "0"}, "cpu.topology": object{"cores": 1}, "disks.cache": "none", "disks.discard": "ignore", "disks.io": "threads", "disks.limits": object{"total_iops_sec": 100},
			"root_disk.cache": "none", "root_disk.discard": "ignore", "root_disk.io": "threads", "root_disk.limits": object{"read_bytes_sec": 1048576}, "filesystems": list{object{"source": "/run/hunt", "target": "share", "driver": "9p"}},
			"filesystems.source": "/run/hunt", "filesystems.target": "share", "filesystems.driver": "9p", "hugepages": "none", "numa": list{object{"cpus": "0", "memory_mib": 64}}, "numa.cpus": "0", "numa.host_nodes": "0",
			"host_devices": list{object{"usb": "1.77"}}, "host_devices.pci": "0000:77:00.0", "host_devices.usb": "046d:c52b", "host_devices.mdev": "c2177883-f1bb-47f0-914d-32a22e3a8804", "xml_patch": object{"/domain/title": "Hunted"},
			"smbios": object{"product": "Hunted"}, "smbios.family": "Hunted", "smbios.manufacturer": "Hunter", "smbios.oem_strings": list{"a", "b"}, "smbios.product": "Hunted", "smbios.serial": "0001", "smbios.sku": "1", "smbios.version": "2",
			"tpm": object{"model": "tpm-crb"}, "tpm.model": "tpm-tis", "tpm.version": "2.0", "watchdog": object{"action": "poweroff"}, "watchdog.model": "i6300esb", "watchdog.action": "pause",
			"cpu.mode": "custom", "cpu.model": "Nehalem", "cpu.nested": false, "disks": object{"d": object{"size_gib": 1, "pool": "fixture"}}, "disks.bus": "scsi", "disks.pool": "fixture", "disks.size_gib": 1,
			"disks.volume": "$volume.id", "disks.format": "qcow2", "root_disk.format": "qcow2", "firmware": "bios", "graphics": "vnc", "guest_agent": true, "hypervisor": "other", "ignition": `{"ignition":{"version":"3.4.0"}}`, "labels": object{"a": "b"},
			"machine": "pc-q35-7.2", "max_memory_mib": 128, "max_vcpus": 2, "network_interfaces": wire, "power": "external", "rng": true, "role": "worker", "root_disk": object{"size_gib": 1, "pool": "fixture"},
			"root_disk.bus": "sata", "root_disk.image": "$image.id", "root_disk.pool": "fixture", "root_disk.size_gib": 1, "root_disk.volume": "$volume.id", "rollout": object{"group": "hunted"}, "migration": object{"allow": false}, "vcpus": 2, "wait_for": "none",
		}, below("network_interfaces", interfaces), below("rollout", rollout), below("migration", migration), timeoutsAll),
		beside: map[string]object{
			"host_devices.pci": {"host_devices": list{object{}}}, "host_devices.usb": {"host_devices": list{object{}}}, "host_devices.mdev": {"host_devices": list{object{}}},
			"network_interfaces.direct": {"network_interfaces": list{object{}}}, "network_interfaces.direct.device": {"network_interfaces": list{object{"direct": object{}}}},
			"network_interfaces.direct.mode":  {"network_interfaces": list{object{"direct": object{"device": "eno1"}}}},
			"network_interfaces.virtual_port": {"network_interfaces": list{object{"bridge": "svcbr0"}}}, "network_interfaces.interface_id": {"network_interfaces": list{object{"bridge": "svcbr0", "virtual_port": "openvswitch"}}}, "network_interfaces.vlan": {"network_interfaces": list{object{"bridge": "svcbr0", "virtual_port": "openvswitch"}}},
			"network_interfaces.vlan.id": {"network_interfaces": list{object{"bridge": "svcbr0", "virtual_port": "openvswitch", "vlan": object{}}}}, "network_interfaces.vlan.trunk": {"network_interfaces": list{object{"bridge": "svcbr0", "virtual_port": "openvswitch", "vlan": object{}}}},
			"network_interfaces.bridge": {"network_interfaces": list{object{}}}, "network_interfaces.ovn_network": {"network_interfaces": list{object{}}},
			"network_interfaces.security_groups": {"network_interfaces": list{object{"ovn_network": "$ovn network.id"}}}, "disks.volume": {"disks": object{"d": object{}}},
			"disks.format": {"disks": object{"d": object{"volume": "$volume.id"}}}, "root_disk.format": {"root_disk": object{"volume": "$volume.id"}},
			"network_interfaces.gateway": {"network_interfaces": list{object{"network": "fixture", "addresses": list{"10.221.0.50/24"}}}},
			"cpu.model":                  {"cpu": object{"mode": "custom"}}, "boot.initrd": {"boot": object{"kernel": "/run/hunt/kernel"}}, "boot.cmdline": {"boot": object{"kernel": "/run/hunt/kernel"}},
			"network_interfaces.hostname": {"network_interfaces": list{object{"network": "fixture", "ip": "10.221.0.60"}}},
			"network_interfaces.ipv6":     {"network_interfaces": list{object{"network": "fixture", "ip": "10.221.0.60"}}},
			"ignition":                    {"root_disk": object{"size_gib": 1, "pool": "fixture"}}, "butane": {"root_disk": object{"size_gib": 1, "pool": "fixture"}},
			"network_interfaces.allowed_addresses":       {"network_interfaces": list{object{"network": "fixture", "ip": "10.221.0.60", "port_security": true}}},
			"network_interfaces.security_rules.protocol": {"network_interfaces": list{object{"network": "fixture", "security_rules": list{object{"direction": "ingress"}}}}},
			"network_interfaces.port_security":           {"network_interfaces": list{object{"network": "fixture", "ip": "10.221.0.60"}}},
			"rollout.max_unavailable":                    {"rollout": object{"group": "hunted"}}, "rollout.timeout": {"rollout": object{"group": "hunted"}}, "rollout.drain": {"rollout": object{"group": "hunted"}},
			"rollout.service_node":          {"rollout": object{"group": "hunted"}},
			"rollout.service_node.host_key": {"rollout": object{"group": "hunted", "service_node": object{"endpoint": "$node1.id"}}},
			"rollout.service_node.timeout":  {"rollout": object{"group": "hunted", "service_node": object{"endpoint": "$node1.id"}}},
			"rollout.before":                {"rollout": object{"group": "hunted"}}, "rollout.after": {"rollout": object{"group": "hunted"}}, "rollout.ready": {"rollout": object{"group": "hunted"}},
			"rollout.drain.timeout":  {"rollout": object{"group": "hunted", "drain": object{"service_nodes": list{"$node1.id"}}}},
			"rollout.before.timeout": {"rollout": object{"group": "hunted", "before": turn}}, "rollout.after.timeout": {"rollout": object{"group": "hunted", "after": turn}},
			"rollout.ready.url": {"rollout": object{"group": "hunted", "ready": object{}}}, "rollout.ready.dns": {"rollout": object{"group": "hunted", "ready": object{}}}, "rollout.ready.tcp": {"rollout": object{"group": "hunted", "ready": object{}}},
			"rollout.ready.endpoint": {"rollout": object{"group": "hunted", "ready": object{"command": list{"true"}}}}, "rollout.ready.command": {"rollout": object{"group": "hunted", "ready": object{"endpoint": "$node1.id"}}},
			"rollout.ready.interval": {"rollout": object{"group": "hunted", "ready": object{"tcp": "10.0.100.101:22"}}}, "rollout.ready.timeout": {"rollout": object{"group": "hunted", "ready": object{"tcp": "10.0.100.101:22"}}},
			"root_disk.volume": {"root_disk": object{}}, "cpu.pinning": {"type": "kvm"}, "console.address": {"console": object{"type": "tcp", "port": 4555}}, "console.protocol": {"console": object{"type": "tcp", "port": 4555}},
			"filesystems.source": {"filesystems": list{object{"target": "share", "driver": "9p"}}}, "filesystems.target": {"filesystems": list{object{"source": "/run/hunt", "driver": "9p"}}},
			"filesystems.driver": {"filesystems": list{object{"source": "/run/hunt", "target": "share"}}}, "numa.cpus": {"numa": list{object{"memory_mib": 64}}}, "numa.host_nodes": {"numa": list{object{"cpus": "0", "memory_mib": 64}}},
			"cloud_init": {"root_disk": object{"size_gib": 1, "pool": "fixture"}},
		},
		unread: []string{"butane", "timeouts"},
	}
}
