package hunt

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
)

// machineSubjects are what else a machine keeps, and what is nowhere but in the state.
func machineSubjects() []subject {
	return []subject{
		{
			kind: "virtcluster_external_bridge", lane: "machine5", base: object{"name": "huntbr1", "interfaces": list{object{"interface": "eth1"}}, "host": "$node5.id"},
			samples: map[string]any{
				"addresses": list{"10.19.41.105/24"}, "backend": "runtime", "gateway": "10.19.41.254", "gateways": list{"10.19.41.254", "2001:db8:41::1"}, "host": "$node5.id", "interfaces": list{object{"interface": "eth1"}}, "interfaces.interface": "eth1", "interfaces.vlan": 40, "interfaces.bond": object{"interfaces": list{"eth1"}},
				"interfaces.bond.interfaces": list{"eth1"}, "interfaces.bond.mode": "active-backup", "addressing": "none", "metric": 100, "mtu": 1400, "name": "huntbr1",
				"nameservers": list{"10.19.41.2"}, "rollback_timeout": 20, "search": list{"hunted.example"}, "stp": true, "hypervisor": "other",
			},
			beside: map[string]object{
				"gateway": {"addresses": list{"10.19.41.105/24"}}, "gateways": {"addresses": list{"10.19.41.105/24", "2001:db8:41::105/64"}}, "metric": {"addresses": list{"10.19.41.105/24"}, "gateway": "10.19.41.254"},
				"interfaces.bond": {"interfaces": list{object{"interface": "bond0"}}}, "interfaces.bond.interfaces": {"interfaces": list{object{"interface": "bond0", "bond": object{}}}}, "interfaces.bond.mode": {"interfaces": list{object{"interface": "bond0", "bond": object{"interfaces": list{"eth1"}}}}},
				"hypervisor": {"host": nil, "interfaces": list{object{"interface": "eno1"}}},
			},
		},
		{
			kind: "virtcluster_service_node", nowhere: true, lane: "machine5", base: object{"endpoint": "ssh://root@10.0.100.105", "services": list{"bind"}},
			samples: merged(map[string]any{"endpoint": "ssh://root@10.0.100.105", "host_key": hostKey("10.0.100.105"), "install_packages": true, "services": list{"bind"}}, timeoutsAll),
			unread:  []string{"timeouts"},
		},
		{
			kind: "virtcluster_route", base: object{"host": "$node2.id", "cidr": "10.231.0.0/24", "via": "10.0.100.101"},
			samples: map[string]any{"backend": "runtime", "cidr": "10.231.0.0/24", "device": "eth0", "host": "$node2.id", "metric": 50, "via": "10.0.100.101"},
		},
		{
			kind: "virtcluster_hosts_file", base: object{"host": "$node1.id", "name": "hunted", "entries": object{"10.0.0.101": list{"api.hunted.example"}}},
			samples: map[string]any{"host": "$node1.id", "name": "hunted", "entries": object{"10.0.0.101": list{"api.hunted.example"}}},
		},
		{
			kind: "virtcluster_pod_network", nowhere: true, base: object{"cidr": "10.128.0.0/14", "host_prefix": 23, "nodes": object{"a": "10.0.0.1", "b": "10.0.0.2"}},
			samples: map[string]any{"cidr": "10.128.0.0/14", "host_prefix": 23, "nodes": object{"a": "10.0.0.1", "b": "10.0.0.2"}},
			importID: func(v cty.Value) string {
				id := fmt.Sprintf("%s,%s", text(v, "cidr"), v.GetAttr("host_prefix").AsBigFloat().String())
				for it := v.GetAttr("nodes").ElementIterator(); it.Next(); {
					name, address := it.Element()
					id += "," + name.AsString() + "=" + address.AsString() + "=" + v.GetAttr("pod_cidrs").Index(name).AsString()
				}
				return id
			},
		},
		{
			kind: "virtcluster_interface", base: object{"host": "$node4.id", "name": "eth1", "addresses": list{"10.19.41.144/24"}, "rollback_timeout": 20},
			samples: map[string]any{
				"addresses": list{"10.19.41.144/24"}, "addressing": "static", "backend": "systemd-networkd", "gateway": "10.19.41.254", "gateways": list{"10.19.41.254", "2001:db8:41::1"}, "host": "$node4.id", "metric": 100, "mtu": 1400, "name": "eth1",
				"nameservers": list{"10.19.41.2"}, "rollback_timeout": 20, "routes": list{object{"cidr": "10.88.0.0/16", "via": "10.19.41.253"}}, "routes.cidr": "10.88.0.0/16", "routes.metric": 77,
				"routes.via": "10.19.41.253", "search": list{"hunted.example"},
			},
			beside: map[string]object{"gateway": {"metric": 4242}, "gateways": {"metric": 4242, "addresses": list{"10.19.41.144/24", "2001:db8:41::144/64"}}, "metric": {"gateway": "10.19.41.254"}},
			unread: []string{"gateway", "gateways"}, // one alone is found as gateway
		},
		{
			kind: "virtcluster_resolver", base: object{"host": "$node2.id", "nameservers": list{"10.19.41.10"}},
			samples: map[string]any{"backend": "auto", "domains": list{"hunted.example"}, "host": "$node2.id", "nameservers": list{"10.19.41.10"}, "search": list{"hunted.example"}},
		},
		{
			kind: "virtcluster_exposed_service", lane: "exposure", base: object{"service_node": "$node2.id", "name": "hunted", "type": "node_port", "ports": object{"http": object{"port": 30080, "target_port": 80}}, "targets": list{"10.0.100.9"}},
			samples: map[string]any{
				"address": "10.19.41.102", "configure_address": true, "interface": "eth1", "name": "hunted", "pool": "$addresses.id", "ports": object{"http": object{"port": 30080, "target_port": 80}},
				"ports.port": 30080, "ports.protocol": "udp", "ports.target_port": 80, "service_node": "$node2.id", "source_ranges": list{"10.19.41.0/24"}, "targets": list{"10.0.100.9"}, "type": "external_ip",
			},
			beside: map[string]object{"type": {"address": "10.19.41.102", "ports": object{"http": object{"port": 80}}}, "address": {"type": "external_ip"}, "pool": {"type": "external_ip"}, "interface": {"type": "external_ip", "address": "10.19.41.102"}, "configure_address": {"type": "external_ip", "address": "10.19.41.109"}},
		},
		{
			kind: "virtcluster_floating_address", lane: "exposure", base: object{"service_node": "$node2.id", "address": "10.19.41.109", "target": "10.0.100.9"},
			samples: map[string]any{
				"address": "10.19.41.109", "configure_address": true, "interface": "eth1", "pool": "$addresses.id", "ports": object{"ssh": object{"port": 2222}}, "ports.port": 2222, "ports.protocol": "udp",
				"service_node": "$node2.id", "source_ranges": list{"10.19.41.0/24"}, "target": "10.0.100.9",
			},
			beside: map[string]object{"pool": {"address": nil}},
		},
		{
			kind: "virtcluster_nfs_export", base: object{"service_node": "$node3.id", "path": "/srv/hunt-nfs", "clients": list{object{"match": "10.0.0.0/24"}}},
			samples: map[string]any{
				"clients": list{object{"match": "10.0.0.0/24"}}, "clients.match": "*.okd.example", "clients.options": list{"rw"}, "create": true, "group": "0", "owner": "root", "path": "/srv/hunt-nfs", "permissions": "0750", "service_node": "$node3.id",
			},
		},
		{
			kind: "virtcluster_address_pool", base: object{"service_node": "$node3.id", "name": "hunted", "ranges": list{"192.0.2.10-192.0.2.19"}},
			samples: map[string]any{"avoid_buggy_ips": true, "name": "hunted", "ranges": list{"192.0.2.10-192.0.2.19"}, "reserved": list{"192.0.2.13"}, "service_node": "$node3.id"},
		},
		{
			kind: "virtcluster_address", base: object{"pool": "$addresses.id", "key": "hunted"},
			samples: map[string]any{"ip": "192.0.2.119", "key": "hunted", "pool": "$addresses.id"},
		},
		{
			kind: "virtcluster_readiness", nowhere: true, base: object{"tcp": "10.0.100.101:22", "timeout": "3s"},
			samples: map[string]any{
				"ca_certificate": certificate(), "dns": "localhost", "expect": object{}, "expect.addresses": list{"127.0.0.1"}, "expect.body": "ok", "expect.status": list{200}, "from": "$node1.id", "insecure": true,
				"interval": "1s", "tcp": "10.0.100.101:22", "timeout": "3s", "triggers": object{"a": "b"}, "url": answers, "when": "destroy",
			},
			beside: map[string]object{"dns": {"tcp": nil}, "url": {"tcp": nil}, "ca_certificate": {"tcp": nil, "url": answersTLS}, "insecure": {"tcp": nil, "url": answersTLS}, "expect": {"tcp": nil, "url": answers}, "expect.addresses": {"tcp": nil, "dns": "localhost"}, "expect.status": {"tcp": nil, "url": answers}, "expect.body": {"tcp": nil, "url": answers}},
			needed: []string{"ca_certificate", "insecure"},
			unread: []string{"expect", "ca_certificate", "insecure", "interval", "timeout", "triggers", "answer", "when"},
		},
	}
}

