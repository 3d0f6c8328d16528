package clusterconfig

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

var staticPods = groupField("",
	field{name: "cluster", kind: text}.withCheck(isName).asRequired(),
	field{name: "domain", kind: text}.withCheck(isName).asRequired(),
	field{name: "network", kind: text}.withCheck(isSubnet).asRequired(),
	field{name: "interface", kind: text}.withCheck(isDevice).asRequired(),
	field{name: "api_vip", kind: text}.withCheck(isAddress).asRequired(),
	field{name: "ingress_vip", kind: text}.withCheck(isAddress).asRequired(),
	field{name: "name_servers", kind: list, items: &field{kind: text, check: isAddress}}.asRequired(),
	objectsField("machines",
		field{name: "name", kind: text}.withCheck(isHostname).asRequired(),
		oneOf("role", "bootstrap", "master", "worker").asRequired(),
		field{name: "address", kind: text}.withCheck(isAddress).asRequired(),
	).asRequired(),
	groupField("images", imageField("keepalived"), imageField("haproxy"), imageField("coredns"), field{name: "runtimecfg", kind: text}.withCheck(isImage)).asRequired(),
)

func imageField(name string) field {
	return field{name: name, kind: text}.withCheck(isImage).asRequired()
}

// podCluster is a cluster whose machines hold its addresses, balance its API and answer its names by themselves.
type podCluster struct {
	Cluster     string            `json:"cluster"`
	Domain      string            `json:"domain"`
	Network     netip.Prefix      `json:"network"`
	Interface   string            `json:"interface"`
	APIVIP      netip.Addr        `json:"api_vip"`
	IngressVIP  netip.Addr        `json:"ingress_vip"`
	NameServers []netip.Addr      `json:"name_servers"`
	Machines    []podMachine      `json:"machines"`
	Images      map[string]string `json:"images"`
}

type podMachine struct {
	Name    string     `json:"name"`
	Role    string     `json:"role"`
	Address netip.Addr `json:"address"`
}

// file is one of a machine's, with its whole path.
type file struct {
	path, contents string
	mode           int
}

// StaticPods returns, by the machines' names, Ignition configurations with static pods of keepalived, HAProxy and CoreDNS, their
// configurations, and with an image of runtimecfg their monitors: what OpenShift's machine configuration puts on machines that have no load balancer and no DNS beside them.
func StaticPods(document map[string]any) (map[string]string, []service.Problem) {
	if _, problems := finishDocument(staticPods, document, checkStaticPods); len(problems) > 0 {
		return nil, problems
	}
	var c podCluster
	err := convertByJSON(document, &c)
	out := map[string]string{}
	for _, m := range c.Machines {
		if err == nil {
			out[m.Name], err = ignitionOf(c.machineFiles(m), c.machineUnits(m))
		}
	}
	if err != nil {
		return nil, []service.Problem{service.Problemf(nil, "Cannot render", "%s", err)}
	}
	return out, nil
}

func convertByJSON(from, to any) error {
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	return nil
}

// checkStaticPods finds addresses outside the network, what two machines have, and a cluster without masters.
func checkStaticPods(d map[string]any) []service.Problem {
	var problems []service.Problem
	report := func(path []any, format string, args ...any) {
		problems = append(problems, service.Problemf(path, "Invalid document", format, args...))
	}
	prefix, _ := netip.ParsePrefix(fmt.Sprint(d["network"]))
	seen := map[string]string{}
	inside := func(v any, path ...any) {
		a, _ := netip.ParseAddr(fmt.Sprint(v))
		place := PlaceOf(service.Problem{Path: path})
		switch before, twice := seen[a.String()]; {
		case !prefix.Contains(a):
			report(path, "%s is not in %s, which network has", a, prefix)
		case twice:
			report(path, "%s has %s too: each has its own", before, a)
		}
		seen[a.String()] = place
	}
	inside(d["api_vip"], "api_vip")
	inside(d["ingress_vip"], "ingress_vip")
	masters := 0
	for i, m := range asElements(d["machines"]) {
		inside(valueAt(m, "address"), "machines", i, "address")
		if before, twice := seen["name "+fmt.Sprint(valueAt(m, "name"))]; twice {
			report([]any{"machines", i, "name"}, "%s has the name %q too: each machine has its own", before, valueAt(m, "name"))
		}
		seen["name "+fmt.Sprint(valueAt(m, "name"))] = fmt.Sprintf("machines[%d].name", i)
		if valueAt(m, "role") == "master" {
			masters++
		}
	}
	if masters == 0 {
		report([]any{"machines"}, "there is no master, which the API's balancers would lead to")
	}
	return problems
}

// ignitionOf is a configuration with files and units.
func ignitionOf(files []file, units map[string]string) (string, error) {
	type contents struct {
		Source string `json:"source"`
	}
	type node struct {
		Path      string   `json:"path"`
		Overwrite bool     `json:"overwrite"`
		Mode      int      `json:"mode"`
		Contents  contents `json:"contents"`
	}
	type unit struct {
		Name     string `json:"name"`
		Enabled  bool   `json:"enabled"`
		Contents string `json:"contents"`
	}
	var nodes []node
	for _, f := range files {
		nodes = append(nodes, node{f.path, true, f.mode, contents{"data:;base64," + base64.StdEncoding.EncodeToString([]byte(f.contents))}})
	}
	all := []unit{}
	for _, name := range sortedNames(units) {
		all = append(all, unit{name, true, units[name]})
	}
	out, err := json.Marshal(map[string]any{
		"ignition": map[string]any{"version": "3.2.0"},
		"storage":  map[string]any{"files": nodes},
		"systemd":  map[string]any{"units": all},
	})
	if err != nil {
		return "", fmt.Errorf("write Ignition: %w", err)
	}
	return string(out), nil
}
