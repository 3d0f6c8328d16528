package provider_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// planned is a resource of a plan: its type without the prefix, and its configuration in JSON.
type planned struct{ kind, config string }

const (
	crossNetwork = `{"name": "n", "cidr": "10.0.0.0/24", "dhcp": {"ranges": [{"start": "10.0.0.210", "end": "10.0.0.240"}]}}`
	crossListing = `{"name": "n", "cidr": "10.0.0.0/24", "dhcp": {"hosts": {"52:54:00:00:00:08": {"ip": "10.0.0.7"}}}}`
	crossOn      = `"service_node": "ssh://root@10.0.0.100", `
)

func crossVIP(name, address string, id int) string {
	member := func(host string) string {
		return fmt.Sprintf(`{"service_node": "ssh://root@%s", "interface": "eth0", "address": "%s"}`, host, host)
	}
	return fmt.Sprintf(`{"name": %q, "addresses": [%q], "virtual_router_id": %d, "members": {"a": %s, "b": %s}}`, name, address, id, member("10.0.0.100"), member("10.0.0.101"))
}

// crossChecks are the checks of resources of one plan with each other, as the guide lists them. The first says of the second, and the
// second of the first, what each message must name; where only one order can see it, the other is "".
var crossChecks = []struct {
	name          string
	first, second planned
	summary       string
	names         [2]string // what the message names: at the second where the first came first, and the other way round
}{
	{"one name twice", planned{"network", crossNetwork}, planned{"network", `{"name": "n", "cidr": "10.1.0.0/24"}`}, "Described twice", [2]string{`network "n"`, `network "n"`}},
	{"one VIP twice", planned{"vip", crossVIP("v", "10.0.0.250/24", 7)}, planned{"vip", crossVIP("v", "10.0.0.250/24", 8)}, "Described twice", [2]string{`VIP "v"`, `VIP "v"`}},
	{"one zone in two spellings", planned{"dns_zone", `{` + crossOn + `"name": "z.example"}`}, planned{"dns_zone", `{` + crossOn + `"name": "Z.Example."}`}, "Described twice", [2]string{`zone "/z.example"`, `zone "/z.example"`}},
	{"one machine with its host key and without", planned{"haproxy_backend", `{` + crossOn + `"name": "b"}`}, planned{"haproxy_backend", `{"service_node": "ssh://root@10.0.0.100?host_key=AAAAAAAAAAAAAAAA", "name": "b"}`}, "Described twice", [2]string{`HAProxy backend "b"`, `HAProxy backend "b"`}},
	{"subnets", planned{"network", crossNetwork}, planned{"network", `{"name": "m", "cidr": "10.0.0.128/25"}`}, "Overlapping subnets", [2]string{`network "n"`, `network "m"`}},
	{"pods in a network", planned{"network", crossNetwork}, planned{"pod_network", `{"cidr": "10.0.0.0/16", "host_prefix": 24, "nodes": {"a": "10.9.0.1"}}`}, "Overlapping subnets", [2]string{`network "n"`, "pod network 10.0.0.0/16"}},
	{"bridge", planned{"network", `{"name": "n", "cidr": "10.0.0.0/24", "bridge": "br7"}`}, planned{"network", `{"name": "m", "cidr": "10.1.0.0/24", "bridge": "br7"}`}, "Bridge name taken", [2]string{`network "n"`, `network "m"`}},
	{"bridge of a host", planned{"network", `{"name": "n", "cidr": "10.0.0.0/24", "bridge": "br7"}`}, planned{"external_bridge", `{"name": "br7", "interfaces": [{"interface": "eno1"}]}`}, "Bridge name taken", [2]string{`network "n"`, `external bridge "br7"`}},
	{"MAC address", planned{"node", `{"name": "a", "network_interfaces": [{"network": "x", "mac": "52:54:00:00:00:01"}]}`}, planned{"node", `{"name": "b", "network_interfaces": [{"network": "y", "mac": "52:54:00:00:00:01"}]}`}, "Taken by another resource", [2]string{`node "a"`, `node "b"`}},
	{"address of two nodes", planned{"node", `{"name": "a", "network_interfaces": [{"network": "n", "ip": "10.0.0.7"}]}`}, planned{"node", `{"name": "b", "network_interfaces": [{"network": "n", "ip": "10.0.0.7"}]}`}, "Taken by another resource", [2]string{`node "a"`, `node "b"`}},
	{"address inside a guest", planned{"node", `{"name": "a", "network_interfaces": [{"network": "n", "ip": "10.0.0.7"}]}`}, planned{"node", `{"name": "b", "network_interfaces": [{"network": "n", "addresses": ["10.0.0.7/24"]}]}`}, "Taken by another resource", [2]string{`node "a"`, `node "b"`}},
	{"reserved and a node's", planned{"dhcp_reservation", `{"network": "n", "mac": "52:54:00:00:00:09", "ip": "10.0.0.7"}`}, planned{"node", `{"name": "b", "network_interfaces": [{"network": "n", "ip": "10.0.0.7"}]}`}, "", [2]string{"reservation of 10.0.0.7", `node "b"`}},
	{"two reservations of an address", planned{"dhcp_reservation", `{"network": "n", "mac": "52:54:00:00:00:08", "ip": "10.0.0.7"}`}, planned{"dhcp_reservation", `{"network": "n", "mac": "52:54:00:00:00:09", "ip": "10.0.0.7"}`}, "Address taken by another resource", [2]string{"52:54:00:00:00:08", "52:54:00:00:00:09"}},
	{"two reservations of a machine", planned{"dhcp_reservation", `{"network": "n", "mac": "52:54:00:00:00:08", "ip": "10.0.0.7"}`}, planned{"dhcp_reservation", `{"network": "n", "mac": "52:54:00:00:00:08", "ip": "10.0.0.8"}`}, "Machine has a reservation already", [2]string{"10.0.0.7", "10.0.0.8"}},
	{"two reservations of a name", planned{"dhcp_reservation", `{"network": "n", "mac": "52:54:00:00:00:08", "ip": "10.0.0.7", "hostname": "h"}`}, planned{"dhcp_reservation", `{"network": "n", "mac": "52:54:00:00:00:09", "ip": "10.0.0.8", "hostname": "h"}`}, "Name taken by another resource", [2]string{"10.0.0.7", "10.0.0.8"}},
	{"gateway's address", planned{"network", crossNetwork}, planned{"node", `{"name": "b", "network_interfaces": [{"network": "n", "ip": "10.0.0.1"}]}`}, "", [2]string{`network "n"`, `node "b"`}},
	{"reservation in a range", planned{"network", crossNetwork}, planned{"dhcp_reservation", `{"network": "n", "mac": "52:54:00:00:00:09", "ip": "10.0.0.215"}`}, "", [2]string{`etwork "n"`, "reservation of 10.0.0.215"}},
	{"node in a range", planned{"network", crossNetwork}, planned{"node", `{"name": "b", "network_interfaces": [{"network": "n", "ip": "10.0.0.215"}]}`}, "", [2]string{`network "n"`, `node "b"`}},
	{"virtual address of a node", planned{"vip", crossVIP("v", "10.0.0.9/24", 7)}, planned{"node", `{"name": "b", "network_interfaces": [{"network": "n", "ip": "10.0.0.9"}]}`}, "", [2]string{`VIP "v"`, `node "b"`}},
	{"virtual address inside a guest", planned{"vip", crossVIP("v", "10.0.0.9/24", 7)}, planned{"node", `{"name": "b", "network_interfaces": [{"bridge": "br7", "addresses": ["10.0.0.9/24"]}]}`}, "", [2]string{`VIP "v"`, `node "b"`}},
	{"virtual address reserved", planned{"vip", crossVIP("v", "10.0.0.9/24", 7)}, planned{"dhcp_reservation", `{"network": "n", "mac": "52:54:00:00:00:09", "ip": "10.0.0.9"}`}, "", [2]string{`VIP "v"`, "reservation of 10.0.0.9"}},
	{"virtual address of a gateway", planned{"vip", crossVIP("v", "10.0.0.1/24", 7)}, planned{"network", crossNetwork}, "", [2]string{`VIP "v"`, `network "n"`}},
	{"virtual address in a range", planned{"network", crossNetwork}, planned{"vip", crossVIP("v", "10.0.0.215/24", 7)}, "Virtual address in a DHCP range", [2]string{`network "n"`, `"v"`}},
	{"pool in a range", planned{"network", crossNetwork}, planned{"address_pool", `{` + crossOn + `"name": "p", "ranges": ["10.0.0.230-10.0.0.250"]}`}, "", [2]string{`network "n"`, `address pool "p"`}},
	{"pool and a node", planned{"address_pool", `{` + crossOn + `"name": "p", "ranges": ["10.0.0.5-10.0.0.9"]}`}, planned{"node", `{"name": "b", "network_interfaces": [{"network": "n", "ip": "10.0.0.7"}]}`}, "", [2]string{`address pool "p"`, `node "b"`}},
	{"pool and an address inside a guest", planned{"address_pool", `{` + crossOn + `"name": "p", "ranges": ["10.0.0.5-10.0.0.9"]}`}, planned{"node", `{"name": "b", "network_interfaces": [{"bridge": "br7", "addresses": ["10.0.0.7/24"]}]}`}, "", [2]string{`address pool "p"`, `node "b"`}},
	{"pool and a reservation", planned{"address_pool", `{` + crossOn + `"name": "p", "ranges": ["10.0.0.5-10.0.0.9"]}`}, planned{"dhcp_reservation", `{"network": "n", "mac": "52:54:00:00:00:09", "ip": "10.0.0.7"}`}, "", [2]string{`address pool "p"`, "reservation of 10.0.0.7"}},
	{"pool and a gateway", planned{"address_pool", `{` + crossOn + `"name": "p", "ranges": ["10.0.0.1-10.0.0.9"]}`}, planned{"network", crossNetwork}, "", [2]string{`address pool "p"`, `network "n"`}},
	{"pool and an entry of dhcp.hosts", planned{"address_pool", `{` + crossOn + `"name": "p", "ranges": ["10.0.0.5-10.0.0.9"]}`}, planned{"network", crossListing}, "", [2]string{`address pool "p"`, `network "n"`}},
	{"pool and a virtual address", planned{"address_pool", `{` + crossOn + `"name": "p", "ranges": ["10.0.0.5-10.0.0.9"]}`}, planned{"vip", crossVIP("v", "10.0.0.9/24", 7)}, "", [2]string{`address pool "p"`, `VIP "v"`}},
	{"port of a frontend that is led away", planned{"exposed_service", `{` + crossOn + `"name": "e", "type": "external_ip", "address": "10.19.41.9", "ports": {"p": {"port": 80}}, "targets": ["10.0.0.1"]}`}, planned{"haproxy_frontend", `{` + crossOn + `"name": "f", "binds": [{"address": "10.19.41.9", "port": 80}]}`}, "", [2]string{`xposed service "e"`, `rontend "f"`}},
	{"floating address and a frontend", planned{"floating_address", `{` + crossOn + `"address": "10.19.41.9", "target": "10.0.0.7"}`}, planned{"haproxy_frontend", `{` + crossOn + `"name": "f", "binds": [{"address": "10.19.41.9", "port": 80}]}`}, "", [2]string{"loating address for 10.0.0.7", `rontend "f"`}},
	{"reservation outside", planned{"network", crossNetwork}, planned{"dhcp_reservation", `{"network": "n", "mac": "52:54:00:00:00:09", "ip": "10.0.1.5"}`}, "Address outside the network", [2]string{`etwork "n"`, ""}},
	{"node outside", planned{"network", crossNetwork}, planned{"node", `{"name": "b", "network_interfaces": [{"network": "n", "ip": "10.0.1.5"}]}`}, "Address outside the network", [2]string{`network "n"`, ""}},
	{"node without DHCP", planned{"network", `{"name": "n", "cidr": "10.0.0.0/24"}`}, planned{"node", `{"name": "b", "network_interfaces": [{"network": "n", "ip": "10.0.0.5"}]}`}, "Network without DHCP", [2]string{`network "n"`, ""}},
	{"virtual router id", planned{"vip", crossVIP("v", "10.0.0.250/24", 7)}, planned{"vip", crossVIP("w", "10.0.0.251/24", 7)}, "", [2]string{`"v"`, `"w"`}},
	{"virtual address", planned{"vip", crossVIP("v", "10.0.0.250/24", 7)}, planned{"vip", crossVIP("w", "10.0.0.250/24", 8)}, "", [2]string{`"v"`, `"w"`}},
	{"pool of storage", planned{"storage_pool", `{"name": "p", "type": "dir", "path": "/p"}`}, planned{"storage_pool", `{"name": "q", "type": "dir", "path": "/p"}`}, "Directory taken", [2]string{`storage pool "p"`, `storage pool "q"`}},
	{"volume", planned{"volume", `{"name": "v", "pool": "p", "size_gib": 1}`}, planned{"image", `{"name": "v", "pool": "p", "source": "/v.qcow2"}`}, "Volume name taken", [2]string{"volume v in", `image "v"`}},
	{"port", planned{"haproxy_frontend", `{` + crossOn + `"name": "f", "binds": [{"address": "10.0.0.250", "port": 80}]}`}, planned{"haproxy_frontend", `{` + crossOn + `"name": "g", "binds": [{"address": "10.0.0.250", "port": 80}]}`}, "Address in use", [2]string{`rontend "f"`, `rontend "g"`}},
	{"modes", planned{"haproxy_backend", `{` + crossOn + `"name": "b", "mode": "tcp", "servers": {"a": {"address": "10.0.0.1", "port": 80}}}`}, planned{"haproxy_frontend", `{` + crossOn + `"name": "f", "mode": "http", "default_backend": "b", "binds": [{"address": "10.0.0.250", "port": 80}]}`}, "Modes that do not fit", [2]string{`backend "b"`, `rontend "f"`}},
	{"views", planned{"dns_view", `{` + crossOn + `"name": "all", "order": 10, "match_clients": ["any"]}`}, planned{"dns_view", `{` + crossOn + `"name": "internal", "order": 20, "match_clients": ["10.0.0.0/8"]}`}, "View that is never asked", [2]string{`"all"`, `"internal"`}},
	{"records", planned{"dns_zone", `{` + crossOn + `"name": "z.example", "records": {"www": {"A": ["10.0.0.1"]}}}`}, planned{"dns_record_set", `{` + crossOn + `"zone": "z.example", "name": "www", "type": "A", "values": ["10.0.0.2"]}`}, "", [2]string{"z.example", "www A"}},
	{"record sets", planned{"dns_record_set", `{` + crossOn + `"zone": "z.example", "name": "www", "type": "A", "values": ["10.0.0.1"]}`}, planned{"dns_record_set", `{` + crossOn + `"zone": "z.example", "name": "www", "type": "A", "values": ["10.0.0.2"]}`}, "Record set twice", [2]string{"www A", "www A"}},
	{"CNAME", planned{"dns_record_set", `{` + crossOn + `"zone": "z.example", "name": "www", "type": "A", "values": ["10.0.0.1"]}`}, planned{"dns_record_set", `{` + crossOn + `"zone": "z.example", "name": "www", "type": "CNAME", "values": ["a.example."]}`}, "", [2]string{`"www"`, `"www"`}},
	{"exposed", planned{"exposed_service", `{` + crossOn + `"name": "e", "type": "load_balancer", "address": "10.19.41.9", "ports": {"p": {"port": 80}}, "targets": ["10.0.0.1"]}`}, planned{"exposed_service", `{` + crossOn + `"name": "f", "type": "load_balancer", "address": "10.19.41.9", "ports": {"p": {"port": 80}}, "targets": ["10.0.0.2"]}`}, "Exposed twice", [2]string{`"e"`, `"f"`}},
	{"route", planned{"route", `{"host": "ssh://root@10.0.0.100", "cidr": "10.5.0.0/16", "via": "10.0.0.1"}`}, planned{"route", `{"host": "ssh://root@10.0.0.100", "cidr": "10.5.0.0/16", "via": "10.0.0.2"}`}, "", [2]string{"10.5.0.0/16 via 10.0.0.1", "10.5.0.0/16 via 10.0.0.2"}},
	{"interface", planned{"interface", `{"host": "ssh://root@10.0.0.100", "name": "eth1", "addresses": ["10.5.0.1/24"]}`}, planned{"interface", `{"host": "ssh://root@10.0.0.100", "name": "eth1", "addresses": ["10.5.0.2/24"]}`}, "", [2]string{"10.5.0.1/24", "10.5.0.2/24"}},
	{"resolver", planned{"resolver", `{"host": "ssh://root@10.0.0.100", "nameservers": ["10.0.0.1"]}`}, planned{"resolver", `{"host": "ssh://root@10.0.0.100", "nameservers": ["10.0.0.2"]}`}, "", [2]string{"10.0.0.1\"", "10.0.0.2\""}},
	{"hosts-file block", planned{"hosts_file", `{"host": "ssh://root@10.0.0.100", "entries": {"10.5.0.1": ["a"]}}`}, planned{"hosts_file", `{"host": "ssh://root@10.0.0.100", "entries": {"10.5.0.2": ["b"]}}`}, "", [2]string{"10.5.0.1", "10.5.0.2"}},
	{"VRRP instance", planned{"vip", crossVIP("v", "10.0.0.250/24", 7)}, planned{"vip", crossVIP("v", "10.0.0.251/24", 8)}, "Conflict with another VIP", [2]string{"10.0.0.250", "10.0.0.251"}},
	{"floating address", planned{"floating_address", `{` + crossOn + `"address": "10.19.41.9", "target": "10.0.0.7"}`}, planned{"floating_address", `{` + crossOn + `"address": "10.19.41.9", "target": "10.0.0.8"}`}, "Exposed twice", [2]string{"for 10.0.0.7", "for 10.0.0.8"}},
	{"floating address and a port of it", planned{"floating_address", `{` + crossOn + `"address": "10.19.41.9", "target": "10.0.0.7"}`}, planned{"exposed_service", `{` + crossOn + `"name": "e", "type": "load_balancer", "address": "10.19.41.9", "ports": {"p": {"port": 80}}, "targets": ["10.0.0.1"]}`}, "Exposed twice", [2]string{"floating address for 10.0.0.7", `exposed service "e"`}},
	{"entry of dhcp.hosts and a node", planned{"network", crossListing}, planned{"node", `{"name": "b", "network_interfaces": [{"network": "n", "mac": "52:54:00:00:00:09", "ip": "10.0.0.7"}]}`}, "", [2]string{`network "n"`, `node "b"`}},
	{"entry of dhcp.hosts and an address inside a guest", planned{"network", crossListing}, planned{"node", `{"name": "b", "network_interfaces": [{"network": "n", "mac": "52:54:00:00:00:09", "addresses": ["10.0.0.7/24"]}]}`}, "", [2]string{`network "n"`, `node "b"`}},
	{"entry of dhcp.hosts and a reservation", planned{"network", crossListing}, planned{"dhcp_reservation", `{"network": "n", "mac": "52:54:00:00:00:09", "ip": "10.0.0.7"}`}, "", [2]string{`etwork "n"`, "reservation of 10.0.0.7"}},
}

