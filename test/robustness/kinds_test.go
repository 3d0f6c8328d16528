package robustness

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
)

// machines are the service nodes of the sandbox.
var machines = []string{"svc-1", "svc-2"}

func addressOf(i int) string { return fmt.Sprintf("10.0.100.%d", 101+i) }
func lanOf(machine string) string {
	return "10.19.41.10" + strings.TrimPrefix(machine, "svc-")
}

// claim is a thing that a resource has where it exists, and what a real client may see of it: any value where there is none
// named. A thing that begins with "name" is a name that one alone may have; no client sees it.
type claim struct {
	Thing  string
	Values []string
}

// kind is a type of resource: how one is drawn, which attributes stay in a change of it, and what it has. draw returns nil where the
// configuration lacks what it would refer to. claims takes the attributes of a configuration and of a state alike.
type kind struct {
	name   string
	weight int
	// needs is the type of which a configuration has to have one: where it has, and none of this type, this one is drawn more often.
	needs    string
	identity []string
	draw     func(d drawer) map[string]any
	claims   func(a attributes) []claim
}

// drawer draws the attributes of a resource of a state. was has those of a resource that is changed.
type drawer struct {
	*rand.Rand
	state  int
	config configuration
	was    attributes
}

// addressOfBlock draws an address for a block of /etc/hosts of a state. Two blocks may well have one address, but then each would be no
// answer to whose it is.
func addressOfBlock(rng *rand.Rand, state, block int) string {
	return fmt.Sprintf("10.9.%d.%d", state, 10*block+1+rng.IntN(3))
}

func (d drawer) machine() string { return machines[d.IntN(len(machines))] }
func (d drawer) node(machine string) string {
	return "${virtcluster_service_node." + machine + ".id}"
}

