package robustness

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// resource is one resource of a drawn configuration, with its attributes as Terraform's JSON has them.
type resource struct {
	Type       string         `json:"type"` // without virtcluster_
	Key        string         `json:"key"`
	Attributes map[string]any `json:"attributes"`
	// Alias says that the state's second provider makes it.
	Alias bool `json:"alias,omitempty"`
	// From is the key that a moved block says it had.
	From string `json:"from,omitempty"`
}

func (r resource) address() string { return "virtcluster_" + r.Type + "." + r.Key }

// configuration is all that a state is to have, besides its service nodes.
type configuration []resource

// reference is where an attribute names another resource of the configuration.
var reference = regexp.MustCompile(`\$\{(virtcluster_[a-z_]+\.[a-zA-Z0-9_-]+)\.`)

// needs returns the addresses of the resources that r refers to.
func (r resource) needs() []string {
	text, _ := json.Marshal(r.Attributes)
	var all []string
	for _, found := range reference.FindAllStringSubmatch(string(text), -1) {
		all = append(all, found[1])
	}
	return all
}

func (c configuration) find(address string) int {
	return slices.IndexFunc(c, func(r resource) bool { return r.address() == address })
}

// without returns the configuration without those that drop names, and without all that refer to one that is gone.
func (c configuration) without(drop func(resource) bool) configuration {
	kept := slices.DeleteFunc(slices.Clone(c), drop)
	for {
		n := len(kept)
		kept = slices.DeleteFunc(kept, func(r resource) bool {
			return slices.ContainsFunc(r.needs(), func(address string) bool {
				return !strings.HasPrefix(address, "virtcluster_service_node.") && kept.find(address) < 0
			})
		})
		if len(kept) == n {
			return kept
		}
	}
}

// sayMoves returns the configuration in which moved blocks tell what the state has under another key: without them it is refused to
// destroy a thing with what is in it and to make it under its name.
func (c configuration) sayMoves(has []believed) configuration {
	told := slices.Clone(c)
	for i, r := range told {
		told[i].From = ""
		claims := claimsOf(r.Type, r.Attributes)
		if len(claims) == 0 || slices.ContainsFunc(has, func(b believed) bool { return b.Address == r.address() }) {
			continue
		}
		for _, b := range has {
			if was := claimsOf(b.Type, b.Attributes); b.Type == r.Type && len(was) > 0 && was[0].Thing == claims[0].Thing && c.find(b.Address) < 0 {
				told[i].From = strings.TrimPrefix(b.Address, "virtcluster_"+b.Type+".")
			}
		}
	}
	return told
}

// withoutOwn returns the configuration without what wants a thing that the state has already for another resource that stays: a port that
// was drawn, where the other one chose it. An interface leaves a bridge in an apply of its own before another bridge has it.
func (c configuration) withoutOwn(has []believed) configuration {
	return c.without(func(r resource) bool {
		return r.From == "" && slices.ContainsFunc(has, func(b believed) bool {
			return b.Address != r.address() && (c.find(b.Address) >= 0 || b.Type == "external_bridge") && slices.ContainsFunc(claimsOf(b.Type, b.Attributes), func(theirs claim) bool {
				return slices.ContainsFunc(claimsOf(r.Type, r.Attributes), func(own claim) bool { return own.Thing == theirs.Thing })
			})
		})
	})
}

// keepRanges returns the configuration with the ranges of pools as the state has them, as others that leave out what is drawn are refused,
// with volumes that nothing has to shrink for, and with nodes' disks as the state has them, as those that a snapshot is of stay.
func (c configuration) keepRanges(has []believed) configuration {
	kept := slices.Clone(c)
	for i, r := range kept {
		for _, b := range has {
			if b.Address == r.address() && r.Type == "address_pool" {
				kept[i].Attributes = maps.Clone(r.Attributes)
				kept[i].Attributes["ranges"] = b.Attributes["ranges"]
			}
		}
		for _, b := range has {
			if b.Address == r.address() && r.Type == "node" && hasSnapshot(has, attributes(r.Attributes).text("name")) {
				kept[i].Attributes = maps.Clone(r.Attributes)
				delete(kept[i].Attributes, "disks")
				for key, disk := range object(b.Attributes["disks"]) {
					kept[i].Attributes["disks"] = map[string]any{key: map[string]any{"pool": object(r.Attributes["root_disk"])["pool"], "size_gib": object(disk)["size_gib"]}}
				}
			}
		}
		if r.Type == "volume" { // a run that was killed may have let it grow
			kept[i].Attributes = maps.Clone(r.Attributes)
			kept[i].Attributes["size_gib"] = mostGiB
		}
	}
	return kept
}

func hasSnapshot(has []believed, node string) bool {
	return slices.ContainsFunc(has, func(b believed) bool {
		return b.Type == "snapshot" && strings.HasPrefix(claimsOf(b.Type, b.Attributes)[0].Thing, "hypervisor snapshot "+node+"/")
	})
}