// plannedBy plans resources in their order, and returns what is said of the last.
func plannedBy(t *testing.T, server tfprotov6.ProviderServer, resources ...planned) (all []*tfprotov6.Diagnostic) {
	t.Helper()
	private := map[planned]*[]byte{} // goes from one plan of a resource to its next
	for i, r := range resources {
		if private[r] == nil {
			private[r] = new([]byte)
		}
		all = refusalsBy(t, server, "virtcluster_"+r.kind, r.config, private[r])
		if i < len(resources)-1 && len(all) > 0 {
			t.Errorf("%s alone: %v", r.kind, texts(all))
		}
	}
	return all
}

func TestResourcesOfAPlanAreComparedInAnyOrderAndNeverWithThemselves(t *testing.T) {
	t.Parallel()
	var found []string // as the guide lists them: what is said by no rule, which it lists by themselves
	ran := 0
	for _, c := range crossChecks {
		t.Run(c.name, func(t *testing.T) {
			ran++
			for order, pair := range [][2]planned{{c.first, c.second}, {c.second, c.first}} {
				if c.names[order] == "" {
					continue
				}
				// Each is planned twice, as Terraform does, before the other one is.
				all := plannedBy(t, offline(t), pair[0], pair[0], pair[1])
				named := slices.IndexFunc(all, func(d *tfprotov6.Diagnostic) bool {
					return strings.Contains(d.Summary, c.summary) && strings.Contains(d.Detail, c.names[order])
				})
				if named < 0 {
					t.Errorf("%s, then %s: want %q to name %q, not %v", pair[0].kind, pair[1].kind, c.summary, c.names[order], texts(all))
					continue
				}
				if slices.ContainsFunc(plan.Rules, func(r plan.Rule) bool { return r.Words(all[named].Summary, all[named].Detail) }) {
					continue
				}
				found = append(found, fmt.Sprintf("| %s | %s | %s | %s: %s |", c.name, pair[0].kind, pair[1].kind, all[named].Summary, all[named].Detail))
			}
		})
	}
	guide, err := os.ReadFile("../../templates/guides/cross-checks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range found {
		if !strings.Contains(string(guide), row+"\n") {
			t.Errorf("the guide on cross-checks lacks this row:\n%s", row)
		}
	}
	_, table, _ := strings.Cut(string(guide), "| what | planned first | refused | message |\n|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.SplitSeq(table, "\n") {
		if !t.Failed() && ran == len(crossChecks) && !slices.Contains(found, row) {
			t.Errorf("the guide on cross-checks has a row that no check says any more:\n%s", row)
		}
	}
}