// one returns a resource of the configuration of a kind. A node is one that stays on its hypervisor: one with snapshots or backups does not move.
func (d drawer) one(name string) (resource, bool) {
	var all []resource
	for _, r := range d.config {
		if r.Type == name && r.Attributes["hypervisor"] != far && r.Attributes["hypervisor"] != farther {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return resource{}, false
	}
	return all[d.IntN(len(all))], true
}

// storagePool is a pool for a volume: a reference where the configuration has it.
func (d drawer) storagePool() string {
	pool := fmt.Sprintf("s%d", d.IntN(2))
	if i := slices.IndexFunc(d.config, func(r resource) bool { return r.Attributes["name"] == pool && r.Type == "storage_pool" }); i >= 0 {
		return "${" + d.config[i].address() + ".name}"
	}
	return pool
}

func letter(state int) string { return string(rune('a' + state)) }

// attributes are those of one resource, of a configuration or of a state.
type attributes map[string]any

func (a attributes) text(name string) string {
	if a[name] == nil {
		return ""
	}
	if number, is := a[name].(float64); is { // as it was read from a file
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return fmt.Sprint(a[name])
}

var (
	endpoint    = regexp.MustCompile(`10\.0\.100\.10(\d)|(?:\b|_)svc-(\d)`)
	farEndpoint = regexp.MustCompile(`10\.0\.100\.1(\d)\b|(?:\b|_)hv-(\d)`)
	inReference = regexp.MustCompile(`svc-\d_(\w+)\.id`)
)

// machine is the service node or the further hypervisor that an attribute names, by its id or by a reference.
func (a attributes) machine(name string) string {
	if m := endpoint.FindStringSubmatch(a.text(name)); m != nil {
		return "svc-" + m[1] + m[2]
	}
	if m := farEndpoint.FindStringSubmatch(a.text(name)); m != nil {
		return "hv-" + m[1] + m[2]
	}
	return ""
}

// named is the last part of an id, or of the key that a reference has, which is the machine's name and it.
func (a attributes) named(name string) string {
	if m := inReference.FindStringSubmatch(a.text(name)); m != nil {
		return m[1]
	}
	return a.text(name)[strings.LastIndexAny(a.text(name), "#/")+1:]
}

func object(v any) map[string]any { o, _ := v.(map[string]any); return o }

func list(v any) []any {
	switch l := v.(type) {
	case []any:
		return l
	case []string:
		var all []any
		for _, s := range l {
			all = append(all, s)
		}
		return all
	}
	return nil
}

// firstOf returns the first object of a list, which a read may have found empty.
func firstOf(v any) attributes {
	all := list(v)
	if len(all) == 0 {
		return nil
	}
	return object(all[0])
}

// spellRanges spells ranges of addresses as a ledger does, where one that is a whole prefix is written as that.
func spellRanges(text string) string {
	all := strings.Fields(text)
	for i, each := range all {
		if run, err := addresspool.ParseRange(each); err == nil {
			all[i] = addresspool.FormatRange(run)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func words(v any) string {
	var all []string
	for _, each := range list(v) {
		all = append(all, fmt.Sprint(each))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// mostGiB is how large a volume is drawn at most.
const mostGiB = 2

// The universe is small, so that several want the same.
var kinds = slices.Concat(firstKinds, namingKinds, hostKinds, otherKinds, farKinds)

var firstKinds = []kind{
	{name: "hosts_file", weight: 4, identity: []string{"host", "name"},
		draw: func(d drawer) map[string]any {
			block := d.IntN(3)
			return map[string]any{"host": d.node(d.machine()), "name": fmt.Sprintf("h%d", block), "entries": map[string]any{
				addressOfBlock(d.Rand, d.state, block): []string{fmt.Sprintf("x%d.%s.example", d.IntN(4), letter(d.state))},
			}}
		},
		claims: func(a attributes) []claim {
			m := a.machine("host")
			all := []claim{{Thing: "name " + m + " hosts " + a.text("name")}}
			for ip, names := range object(a["entries"]) {
				all = append(all, claim{m + " hosts " + ip, []string{words(names)}})
			}
			return all
		}},
	{name: "dns_zone", weight: 3, identity: []string{"service_node", "name", "view"},
		draw: func(d drawer) map[string]any {
			a := map[string]any{"service_node": d.node(machines[0]), "name": fmt.Sprintf("z%d.example", d.IntN(3)), "name_servers": []string{"ns1"}, "records": map[string]any{
				"ns1": map[string]any{"A": []string{"10.0.0.1"}}, "x": map[string]any{"A": []string{fmt.Sprintf("10.%d.0.%d", d.state, d.IntN(250))}},
			}}
			if view, ok := d.one("dns_view"); ok && d.IntN(2) == 0 {
				a["service_node"], a["view"] = view.Attributes["service_node"], "${"+view.address()+".name}"
			}
			return a
		},
		claims: func(a attributes) []claim {
			m := a.machine("service_node")
			x := object(object(a["records"])["x"])
			return []claim{{Thing: "name " + m + " zone " + a.text("name")}, {answerThing(a, "x."+a.text("name")), []string{words(x["A"])}}}
		}},
	{name: "dns_record_set", weight: 2, needs: "dns_zone", identity: []string{"service_node", "zone", "view", "name", "type"},
		draw: func(d drawer) map[string]any {
			zone, ok := d.one("dns_zone")
			if !ok {
				return nil
			}
			return map[string]any{"service_node": zone.Attributes["service_node"], "zone": "${" + zone.address() + ".name}", "view": zone.Attributes["view"], "name": "r" + letter(d.state), "type": "A",
				"values": []string{fmt.Sprintf("10.%d.1.%d", d.state, d.IntN(250))}}
		},
		claims: func(a attributes) []claim {
			zone := a.text("zone")
			if m := regexp.MustCompile(`svc-\d_(z\d)`).FindStringSubmatch(zone); m != nil {
				zone = m[1] + ".example"
			}
			return []claim{{answerThing(a, a.text("name")+"."+zone), []string{words(a["values"])}}}
		}},
	{name: "haproxy_backend", weight: 2, identity: []string{"service_node", "name"},
		draw: func(d drawer) map[string]any {
			return map[string]any{"service_node": d.node(d.machine()), "name": fmt.Sprintf("b%d", d.IntN(3)), "mode": "http", "servers": map[string]any{
				"s": map[string]any{"address": fmt.Sprintf("10.%d.2.%d", d.state, 1+d.IntN(250)), "port": 80},
			}}
		},
		claims: func(a attributes) []claim {
			var all []string
			for name, s := range object(a["servers"]) {
				server := attributes(object(s))
				all = append(all, fmt.Sprintf("%s=%s:%s", name, server.text("address"), server.text("port")))
			}
			slices.Sort(all)
			return []claim{{a.machine("service_node") + " backend " + a.text("name"), []string{strings.Join(all, " ")}}}
		}},
	{name: "haproxy_frontend", weight: 3, identity: []string{"service_node", "name"},
		draw: func(d drawer) map[string]any {
			return map[string]any{"service_node": d.node(d.machine()), "name": fmt.Sprintf("f%d", d.IntN(3)), "mode": "http", "timeouts": map[string]any{"client": "5s"},
				"binds":        []any{map[string]any{"address": "*", "port": 15000 + d.IntN(5)}},
				"extra_config": fmt.Sprintf("http-request return status 200 content-type text/plain string %s%d", letter(d.state), d.IntN(100))}
		},
		claims: func(a attributes) []claim {
			m := a.machine("service_node")
			bind := firstOf(a["binds"])
			fields := strings.Fields("nothing " + a.text("extra_config"))
			return []claim{{Thing: "name " + m + " frontend " + a.text("name")}, {m + " http " + bind.text("port"), []string{fields[len(fields)-1]}}}
		}},
	{name: "vip", weight: 3, identity: []string{"name", "virtual_router_id"},
		draw: func(d drawer) map[string]any {
			members := map[string]any{}
			for i, m := range machines {
				members[m] = map[string]any{"service_node": d.node(m), "interface": "eth1", "address": lanOf(m), "priority": 200 - 10*i}
			}
			if d.IntN(2) == 0 {
				delete(members, d.machine())
			}
			n := d.IntN(4)
			return map[string]any{"name": fmt.Sprintf("v%d%s", n, letter(d.state)), "addresses": []string{fmt.Sprintf("10.19.41.%d/24", 180+d.IntN(5))}, "members": members,
				"virtual_router_id": 40 + n, "auth_pass": secret[:8]}
		},
		claims: func(a attributes) []claim {
			holders := slices.Sorted(maps.Keys(object(a["members"])))
			all := []claim{{Thing: "name lan router " + a.text("virtual_router_id")}}
			for _, m := range holders {
				all = append(all, claim{Thing: "name " + m + " instance " + a.text("name")})
			}
			for _, address := range list(a["addresses"]) {
				all = append(all, claim{"lan address " + strings.TrimSuffix(fmt.Sprint(address), "/24"), holders})
			}
			return all
		}},
	{name: "address_pool", weight: 2, identity: []string{"service_node", "name"},
		draw: func(d drawer) map[string]any {
			// Pools of two machines may give out the same, on networks of their own; here both are on one.
			machine := d.machine()
			n := slices.Index(machines, machine)
			first := 200 + 10*d.state + 5*n
			return map[string]any{"service_node": d.node(machine), "name": fmt.Sprintf("p%d%s", n, letter(d.state)), "ranges": []string{fmt.Sprintf("10.19.41.%d-10.19.41.%d", first, first+2+d.IntN(3))}}
		},
		claims: func(a attributes) []claim {
			return []claim{{a.machine("service_node") + " pool " + a.text("name"), []string{spellRanges(words(a["ranges"]))}}}
		}},
	{name: "address", weight: 3, identity: []string{"pool", "key"},
		draw: func(d drawer) map[string]any {
			pool, ok := d.one("address_pool")
			if !ok {
				return nil
			}
			return map[string]any{"pool": "${" + pool.address() + ".id}", "key": fmt.Sprintf("k%d", d.IntN(4))}
		},
		claims: func(a attributes) []claim {
			m, key := a.machine("pool"), a.text("key")
			all := []claim{{Thing: "name " + m + " key " + a.named("pool") + "/" + key}}
			if ip := a.text("ip"); ip != "" {
				all = append(all, claim{"lan drawn " + ip, []string{m + "/" + a.named("pool")}})
			}
			return all
		}},
	{name: "exposed_service", weight: 5, identity: []string{"service_node", "name", "type", "pool"},
		draw: func(d drawer) map[string]any {
			m := d.machine()
			target := machines[1-slices.Index(machines, m)]
			a := map[string]any{"service_node": d.node(m), "name": fmt.Sprintf("e%d", d.IntN(3)), "targets": []string{addressOf(slices.Index(machines, target))}}
			port := map[string]any{"target_port": 7001}
			a["ports"] = map[string]any{"s": port}
			if pool, ok := d.one("address_pool"); ok && d.IntN(3) > 0 {
				port["port"] = 7001 + d.IntN(3)
				a["type"], a["pool"], a["configure_address"] = "external_ip", "${"+pool.address()+".id}", true
				return a
			}
			a["type"] = "node_port"
			if d.IntN(2) == 0 {
				port["port"] = 30000 + d.IntN(4)
			}
			return a
		},
		claims: claimExposed},
	{name: "route", weight: 1, identity: []string{"host", "cidr"},
		draw: func(d drawer) map[string]any {
			return map[string]any{"host": d.node(d.machine()), "cidr": fmt.Sprintf("10.77.%d.0/24", d.IntN(4)), "via": fmt.Sprintf("10.0.100.%d", 250+d.IntN(5))}
		},
		claims: func(a attributes) []claim {
			return []claim{{a.machine("host") + " route " + a.text("cidr"), []string{a.text("via")}}}
		}},
	{name: "network", weight: 3, identity: []string{"name"},
		draw: func(d drawer) map[string]any {
			n := d.IntN(3)
			return map[string]any{"name": fmt.Sprintf("n%d", n), "cidr": fmt.Sprintf("10.63.%d.0/24", n), "mode": "nat", "dhcp": map[string]any{"lease_seconds": 3600 + d.IntN(5)}}
		},
		claims: func(a attributes) []claim {
			return []claim{{"hypervisor network " + a.text("name"), []string{a.text("cidr")}}}
		}},
	{name: "dhcp_reservation", weight: 3, identity: []string{"network", "mac"},
		draw: func(d drawer) map[string]any {
			n := d.IntN(3)
			network := fmt.Sprintf("n%d", n)
			if i := slices.IndexFunc(d.config, func(r resource) bool { return r.Attributes["name"] == network && r.Type == "network" }); i >= 0 {
				network = "${" + d.config[i].address() + ".name}"
			}
			return map[string]any{"network": network, "mac": fmt.Sprintf("52:54:00:63:%02d:%02d", d.state, d.IntN(3)), "ip": fmt.Sprintf("10.63.%d.%d", n, 10+d.IntN(5))}
		},
		claims: func(a attributes) []claim {
			network := networkNamed(a.text("network"))
			return []claim{{"hypervisor reservation " + network + " " + a.text("mac"), []string{a.text("ip")}}, {Thing: "name reserved " + a.text("ip")}}
		}},
	{name: "storage_pool", weight: 2, identity: []string{"name", "path"},
		draw: func(d drawer) map[string]any {
			n := d.IntN(2)
			return map[string]any{"name": fmt.Sprintf("s%d", n), "path": poolDirectory(fmt.Sprintf("s%d", n))}
		},
		claims: func(a attributes) []claim {
			return []claim{{"hypervisor pool " + a.text("name"), []string{a.text("path")}}}
		}},
	{name: "volume", weight: 3, identity: []string{"name", "pool"},
		draw: func(d drawer) map[string]any {
			return map[string]any{"name": volumeNames[d.IntN(len(volumeNames))], "pool": d.storagePool(), "size_gib": 1 + d.IntN(mostGiB)}
		},
		claims: func(a attributes) []claim {
			size, _ := strconv.Atoi(a.text("size_gib"))
			return []claim{{"hypervisor volume " + poolNamed(a.text("pool")) + "/" + a.text("name"), []string{strconv.Itoa(size << 30)}}}
		}},
	{name: "node", weight: 3, needs: "storage_pool", identity: []string{"name", "root_disk", "network_interfaces"},
		draw:   drawNode,
		claims: claimNode},
	{name: "snapshot", weight: 2, needs: "node", identity: []string{"name", "nodes"},
		draw: func(d drawer) map[string]any {
			node, ok := d.one("node")
			if !ok {
				return nil
			}
			a := map[string]any{"name": fmt.Sprintf("snap%d", d.IntN(2)), "nodes": []string{"${" + node.address() + ".id}"}, "quiesce": "none"}
			if d.was != nil || d.IntN(2) == 0 {
				a["revert"] = 1 + d.IntN(3)
			}
			return a
		},
		claims: func(a attributes) []claim {
			// A state knows the node by its id, and its name by the files of its disks.
			of := lastOf(aNode, words(a["nodes"])+" "+fmt.Sprint(a["per_node"])) + "/" + a.text("name")
			return []claim{{"hypervisor snapshot " + of, []string{"there"}}, {"hypervisor layers " + of, []string{"there"}}}
		}},
	{name: "backup", weight: 2, needs: "node", identity: []string{"name", "node", "target", "disks"},
		draw: func(d drawer) map[string]any {
			node, ok := d.one("node")
			pool, stored := d.one("storage_pool")
			if !ok || !stored {
				return nil
			}
			a := map[string]any{
				"name": fmt.Sprintf("back%d", d.IntN(2)), "node": "${" + node.address() + ".id}", "disks": []string{"root"}, "target": map[string]any{"pool": "${" + pool.address() + ".name}"}, "quiesce": "none",
			}
			if d.IntN(2) == 0 {
				a["generation"] = 1 + d.IntN(3)
			}
			base := slices.IndexFunc(d.config, func(r resource) bool {
				return r.Type == "backup" && r.Attributes["name"] == "back0" && r.Attributes["node"] == a["node"]
			})
			if base >= 0 && a["name"] == "back1" && d.IntN(2) == 0 {
				a["incremental_from"] = "${" + d.config[base].address() + ".checkpoint}"
			}
			return a
		},
		claims: func(a attributes) []claim {
			// A state knows the node by its id, and its name by the file.
			node := lastOf(aNode, a.text("node")+" "+fmt.Sprint(a["volumes"]))
			moment := a.text("name")
			if generation := a.text("generation"); generation != "" {
				moment += "." + generation
			}
			return []claim{{Thing: "hypervisor volume " + poolNamed(attributes(object(a["target"])).text("pool")) + "/" + node + "-root-" + moment + ".qcow2"}, {"hypervisor checkpoint " + node + "/" + moment, []string{"there"}}}
		}},
}

// volumeNames are what volumes, nodes' disks and a person's volumes are called.
var volumeNames = []string{"vol0.qcow2", "vol1.qcow2", "m0-data.qcow2", "m1-data.qcow2"}

func claimExposed(a attributes) []claim {
	m := a.machine("service_node")
	target := strings.NewReplacer("10.0.100.10", "svc-").Replace(words(a["targets"]))
	all := []claim{{Thing: "name " + m + " exposure " + a.text("name")}}
	address := a.text("address")
	if address != "" {
		all = append(all, claim{"lan address " + address, []string{m}})
		if pool := a.named("pool"); pool != "" {
			all = append(all, claim{"lan drawn " + address, []string{a.machine("pool") + "/" + pool}})
		}
	}
	if a.text("type") == "node_port" {
		address = lanOf(m)
	}
	for _, p := range object(a["ports"]) {
		if port := attributes(object(p)).text("port"); port != "" && address != "" {
			all = append(all, claim{m + " open " + address + ":" + port, []string{target}})
		}
	}
	return all
}

// drawNode draws a node of the hypervisor, and one of the further ones, between which it moves, where there is no pool here for it or a node
// already. A machine that runs keeps its disks, as no system runs in it that would let go of one.
func drawNode(d drawer) map[string]any {
	a := map[string]any{"type": "qemu", "running": d.IntN(4) == 0, "allow_restart": true, "shutdown_timeout": "0s", "memory_mib": 64 + 16*d.IntN(3), "vcpus": 1, "wait_for": "none"}
	pool, ok := d.one("storage_pool")
	_, second := d.one("node")
	if moving := second && d.IntN(2) == 0; !ok || d.was == nil && moving || d.was["hypervisor"] != nil {
		return drawMovingNode(d, a)
	}
	in := "${" + pool.address() + ".name}"
	a["name"], a["root_disk"] = fmt.Sprintf("m%d", d.IntN(2)), map[string]any{"pool": in, "size_gib": 1}
	if d.IntN(2) == 0 || d.was["disks"] != nil && d.was["running"] == true {
		a["disks"] = map[string]any{"data": map[string]any{"pool": in, "size_gib": 1}}
	}
	if network, ok := d.one("network"); ok {
		cidr := fmt.Sprint(network.Attributes["cidr"])
		a["network_interfaces"] = []any{map[string]any{"network": "${" + network.address() + ".name}", "ip": strings.TrimSuffix(cidr, "0/24") + fmt.Sprint(20+d.IntN(3))}}
	}
	return a
}

// drawMovingNode draws a node whose hypervisor is another one now and then. Its disks are in the pools that a person made for them.
func drawMovingNode(d drawer, a map[string]any) map[string]any {
	a["name"], a["hypervisor"], a["running"] = fmt.Sprintf("c%d", d.IntN(2)), []string{far, farther}[d.IntN(2)], d.IntN(4) > 0
	a["root_disk"] = map[string]any{"pool": carried, "size_gib": 1}
	if d.IntN(2) == 0 || d.was["disks"] != nil {
		a["disks"] = map[string]any{"data": map[string]any{"pool": carried, "size_gib": 1}}
	}
	if d.IntN(2) == 0 {
		a["migration"] = map[string]any{"bandwidth_mib": 512}
	}
	return a
}

func claimNode(a attributes) []claim {
	name, machine := a.text("name"), hypervisorOf(a)
	root := attributes(object(a["root_disk"]))
	all := []claim{{machine + " domain " + name, []string{a.text("memory_mib")}}, {Thing: machine + " volume " + poolNamed(root.text("pool")) + "/" + name + "-root.qcow2"}}
	for key, disk := range object(a["disks"]) {
		d := attributes(object(disk))
		all = append(all, claim{Thing: machine + " volume " + poolNamed(d.text("pool")) + "/" + name + "-" + key + ".qcow2"})
	}
	for _, i := range list(a["network_interfaces"]) {
		nic := attributes(object(i))
		network := networkNamed(nic.text("network"))
		if mac := nic.text("mac"); mac != "" {
			all = append(all, claim{"hypervisor reservation " + network + " " + mac, []string{nic.text("ip")}})
		}
		all = append(all, claim{Thing: "name reserved " + nic.text("ip")})
	}
	return all
}

var (
	aNetwork = regexp.MustCompile(`\bn\d`)
	aPool    = regexp.MustCompile(`\bs\d`)
	aNode    = regexp.MustCompile(`\bm\d`)
	aView    = regexp.MustCompile(`\bv\d`)
)

// networkNamed and poolNamed are the names of what an attribute refers to: keys end with them.
func networkNamed(text string) string { return lastOf(aNetwork, text) }
func poolNamed(text string) string    { return lastOf(aPool, text) }

func lastOf(pattern *regexp.Regexp, text string) string {
	text = strings.ReplaceAll(text, "_", " ")
	all := pattern.FindAllString(text, -1)
	if len(all) == 0 {
		return text
	}
	return all[len(all)-1]
}

// keyOf is what a new resource is called in its state: the machine, where it is on one, and its name.
func keyOf(r resource) string {
	a := attributes(r.Attributes)
	var parts []string
	for _, name := range []string{"service_node", "host", "pool", "boot_server", "ovn", "central"} {
		if m := a.machine(name); m != "" {
			parts = append(parts, m)
			break
		}
	}
	for _, name := range []string{"name", "key", "cidr", "mac", "path", "target", "tcp"} {
		if text := a.text(name); text != "" {
			parts = append(parts, regexp.MustCompile(`[^a-zA-Z0-9]+`).ReplaceAllString(strings.TrimSuffix(text, ".example"), "-"))
			break
		}
	}
	key := strings.Join(parts, "_")
	if key[0] >= '0' && key[0] <= '9' {
		key = "r" + key
	}
	return key
}

// only narrows what is drawn by names of kinds, habits and faults.
var only = regexp.MustCompile(os.Getenv("ROBUSTNESS_ONLY"))

func kindNamed(name string) kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
}

// claimsOf returns what a resource of a type has.
func claimsOf(kind string, a map[string]any) []claim { return kindNamed(kind).claims(a) }

// secret is what no file that others can read may have, no log, and no process list.
const secret = "S3cr3tOfTheTest"

// TestEveryTypeIsDrawn has a kind for every resource type of the provider: one that is forgotten is never tried beside others.
func TestEveryTypeIsDrawn(t *testing.T) {
	all := append(names(kinds), "service_node") // which is there for whoever needs one
	schema, err := provider.Server("test").GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for name := range schema.ResourceSchemas {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains(all, strings.TrimPrefix(name, "virtcluster_")) {
				t.Error("no kind draws it")
			}
		})
	}
}

// TestClaims has each kind claim of what it draws what it claims of a state that has it, under a key that a rename made.
func TestClaims(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := &world{rng: rand.New(rand.NewPCG(1, 0)), model: newModel()}
			s := &state{name: "b", number: 1}
			config := w.oneOfEach(s)
			i := slices.IndexFunc(config, func(r resource) bool { return r.Type == k.name })
			if i < 0 {
				t.Fatal("none is drawn")
			}
			r := config[i]
			if k.claims(r.Attributes) == nil && k.name != "readiness" {
				t.Errorf("%v has nothing", r.Attributes)
			}
			if services := (configuration{r}).services(nil); serviceOf[k.name] != "" && len(services) == 0 {
				t.Errorf("%v needs %v", r.Attributes, services)
			}
			// A state has JSON's lists, values of its own, and ids instead of references.
			text, _ := json.Marshal(r.Attributes)
			node := regexp.MustCompile(`\$\{virtcluster_service_node\.svc-(\d)\.id\}`)
			id := regexp.MustCompile(`\$\{virtcluster_\w+\.svc-(\d)_(\w+)\.id\}`)
			engine := regexp.MustCompile(`\$\{virtcluster_ovn\.hv-(\d)\.id\}`)
			name := regexp.MustCompile(`\$\{virtcluster_\w+\.(?:(?:svc|hv)-\d_)?(\w+)\.name\}`)
			zone := regexp.MustCompile(`"(z\d)"`)
			state := engine.ReplaceAllString(string(text), "ssh://root@10.0.100.1$1")
			state = id.ReplaceAllString(node.ReplaceAllString(state, "ssh://root@10.0.100.10$1?host_key=x"), "ssh://root@10.0.100.10$1#$2")
			state = zone.ReplaceAllString(name.ReplaceAllString(state, "$1"), `"$1.example"`)
			var has map[string]any
			if err := json.Unmarshal([]byte(state), &has); err != nil {
				t.Fatal(err)
			}
			if got, want := fmt.Sprint(k.claims(has)), fmt.Sprint(k.claims(r.Attributes)); got != want {
				t.Errorf("of a state it claims %s, of its configuration %s", got, want)
			}
		})
	}
}