// serviceOf is the service that a type needs on its machine.
var serviceOf = map[string]string{"dns_zone": "bind", "dns_record_set": "bind", "haproxy_backend": "haproxy", "haproxy_frontend": "haproxy",
	"vip": "keepalived", "exposed_service": "nftables", "floating_address": "nftables", "haproxy": "haproxy", "dns_view": "bind", "dns_server": "bind", "nfs_export": "nfs", "dhcp_server": "kea", "time_server": "chrony", "registry": "registry", "boot_server": "ipxe"}

// services adds the service nodes that the configuration needs, with their services, to those of before.
func (c configuration) services(before map[string][]string) map[string][]string {
	all := maps.Clone(before)
	if all == nil {
		all = map[string][]string{}
	}
	for _, r := range c {
		for _, address := range r.needs() {
			machine, ok := strings.CutPrefix(address, "virtcluster_service_node.")
			if !ok {
				continue
			}
			all[machine] = slices.Clone(all[machine])
			if service := serviceOf[r.Type]; service != "" && !slices.Contains(all[machine], service) {
				all[machine] = append(all[machine], service)
			}
		}
	}
	return all
}

// render writes the configuration as main.tf.json, with service nodes of these services.
func (c configuration) render(backend map[string]any, nodes map[string][]string) ([]byte, error) {
	resources := map[string]map[string]any{}
	add := func(kind, key string, attributes map[string]any) {
		if resources[kind] == nil {
			resources[kind] = map[string]any{}
		}
		resources[kind][key] = attributes
	}
	for i, machine := range machines {
		if services, ok := nodes[machine]; ok {
			add("virtcluster_service_node", machine, map[string]any{"endpoint": "ssh://root@" + addressOf(i), "services": services})
		}
	}
	var moved []any
	for _, r := range c {
		attributes := maps.Clone(r.Attributes)
		if r.Alias {
			attributes["provider"] = "virtcluster.second"
		}
		if r.From != "" {
			moved = append(moved, map[string]any{"from": "virtcluster_" + r.Type + "." + r.From, "to": r.address()})
		}
		add("virtcluster_"+r.Type, r.Key, attributes)
	}
	provider := map[string]any{"uri": "qemu:///system", "ssh": map[string]any{"private_key_file": os.Getenv("SANDBOX_SSH_KEY")}}
	if len(farMachines()) > 0 {
		provider["hypervisors"] = map[string]any{far: map[string]any{"uri": acctest.HypervisorURI(persons)}, farther: map[string]any{"uri": acctest.HypervisorURI(bare)}}
	}
	second := maps.Clone(provider)
	second["alias"] = "second"
	terraform := map[string]any{"required_providers": map[string]any{"virtcluster": map[string]any{"source": "virtcluster/virtcluster"}}}
	if backend != nil {
		terraform["backend"] = map[string]any{"http": backend}
	}
	document := map[string]any{"terraform": terraform, "provider": map[string]any{"virtcluster": []any{provider, second}}}
	if len(resources) > 0 {
		document["resource"] = resources
	}
	if len(moved) > 0 {
		document["moved"] = moved
	}
	return json.MarshalIndent(document, "", " ")
}

// believed is a resource as a state has it.
type believed struct {
	Address, Type string
	Attributes    map[string]any
}

// parseState returns what a state file has, without its service nodes.
func parseState(text []byte) ([]believed, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var file struct {
		Resources []struct {
			Mode, Type, Name string
			Instances        []struct {
				Attributes map[string]any
				Deposed    string
			}
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("understand a state file: %w", err)
	}
	var all []believed
	for _, r := range file.Resources {
		for _, i := range r.Instances {
			if kind, ok := strings.CutPrefix(r.Type, "virtcluster_"); ok && kind != "service_node" && r.Mode == "managed" {
				all = append(all, believed{Address: r.Type + "." + r.Name, Type: kind, Attributes: i.Attributes})
			}
		}
	}
	return all, nil
}

func TestWithoutOwn(t *testing.T) {
	exposed := func(key, port string) resource {
		a := map[string]any{"name": key, "type": "node_port", "service_node": "${virtcluster_service_node.svc-2.id}", "targets": []any{"10.0.100.101"}, "ports": map[string]any{"s": map[string]any{"target_port": 7001}}}
		if port != "" {
			a["ports"] = map[string]any{"s": map[string]any{"target_port": 7001, "port": port}}
		}
		return resource{Type: "exposed_service", Key: key, Attributes: a}
	}
	chosen, wants, other := exposed("e0", ""), exposed("e2", "30001"), exposed("e3", "30003")
	has := []believed{{chosen.address(), chosen.Type, exposed("e0", "30001").Attributes}}
	if got := (configuration{chosen, wants, other}).withoutOwn(has); len(got) != 2 || got[0].Key != "e0" || got[1].Key != "e3" {
		t.Errorf("kept %v", got)
	}
	if got := (configuration{chosen, wants}).withoutOwn(append(has, believed{wants.address(), wants.Type, exposed("e2", "30000").Attributes})); len(got) != 1 {
		t.Errorf("what is changed to another's port is kept: %v", got)
	}
	if got := (configuration{wants, other}).withoutOwn(has); len(got) != 2 {
		t.Errorf("what goes is in the way: %v", got)
	}
}