// dataSubjects are data sources: they are planned and read, and there is nothing to destroy.
func dataSubjects() []subject {
	return []subject{
		{kind: dataPrefix + "virtcluster_dhcp_leases", base: object{"network": "fixture"}, samples: map[string]any{"hypervisor": "other", "mac": "52:54:00:aa:6c:01", "network": "fixture"}},
		{
			kind: dataPrefix + "virtcluster_dns_lookup", base: object{"server": "10.0.100.102", "name": "fixture.example", "timeout_seconds": 1},
			samples: map[string]any{
				"from": "10.0.100.254", "name": "fixture.example", "port": 53, "protocol": "tcp", "recursion": false, "server": "10.0.100.102", "service_node": "$node1.id", "timeout_seconds": 1, "type": "SOA",
			},
			beside: map[string]object{"from": {"service_node": nil}},
		},
		{
			kind: dataPrefix + "virtcluster_topology",
			base: object{"title": "hunted", "networks": object{"lan": object{"cidr": "10.0.0.0/24"}}, "machines": object{"a": object{"role": "master"}}},
			samples: map[string]any{
				"title": "hunted", "networks": object{"lan": object{"cidr": "10.0.0.0/24"}}, "networks.cidr": "10.0.0.0/24", "networks.gateway": "10.0.0.1", "networks.mode": "nat", "networks.hypervisor": "other",
				"machines": object{"a": object{"role": "master"}}, "machines.role": "master", "machines.addresses": object{"lan": "10.0.0.5"}, "machines.hypervisor": "other", "machines.state": "running",
				"vips": object{"api": object{"network": "lan", "address": "10.0.0.9"}}, "vips.network": "lan", "vips.address": "10.0.0.9", "vips.members": list{"a"}, "vips.owner": "a",
				"frontends": object{"api": object{"machines": list{"a"}}}, "frontends.machines": list{"a"}, "frontends.binds": list{"10.0.0.9:6443"}, "frontends.servers": list{"a"},
				"views": object{"in": object{"network": "lan"}}, "views.network": "lan", "views.machines": list{"a"}, "views.clients": list{"10.0.0.0/24"}, "views.zones": list{"okd.example"},
				"exposures": object{"web": object{"machine": "a", "address": "10.0.0.9"}}, "exposures.machine": "a", "exposures.address": "10.0.0.9", "exposures.ports": list{"80"}, "exposures.targets": list{"10.0.0.5"},
			},
		},
		{kind: dataPrefix + "virtcluster_inventory", base: object{"types": list{"virtcluster_network"}}, samples: map[string]any{"hypervisor": "other", "service_nodes": list{"$node2.id"}, "ovn": "$ovn.id", "types": list{"virtcluster_dns_view"}, "include": list{"nobody"}}},
		{kind: dataPrefix + "virtcluster_exposures", base: object{"service_node": "$node2.id"}, samples: map[string]any{"service_node": "$node2.id"}},
		{kind: dataPrefix + "virtcluster_haproxy_status", base: object{"service_node": "$node1.id"}, samples: map[string]any{"service_node": "$node1.id"}},
		{kind: dataPrefix + "virtcluster_host_network", base: object{"host": "$node1.id"}, samples: map[string]any{"host": "$node1.id"}},
		{kind: dataPrefix + "virtcluster_hypervisor", base: object{}, samples: map[string]any{"hypervisor": "other"}},
		{kind: dataPrefix + "virtcluster_network", base: object{"name": "fixture"}, samples: map[string]any{"name": "fixture", "hypervisor": "other"}},
		{kind: dataPrefix + "virtcluster_pool", base: object{"name": "fixture"}, samples: map[string]any{"name": "fixture", "hypervisor": "other"}},
		{kind: dataPrefix + "virtcluster_volume", base: object{"name": "fixture.qcow2", "pool": "fixture"}, samples: map[string]any{"name": "fixture.qcow2", "pool": "fixture", "hypervisor": "other"}},
		{kind: dataPrefix + "virtcluster_image", base: object{"name": "fixture", "pool": "fixture"}, samples: map[string]any{"name": "fixture", "pool": "fixture", "hypervisor": "other"}},
		{kind: dataPrefix + "virtcluster_node", base: object{"name": "fixture"}, samples: map[string]any{"name": "fixture", "hypervisor": "other"}},
		{kind: dataPrefix + "virtcluster_nodes", base: object{}, samples: map[string]any{"hypervisor": "other", "ovn": "$ovn.id", "labels": object{"a": "b"}, "role": "worker"}},
		{kind: dataPrefix + "virtcluster_vip_status", base: object{"vip": "a=$node4.id#hunted"}, samples: map[string]any{"vip": "a=$node4.id#hunted"}},
	}
}