// What a resource only asks others may ask too, before or after something else of the configuration.
func TestTwoMayWaitForOneTarget(t *testing.T) {
	t.Parallel()
	wait := planned{"readiness", `{"tcp": "10.0.0.1:6443"}`}
	again := planned{"readiness", `{"tcp": "10.0.0.1:6443", "timeout": "1m"}`}
	if all := plannedBy(t, offline(t), wait, again); len(all) > 0 {
		t.Errorf("it says %v", texts(all))
	}
}

// A port of every address is one of a family's: a machine leads the other family's elsewhere. One whose targets are not known yet is
// compared when they are.
func TestPortsOfEveryAddressAreThoseOfAFamily(t *testing.T) {
	t.Parallel()
	port := func(name, targets string) planned {
		return planned{"exposed_service", `{` + crossOn + `"name": "` + name + `", "type": "node_port", "ports": {"p": {"port": 30080, "target_port": 80}}, "targets": [` + targets + `]}`}
	}
	for _, c := range []struct {
		second  planned
		refused bool
	}{{port("six", `"fd00::5"`), false}, {port("four", `"10.0.0.6"`), true}} {
		t.Run(fmt.Sprint(c.second), func(t *testing.T) {
			all := plannedBy(t, offline(t), port("first", `"10.0.0.5"`), c.second)
			if refused := len(all) > 0; refused != c.refused {
				t.Errorf("%s: %v", c.second.config, texts(all))
			}
		})
	}
}

// A base configuration's global section may have no server's certificate verified: its backends need no CA then.
func TestABackendHeedsWhetherTheBaseOfThePlanVerifiesServers(t *testing.T) {
	t.Parallel()
	backend := planned{"haproxy_backend", `{` + crossOn + `"name": "b", "servers": {"a": {"address": "10.0.0.1", "port": 443, "check_ssl": true}}}`}
	for extra, refused := range map[string]bool{`ssl-server-verify  none`: false, `nbthread 2`: true} {
		t.Run(extra, func(t *testing.T) {
			base := planned{"haproxy", `{"service_node": "ssh://root@10.0.0.100", "extra_config": "` + extra + `"}`}
			if all := plannedBy(t, offline(t), base, backend); (len(all) > 0) != refused {
				t.Errorf("with %q: %v", extra, texts(all))
			}
		})
	}
}
