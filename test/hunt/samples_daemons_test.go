package hunt

import (
	"strings"

	"github.com/zclconf/go-cty/cty"
)

var haproxyTimes = map[string]any{
	"check": "3s", "client": "30s", "client_fin": "5s", "connect": "4s", "http_keep_alive": "6s", "http_request": "7s", "queue": "8s", "server": "40s",
	"server_fin": "5s", "tarpit": "9s", "tunnel": "1h",
}

func times(of ...string) map[string]any {
	all := map[string]any{}
	for _, name := range of {
		all[name] = haproxyTimes[name]
	}
	return all
}

var serverParams = map[string]any{
	"backup": true, "check": true, "check_ssl": true, "fall": 3, "inter": "3s", "maxconn": 100, "options": list{"on-marked-down shutdown-sessions"}, "rise": 2,
	"send_proxy": true, "verify": "none", "weight": 10,
}

// daemonSubjects are parts of a daemon's configuration.
func daemonSubjects() []subject {
	return []subject{
		{
			kind: "virtcluster_dhcp_server", lane: "machine5", base: object{"service_node": "$node5.id", "interface": "eth1", "cidr": "10.19.41.0/24"},
			samples: map[string]any{
				"boot": object{"next_server": "10.19.41.105", "bios": "ipxe.pxe"}, "boot.next_server": "10.19.41.105", "boot.bios": "ipxe.pxe", "boot.uefi_ia32": "ia32.efi", "boot.uefi_x64": "snponly.efi",
				"boot.uefi_arm64": "arm64.efi", "boot.http_x64": "http://10.19.41.105:8090/ipxe.efi", "boot.http_arm64": "http://10.19.41.105:8090/arm64.efi", "boot.ipxe": "http://10.19.41.105:8090/boot.ipxe",
				"cidr": "10.19.41.0/24", "hosts": object{"02:aa:00:00:00:21": object{"ip": "10.19.41.21"}}, "hosts.ip": "10.19.41.21", "hosts.hostname": "hunted", "interface": "eth1", "lease_seconds": 600,
				"options": object{"routers": "10.19.41.254"}, "pair": object{"role": "standby", "address": "10.0.100.105", "peer": "10.0.100.104", "port": 8067}, "pair.role": "primary", "pair.address": "10.0.100.105",
				"pair.peer": "10.0.100.104", "pair.port": 8067, "ranges": list{object{"start": "10.19.41.150", "end": "10.19.41.159"}}, "ranges.start": "10.19.41.150", "ranges.end": "10.19.41.159",
			},
		},
		{
			kind: "virtcluster_ovn", base: object{"central": list{"$hv2.id"}, "datapath": "userspace"},
			samples: map[string]any{
				"address": "10.0.100.12", "central": list{"$hv2.id"}, "chassis": object{"hunted": object{"endpoint": "$hv2.id", "tunnel_ip": "172.16.0.12"}}, "chassis.endpoint": "$hv2.id", "chassis.tunnel_ip": "172.16.0.12",
				"chassis.hypervisor": "other", "chassis.bridge_mappings": object{"lan": "br-phy"}, "datapath": "userspace", "underlay_mtu": 1500, "certificates": object{"valid_for": "8760h", "renew_before": "720h"}, "certificates.valid_for": "9000h", "certificates.renew_before": "700h",
			},
		},
		{
			kind: "virtcluster_ovn_network", base: object{"ovn": "$ovn.id", "name": "hunted", "cidr": "10.233.0.0/24"},
			samples: map[string]any{
				"ovn": "$ovn.id", "name": "hunted", "mode": "nat", "cidr": "10.233.0.0/24", "gateway": "10.233.0.1", "ipv6_cidr": "fd33::/64", "bridge_mapping": "lan", "mtu": 1400, "dhcp": object{"pool": list{"10.233.0.10-10.233.0.19"}},
				"dhcp.pool": list{"10.233.0.10-10.233.0.19"}, "dhcp.lease_seconds": 600, "dhcp.nameservers": list{"10.233.0.2"}, "dhcp.options": object{"domain_name": "hunted.example"},
			},
			beside: map[string]object{"bridge_mapping": {"mode": "bridge"}},
		},
		{
			kind: "virtcluster_ovn_load_balancer", base: object{"ovn": "$ovn.id", "name": "hunted", "router": "fixture", "vips": object{"10.232.0.100:80": list{"10.232.0.9:8080"}}},
			samples: map[string]any{"ovn": "$ovn.id", "name": "hunted", "router": "fixture", "protocol": "udp", "vips": object{"10.232.0.100:80": list{"10.232.0.9:8080"}}, "health_check": object{"source": "10.232.0.250"}, "health_check.source": "10.232.0.250"},
		},
		{
			kind: "virtcluster_ovn_security_group", base: object{"ovn": "$ovn.id", "name": "hunted"},
			samples: map[string]any{
				"ovn": "$ovn.id", "name": "hunted", "rules": list{object{"direction": "ingress", "protocol": "tcp", "ports": "22"}}, "rules.direction": "egress", "rules.protocol": "udp", "rules.ports": "30000-32767",
				"rules.remote": "10.19.41.0/24", "address_sets": object{"admins": list{"10.19.41.0/24"}},
			},
		},
		{
			kind: "virtcluster_ovn_router", base: object{"ovn": "$ovn.id", "name": "hunted"},
			samples: map[string]any{
				"ovn": "$ovn.id", "name": "hunted", "networks": list{"fixture"}, "snat": true, "floating": object{"10.19.41.219": object{"inside": "10.232.0.9"}}, "floating.inside": "10.232.0.9",
				"external": object{"bridge_mapping": "lan", "address": "10.19.41.218/24", "chassis": list{"hunted"}}, "external.bridge_mapping": "lan", "external.address": "10.19.41.218/24", "external.gateway": "10.19.41.254",
				"external.chassis": list{"hunted"}, "routes": list{object{"cidr": "fd34::/64", "via": "fd32::9"}}, "routes.cidr": "fd34::/64", "routes.via": "fd32::9", "failover": object{"interval_ms": 1000, "multiplier": 5},
			},
			beside: map[string]object{
				"failover":             {"external": object{"bridge_mapping": "lan", "address": "10.19.41.218/24", "chassis": list{"hunted"}}},
				"snat":                 {"networks": list{"fixture"}, "external": object{"bridge_mapping": "lan", "address": "10.19.41.218/24", "chassis": list{"hunted"}}},
				"floating":             {"external": object{"bridge_mapping": "lan", "address": "10.19.41.218/24", "chassis": list{"hunted"}}},
				"floating.inside":      {"external": object{"bridge_mapping": "lan", "address": "10.19.41.218/24", "chassis": list{"hunted"}}},
				"floating.distributed": {"external": object{"bridge_mapping": "lan", "address": "10.19.41.218/24", "chassis": list{"hunted"}}},
			},
		},
		{
			kind: "virtcluster_time_server", lane: "machine5", base: object{"service_node": "$node5.id", "clients": list{"10.0.100.0/24"}},
			samples: map[string]any{"clients": list{"10.0.100.0/24"}, "local_stratum": 8, "upstreams": list{"10.0.100.104"}},
		},
		{
			kind: "virtcluster_boot_server", lane: "machine5", base: object{"service_node": "$node5.id", "http": object{"address": "10.0.100.105"}},
			samples: map[string]any{
				"http": object{"address": "10.0.100.105"}, "http.address": "10.0.100.105", "http.port": 8092, "interfaces": list{"eth0"}, "loaders": "/usr/lib/ipxe", "peers": list{"10.0.100.104:8090"}, "secure_boot": true, "tftp": false,
			},
		},
		{
			kind: "virtcluster_boot_profile", lane: "machine5",
			base: object{"boot_server": "$bootserver.id", "name": "hunted", "mac": "52:54:00:aa:00:31", "kernel": "http://10.0.100.101:8090/boot.ipxe"},
			samples: map[string]any{
				"butane": "variant: fcos\nversion: 1.5.0\n", "cloud_init": object{"user_data": "#cloud-config\n"}, "cloud_init.user_data": "#cloud-config\n", "cloud_init.meta_data": "instance-id: x\n", "cmdline": "console=ttyS0",
				"generation": 2, "ignition": "{\"ignition\":{\"version\":\"3.4.0\"}}", "initrd": list{"http://10.0.100.101:8090/snponly.efi"}, "kernel": "http://10.0.100.102:8090/boot.ipxe", "kickstart": "text\n",
				"mac": "52:54:00:aa:00:31", "name": "hunted", "node": "hunted", "once": false, "standby": "$bootserver2.id", "talos": "version: v1alpha1\n", "wait_for_report": true,
			},
			beside: map[string]object{"node": {"mac": nil}},
		},
		{
			kind: "virtcluster_http_content", lane: "machine5", base: object{"service_node": "$node5.id", "listen": "10.0.100.105:8085", "path": "/hunted", "content": "hunted\n"},
			samples: map[string]any{
				"checksum": "sha256:b47026b3b23762a7707287069742a1398bb1b5cb01e7c4bccda71e796c645610", "content": "hunted\n", "directory": "/etc/apt", "listen": "10.0.100.105:8085", "path": "/hunted", "source": "/etc/passwd",
			},
			beside: map[string]object{"directory": {"content": nil}, "source": {"content": nil}},
		},
		{
			kind: "virtcluster_registry", lane: "machine5", base: object{"service_node": "$node5.id", "name": "hunted"},
			samples: map[string]any{
				"address": "10.0.100.105", "mirror_of": "http://10.0.100.104:5000", "name": "hunted", "port": 5003, "storage": "/srv/hunted",
				"tls": object{"certificate": certificate(), "key": certificateKey()}, "tls.certificate": certificate(), "tls.key": certificateKey(), "tls.key_wo": certificateKey(), "tls.key_wo_version": 1,
				"users": object{"hunted": "$2y$10$abcdefghijklmnopqrstuuabcdefghijklmnopqrstuvwxyz01234"},
			},
			beside: map[string]object{
				"tls.certificate": {"tls": object{"key": certificateKey()}}, "tls.key": {"tls": object{"certificate": certificate()}},
				"tls.key_wo": {"tls": object{"certificate": certificate(), "key_wo_version": 1}}, "tls.key_wo_version": {"tls": object{"certificate": certificate(), "key_wo": certificateKey()}},
			},
		},
		{
			kind: "virtcluster_dns_server", base: object{"service_node": "$node4.id"},
			samples: map[string]any{
				"allow_query": list{"any"}, "allow_recursion": list{"10.0.0.0/8", "localhost"}, "dnssec_validation": "no", "forwarders": list{"10.0.100.254"},
				"listen_on": list{"127.0.0.1", "10.0.100.104"}, "options": object{"max-cache-size": "64m"},
			},
		},
		{
			kind: "virtcluster_dns_view", base: object{"service_node": "$node3.id", "name": "hunted"},
			samples: map[string]any{
				"name": "hunted", "allow_query": list{"any"}, "allow_recursion": list{"10.0.0.0/8"}, "forwarders": list{"10.0.100.254"}, "match_clients": list{"10.9.0.0/16"},
				"match_destinations": list{"10.9.9.9"}, "options": object{"minimal-responses": "yes"}, "order": 20, "recursion": true,
			},
		},
		{
			kind: "virtcluster_dns_zone", base: object{"service_node": "$node1.id", "view": "fixture", "name": "hunted.example"},
			samples: map[string]any{
				"allow_transfer": list{"10.0.0.0/8"}, "cidr": "10.1.1.0/24", "forward": object{"servers": list{"10.0.100.254"}}, "forward.only": true, "forward.servers": list{"10.0.100.254"},
				"name": "hunted.example", "name_servers": list{"ns1"}, "pointers": object{"10.1.1.1": "a.hunted.example."}, "records": object{"a": object{"A": list{"10.1.1.1"}}},
				"soa": object{"minimum": 30}, "soa.expire": 100000, "soa.minimum": 30, "soa.mname": "ns1.hunted.example.", "soa.refresh": 1000, "soa.retry": 500, "soa.rname": "admin.hunted.example.",
				"ttl": 60, "view": "fixture",
			},
			beside: map[string]object{
				"cidr": {"name": nil}, "pointers": {"name": nil, "cidr": "10.1.1.0/24"},
				"name_servers": {"records": object{"ns1": object{"A": list{"10.1.1.1"}}}},
			},
		},
		{
			kind:    "virtcluster_dns_record_set",
			base:    object{"service_node": "$node2.id", "view": "fixture", "zone": "fixture.example", "name": "hunted", "type": "A", "values": list{"10.1.1.1"}},
			samples: map[string]any{"name": "hunted", "type": "A", "zone": "fixture.example", "view": "fixture", "values": list{"10.1.1.1"}, "ttl": 60},
		},
		{
			kind: "virtcluster_haproxy", base: object{"service_node": "$node3.id"},
			samples: merged(map[string]any{
				"defaults_extra_config": "balance source", "extra_config": "tune.ssl.default-dh-param 2048", "health": object{"port": 9000}, "health.address": "127.0.0.1",
				"health.options": list{"interface lo"}, "health.port": 9000, "health.transparent": true, "health.uri": "/healthz", "log": "/dev/log local0", "maxconn": 500, "mode": "tcp",
				"options": list{"dontlognull", "log-health-checks"}, "retries": 3, "stats": object{"port": 9001}, "stats.address": "127.0.0.1", "stats.hide_version": true,
				"stats.options": list{"interface lo"}, "stats.password": "secret", "stats.password_wo": "secret", "stats.password_wo_version": 1, "stats.port": 9001, "stats.refresh": "10s",
				"stats.transparent": true, "stats.uri": "/stats", "stats.user": "admin", "timeouts": object{"client": "30s"},
			}, below("timeouts", haproxyTimes)),
			beside: map[string]object{
				"stats.password": {"stats": object{"port": 9001, "user": "admin"}}, "stats.user": {"stats": object{"port": 9001, "password": "secret"}},
				"stats.password_wo":         {"stats": object{"port": 9001, "user": "admin", "password_wo_version": 1}},
				"stats.password_wo_version": {"stats": object{"port": 9001, "user": "admin", "password_wo": "secret"}},
			},
			unread: []string{"stats"},
		},
		{
			kind: "virtcluster_haproxy_backend",
			base: object{"service_node": "$node2.id", "name": "hunted", "mode": "tcp", "servers": object{"a": object{"address": "10.0.100.9", "port": 80}}},
			samples: merged(map[string]any{
				"balance": "roundrobin", "default_server": object{"inter": "3s"}, "drain_timeout": "1s", "extra_config": "retries 2", "hash_type": "consistent",
				"http_check": object{"uri": "/readyz"}, "http_check.expect": "status 200", "http_check.method": "GET", "http_check.uri": "/readyz", "http_check.version": "HTTP/1.1",
				"mode": "tcp", "name": "hunted", "options": list{"redispatch"}, "servers": object{"a": object{"address": "10.0.100.9", "port": 80}}, "servers.address": "10.0.100.9",
				"servers.port": 80, "servers.state": "drain", "timeouts": object{"server": "40s"},
			}, below("default_server", serverParams), below("servers", serverParams), below("timeouts", times("check", "connect", "http_keep_alive", "http_request", "queue", "server", "server_fin", "tarpit", "tunnel"))),
			beside: map[string]object{
				"hash_type": {"balance": "source"}, "default_server.check_ssl": {"default_server": object{"verify": "none", "check": true}},
				"servers.check_ssl": {"servers": object{"a": object{"address": "10.0.100.9", "port": 80, "verify": "none", "check": true}}},
			},
		},
		{
			kind: "virtcluster_haproxy_frontend",
			base: object{"service_node": "$node1.id", "name": "hunted", "mode": "tcp", "binds": list{object{"port": 8080}}, "default_backend": "fixture"},
			samples: merged(map[string]any{
				"acls": object{"is_app": "src 10.0.0.0/8"}, "binds": list{object{"port": 8080}}, "binds.address": "10.0.100.101", "binds.options": list{"interface eth0"}, "binds.port": 8080,
				"binds.transparent": true, "default_backend": "fixture", "extra_config": "tcp-request inspect-delay 5s", "maxconn": 100, "mode": "tcp", "monitor_uri": "/healthz",
				"name": "hunted", "options": list{"dontlognull"}, "rules": list{object{"backend": "fixture", "if": "TRUE"}}, "rules.backend": "fixture", "rules.if": "TRUE", "rules.unless": "FALSE",
				"timeouts": object{"client": "40s"},
			}, below("timeouts", times("client", "client_fin", "http_keep_alive", "http_request", "tarpit"))),
			beside: map[string]object{"monitor_uri": {"mode": "http", "default_backend": nil}, "rules.unless": {"rules": list{object{"backend": "fixture"}}}},
		},
		{
			kind: "virtcluster_vip",
			base: object{"name": "hunted", "addresses": list{"10.0.100.77/24"}, "members": object{"a": object{"service_node": "$node4.id", "interface": "eth0"}}},
			samples: merged(map[string]any{
				"addresses": list{"10.0.100.77/24"}, "advert_int": 2, "auth_pass": "secret", "auth_pass_wo": "secret", "auth_pass_wo_version": 1, "garp": object{"master_delay": 5},
				"garp.lower_prio_delay": 5, "garp.lower_prio_repeat": 5, "garp.master_delay": 5, "garp.master_refresh": 60, "garp.master_refresh_repeat": 2, "garp.master_repeat": 5,
				"members": object{"a": object{"service_node": "$node4.id", "interface": "eth0", "address": "10.0.100.104", "priority": 200, "state": "MASTER"}}, "members.service_node": "$node4.id", "members.interface": "eth0", "members.address": "10.0.100.104",
				"members.priority": 200, "members.state": "MASTER", "name": "hunted", "preempt": false, "preempt_delay": 3, "sync_group": "hunters",
				"track": list{object{"name": "t", "interface": "eth0"}}, "track.fall": 2, "track.interface": "eth0", "track.interval": 2, "track.name": "t", "track.process": "sshd", "track.rise": 2,
				"track.script": "/usr/bin/true", "track.script_content": "#!/bin/sh\nexit 0\n", "track.timeout": 3, "track.user": "root", "track.weight": 10, "unicast": false, "version": 2, "virtual_router_id": 77,
			}, timeoutsAll),
			beside: map[string]object{
				"auth_pass_wo": {"auth_pass_wo_version": 1}, "auth_pass_wo_version": {"auth_pass_wo": "secret"},
				"track.script": {"track": list{object{"name": "t"}}}, "track.script_content": {"track": list{object{"name": "t"}}}, "track.process": {"track": list{object{"name": "t"}}},
				"track.rise": {"track": list{object{"name": "t", "script": "/usr/bin/true"}}}, "track.fall": {"track": list{object{"name": "t", "script": "/usr/bin/true"}}},
				"track.interval": {"track": list{object{"name": "t", "script": "/usr/bin/true"}}}, "track.timeout": {"track": list{object{"name": "t", "script": "/usr/bin/true"}}},
				"track.user": {"track": list{object{"name": "t", "script": "/usr/bin/true"}}},
			},
			unread: []string{"auth_pass", "unicast", "auth_pass_wo_version", "timeouts"},
			importID: func(v cty.Value) string {
				var all []string
				for it := v.GetAttr("members").ElementIterator(); it.Next(); {
					name, m := it.Element()
					all = append(all, name.AsString()+"="+text(m, "service_node"))
				}
				return strings.Join(all, ",") + "#" + text(v, "name")
			},
		},
	}
}
