package robustness

import (
	"context"
	_ "embed"
	"encoding/csv"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// Further hypervisors, which are machines with systemd: the first one has machines that may have controllers, and databases of OVN that a
// person runs and states write into; the second one has nothing until a state makes OVN there.
const (
	persons = "hv-1"
	bare    = "hv-2"
)

// farMachines are the further hypervisors that the sandbox has: none where a history is replayed that needs none.
func farMachines() []string {
	return []string{persons, bare}[:min(2, len(strings.Fields(os.Getenv("SANDBOX_HYPERVISORS"))))]
}

func endpointOf(far string) string { return "ssh://root@" + acctest.Address(far) }

// far and farther are what the provider calls the further hypervisors.
const (
	far     = "far"
	farther = "farther"
)

// carried is the pool that each of them has for machines that move from one to the other.
const carried = "carried"

// hypervisorOf is the machine that has a node.
func hypervisorOf(node attributes) string {
	switch node["hypervisor"] {
	case far:
		return persons
	case farther:
		return bare
	}
	return "hypervisor"
}

//go:embed far.sh
var farScript string

//go:embed observe-far.sh
var observeFarScript string

// prepareFar has the further hypervisors be what the beginning of a history takes.
func prepareFar(ctx context.Context, t *testing.T) error {
	t.Helper()
	for _, machine := range acctest.Hypervisors(t, len(farMachines())) {
		if out, err := acctest.Try(ctx, machine, "bash", "-c", farScript, "far.sh", machine); err != nil {
			return fmt.Errorf("prepare %s: %w: %s", machine, err, out)
		}
	}
	return nil
}

// farKinds are what further hypervisors have.
var farKinds = []kind{
	{name: "ovn", weight: 1, identity: []string{"central"},
		draw: func(d drawer) map[string]any {
			a := map[string]any{"central": []string{endpointOf(bare)}, "datapath": "userspace", "underlay_mtu": 1400 + 10*d.state + d.IntN(10)}
			if d.IntN(2) == 0 {
				a["chassis"] = map[string]any{"c": map[string]any{"endpoint": endpointOf(bare), "tunnel_ip": "172.16.0.12"}}
			}
			return a
		},
		claims: func(a attributes) []claim {
			m := a.machine("central")
			all := []claim{{m + " engine", []string{a.text("underlay_mtu")}}}
			if len(object(a["chassis"])) > 0 {
				all = append(all, claim{m + " follows", []string{"ssl:" + acctest.Address(m) + ":6642"}})
			}
			return all
		}},
	{name: "ovn_network", weight: 3, identity: []string{"ovn", "name", "cidr", "gateway"},
		draw: func(d drawer) map[string]any {
			n := d.IntN(3)
			a := map[string]any{"ovn": endpointOf(persons), "name": fmt.Sprintf("n%d", n), "cidr": fmt.Sprintf("10.50.%d.0/24", n), "gateway": fmt.Sprintf("10.50.%d.1", n), "dhcp": map[string]any{"lease_seconds": 3600 + d.IntN(50)}}
			if engine, ok := d.one("ovn"); ok && d.IntN(2) == 0 {
				a["ovn"] = "${" + engine.address() + ".id}"
			}
			return a
		},
		claims: func(a attributes) []claim {
			return []claim{{a.machine("ovn") + " segment " + a.text("name"), []string{a.text("cidr") + " " + attributes(object(a["dhcp"])).text("lease_seconds")}}}
		}},
	{name: "ovn_router", weight: 2, needs: "ovn_network", identity: []string{"ovn", "name", "networks"},
		draw: func(d drawer) map[string]any {
			network, ok := d.one("ovn_network")
			if !ok {
				return nil
			}
			via := strings.TrimSuffix(fmt.Sprint(network.Attributes["gateway"]), "1") + fmt.Sprint(10+d.IntN(50))
			return map[string]any{"ovn": network.Attributes["ovn"], "name": fmt.Sprintf("r%d", d.IntN(2)), "networks": []string{"${" + network.address() + ".name}"},
				"routes": []any{map[string]any{"cidr": fmt.Sprintf("10.12%d.0.0/16", d.state), "via": via}}}
		},
		claims: func(a attributes) []claim {
			m, network := a.machine("ovn"), networkNamed(words(a["networks"]))
			if network == "" || len(list(a["routes"])) == 0 { // somebody removed what it leads to, and the state was told
				return []claim{{Thing: m + " router " + a.text("name")}}
			}
			route := firstOf(a["routes"])
			return []claim{{m + " router " + a.text("name"), []string{fmt.Sprintf("10.50.%s.1/24 %s>%s", network[1:], route.text("cidr"), route.text("via"))}},
				{Thing: "name " + m + " gateway of " + network}}
		}},
	{name: "ovn_load_balancer", weight: 2, needs: "ovn_router", identity: []string{"ovn", "name", "router"},
		draw: func(d drawer) map[string]any {
			router, ok := d.one("ovn_router")
			if !ok {
				return nil
			}
			number := d.IntN(2) // no two listen at one address
			return map[string]any{"ovn": router.Attributes["ovn"], "name": fmt.Sprintf("b%d", number), "router": "${" + router.address() + ".name}",
				"vips": map[string]any{fmt.Sprintf("10.60.%d.%d:80", d.state, 1+2*d.IntN(125)+number): []string{"10.50.0.9:8080"}}}
		},
		claims: func(a attributes) []claim {
			var all []string
			for vip, backends := range object(a["vips"]) {
				all = append(all, vip+"="+words(backends))
			}
			slices.Sort(all)
			return []claim{{a.machine("ovn") + " balancer " + a.text("name"), []string{strings.Join(all, " ") + " on " + lastOf(aRouter, a.text("router"))}}}
		}},
	{name: "ovn_security_group", weight: 2, identity: []string{"ovn", "name"},
		draw: func(d drawer) map[string]any {
			a := map[string]any{"ovn": endpointOf(persons), "name": fmt.Sprintf("g%d", d.IntN(2)), "address_sets": map[string]any{"friends": []string{fmt.Sprintf("10.9.%d.0/24", d.state)}},
				"rules": []any{map[string]any{"direction": "ingress", "protocol": "tcp", "ports": fmt.Sprint(8000 + d.IntN(50)), "remote": "friends"}}}
			if engine, ok := d.one("ovn"); ok && d.IntN(2) == 0 {
				a["ovn"] = "${" + engine.address() + ".id}"
			}
			return a
		},
		claims: func(a attributes) []claim {
			members := words(object(a["address_sets"])["friends"])
			return []claim{{a.machine("ovn") + " group " + a.text("name"), []string{firstOf(a["rules"]).text("ports") + " from " + members}}}
		}},
	{name: "bmc", weight: 2, identity: []string{"hypervisor", "name"},
		draw: func(d drawer) map[string]any {
			return map[string]any{"hypervisor": far, "name": fmt.Sprintf("rack%d", d.IntN(2)), "address": acctest.Address(persons), "password": secret[:8], "nodes": map[string]any{
				fmt.Sprintf("w%d", d.IntN(2)): map[string]any{"port": 8400 + d.IntN(3), "ipmi_port": 6230 + d.IntN(3), "system_id": serverVersion(d)},
			}}
		},
		claims: func(a attributes) []claim {
			all := []claim{{Thing: "name " + persons + " controllers " + a.text("name")}}
			for _, each := range object(a["nodes"]) {
				node := attributes(object(each))
				all = append(all, claim{persons + " redfish " + node.text("port"), []string{node.text("system_id")}}, claim{persons + " ipmi " + node.text("ipmi_port"), []string{"Chassis Power is off"}})
			}
			return all
		}},
}

var (
	aRouter   = regexp.MustCompile(`\br\d`)
	leaseTime = regexp.MustCompile(`\blease_time=(\d+)`)
	subnet    = regexp.MustCompile(`\bsubnet=(\S+)`)
)

// readFar makes things of what observe-far.sh printed on a further hypervisor.
func readFar(machine, text string) map[string]string {
	s := sectionsOf(text)
	all := map[string]string{}
	rows := func(section string, read func(row []string)) {
		r := csv.NewReader(strings.NewReader(s[section]))
		r.FieldsPerRecord = -1
		found, _ := r.ReadAll()
		for _, row := range found {
			if len(row) == 2 {
				read(row)
			}
		}
	}
	first := func(pattern *regexp.Regexp, text string) string {
		if found := pattern.FindStringSubmatch(text); found != nil {
			return found[1]
		}
		return ""
	}
	leases := map[string]string{}
	rows("dhcp", func(row []string) { leases[row[0]] = first(leaseTime, row[1]) })
	rows("segments", func(row []string) {
		cidr := first(subnet, row[1])
		all[machine+" segment "+row[0]] = strings.TrimSpace(cidr + " " + leases[cidr])
		if cidr == "" {
			all[machine+" segment "+row[0]] = "without addresses"
		}
	})
	rows("routers", func(row []string) { all[machine+" router "+row[0]] = strings.TrimSpace(row[1]) })
	rows("balancers", func(row []string) { all[machine+" balancer "+row[0]] = row[1] })
	rows("balanced", func(row []string) { all[machine+" balancer "+row[0]] += " on " + row[1] })
	rows("groups", func(row []string) { all[machine+" group "+row[0]] = row[1] })
	rows("sets", func(row []string) {
		if group, _, v4 := strings.Cut(row[0], ".friends.v4"); v4 {
			all[machine+" group "+group] += " from " + row[1]
		}
	})
	rows("ports", func(row []string) { all[machine+" port "+row[0]] = row[1] })
	rows("listeners", func(row []string) { all[machine+" listener "+row[0]] = row[1] })
	rows("domains", func(row []string) { all[machine+" domain "+row[0]] = row[1] })
	files := strings.Fields(s["volumes"])
	for _, file := range files {
		// The mark of a volume lies beside it: on its own it is left behind.
		if volume, _, mark := strings.Cut(file, ".virtcluster-"); !mark || !slices.Contains(files, volume) {
			all[machine+" volume "+carried+"/"+file] = "there"
		}
	}
	all[machine+" follows"] = s["follows"]
	all[machine+" engine"] = s["engine"]
	for _, section := range []string{"rows", "guests", "files", "units", "failed"} {
		all[machine+" raw "+section] = strings.ReplaceAll(s[section], "\n", "; ")
	}
	return all
}

func TestReadFar(t *testing.T) {
	got := readFar(persons, "\n== segments\nn0,subnet=10.50.0.0/24 exclude_ips=10.50.0.1\nperson3,\n== dhcp\n10.50.0.0/24,\"lease_time=3605 server_id=10.50.0.1\"\n== routers\nr0,10.50.0.1/24 10.120.0.0/16>10.50.0.17\nr1,\n"+
		"== domains\nc0,64\n== volumes\nc0-root.qcow2\nc0-root.qcow2.virtcluster-x\nc1-data.qcow2.virtcluster-y\n== balancers\nb0,10.60.0.3:80=10.50.0.9:8080\n== balanced\nb0,r0\n== groups\ng0,8003\ng1,\n== sets\ng0.friends.v4,10.9.1.0/24\ng0.friends.v6,\n== ports\nperson4,n0\n== listeners\nperson9,active\n== follows\nssl:10.0.100.12:6642\n== engine\n1407\n== rows\nn0\n== files\n== units\nactive\n== failed\n")
	for thing, want := range map[string]string{
		"hv-1 segment n0": "10.50.0.0/24 3605", "hv-1 segment person3": "without addresses", "hv-1 router r0": "10.50.0.1/24 10.120.0.0/16>10.50.0.17", "hv-1 router r1": "",
		"hv-1 balancer b0": "10.60.0.3:80=10.50.0.9:8080 on r0", "hv-1 group g0": "8003 from 10.9.1.0/24", "hv-1 group g1": "", "hv-1 port person4": "n0", "hv-1 listener person9": "active", "hv-1 follows": "ssl:10.0.100.12:6642", "hv-1 engine": "1407",
		"hv-1 domain c0": "64", "hv-1 volume carried/c0-root.qcow2": "there", "hv-1 volume carried/c0-root.qcow2.virtcluster-x": "", "hv-1 volume carried/c1-data.qcow2.virtcluster-y": "there",
	} {
		t.Run(thing, func(t *testing.T) {
			if got[thing] != want {
				t.Errorf("%s is %q, want %q", thing, got[thing], want)
			}
		})
	}
}
