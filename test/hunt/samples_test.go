package hunt

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
)

// subject is a resource type and where its instances live.
type subject struct {
	kind string
	// lane is what subjects take turns on; the subject itself where it is empty.
	lane string
	// base is the smallest useful configuration; "$name" stands for a fixture's attribute: "$node1.id".
	base object
	// samples are good values, by the path of the attribute, without keys and indexes below lists and maps.
	samples map[string]any
	// beside is what else must be set for an attribute to have a meaning, by its path.
	beside map[string]object
	// unread are root attributes that an import cannot know, as their documentation says.
	unread []string
	// needed are root attributes without which nothing can be read, so that an import, which cannot know them, fails and says why.
	needed []string
	// importID is what import takes; nil for the attribute id.
	importID func(v cty.Value) string
	// nowhere says that it is in no place but the state, so that a destroy leaves what a refresh finds.
	nowhere bool
}

// fixture is what the subjects need to be there.
type fixture struct {
	name, kind string
	config     object
}

func fixtures() []fixture {
	node := func(name, address string, services ...any) fixture {
		return fixture{name, "virtcluster_service_node", object{"endpoint": "ssh://root@" + address, "services": services}}
	}
	return []fixture{
		node("node1", "10.0.100.101", "bind", "haproxy"), node("node2", "10.0.100.102", "bind", "haproxy", "nftables"), node("node3", "10.0.100.103", "bind", "haproxy"),
		node("node4", "10.0.100.104", "bind", "keepalived"), node("node5", "10.0.100.105"),
		node("hv1", "10.0.100.11"), node("hv2", "10.0.100.12"),
		{"ovn", "virtcluster_ovn", object{"central": list{"$hv1.id"}, "datapath": "userspace"}},
		{"ovn network", "virtcluster_ovn_network", object{"ovn": "$ovn.id", "name": "fixture", "cidr": "10.232.0.0/24", "gateway": "10.232.0.1"}},
		{"ovn group", "virtcluster_ovn_security_group", object{"ovn": "$ovn.id", "name": "fixture"}},
		{"ovn router", "virtcluster_ovn_router", object{"ovn": "$ovn.id", "name": "fixture"}},
		{"bootserver", "virtcluster_boot_server", object{"service_node": "$node1.id", "http": object{"address": "10.0.100.101"}}},
		{"bootserver2", "virtcluster_boot_server", object{"service_node": "$node2.id", "http": object{"address": "10.0.100.102"}}},
		{"view", "virtcluster_dns_view", object{"service_node": "$node1.id", "name": "fixture"}},
		{"other view", "virtcluster_dns_view", object{"service_node": "$node2.id", "name": "fixture"}},
		{"zone", "virtcluster_dns_zone", object{"service_node": "$node2.id", "view": "fixture", "name": "fixture.example"}},
		{"backend", "virtcluster_haproxy_backend", object{"service_node": "$node1.id", "name": "fixture", "mode": "tcp", "servers": object{"a": object{"address": "10.0.100.9", "port": 80}}}},
		{"pool", "virtcluster_storage_pool", object{"name": "fixture", "path": "/run/hunt/fixture"}},
		{"default pool", "virtcluster_storage_pool", object{"name": "default", "path": "/run/hunt/default"}},
		{"network", "virtcluster_network", object{"name": "fixture", "cidr": "10.221.0.0/24", "ipv6_cidr": "fd21::/64", "dhcp": object{"ranges": list{object{"start": "10.221.0.200", "end": "10.221.0.210"}}}}},
		{"other network", "virtcluster_network", object{"name": "fixture2", "cidr": "10.220.0.0/24", "ipv6_cidr": "fd20::/64", "dhcp": object{}}},
		{"image", "virtcluster_image", object{"name": "fixture", "pool": "fixture", "source": os.Getenv("SANDBOX_TINY_IMAGE")}},
		{"disc", "virtcluster_image", object{"name": "disc.iso", "pool": "fixture", "source": discFile()}},
		{"addresses", "virtcluster_address_pool", object{"service_node": "$node3.id", "name": "fixture", "ranges": list{"192.0.2.110-192.0.2.119"}}},
		{"volume", "virtcluster_volume", object{"name": "fixture.qcow2", "pool": "fixture", "size_gib": 1}},
		{"machine", "virtcluster_node", object{"name": "fixture", "type": "qemu", "running": false, "power": "external", "memory_mib": 64}},
		{"disk machine", "virtcluster_node", object{"name": "fixture-disk", "type": "qemu", "running": false, "memory_mib": 64, "root_disk": object{"size_gib": 1, "pool": "fixture"}}},
	}
}

// answers and answersTLS are of servers that the hunt runs, for readiness.
const (
	answers    = "http://10.0.100.254:18080/"
	answersTLS = "https://127.0.0.1:18443/"
)

// discURL is where the first of these has disc, an image of a disc with nothing on it.
const discURL = answers + "disc.iso"

var disc = sync.OnceValue(func() []byte {
	content := make([]byte, 64<<10)
	copy(content[32768:], "\x01CD001\x01")
	return content
})

// discFile is a file with the same.
var discFile = sync.OnceValue(func() string {
	file := filepath.Join(os.TempDir(), "hunt-disc.iso")
	if err := os.WriteFile(file, disc(), 0o600); err != nil {
		panic(err)
	}
	return file
})

// certificate is what answersTLS shows.
var certificate = sync.OnceValue(func() string {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
})

// hostKey is the key of a machine that the sandbox knows, or the fingerprint of none.
func hostKey(address string) string {
	known, _ := os.ReadFile(os.ExpandEnv("$HOME/.ssh/known_hosts"))
	for line := range strings.Lines(string(known)) {
		if words := strings.Fields(line); len(words) > 2 && slices.Contains(strings.Split(words[0], ","), address) {
			return words[1] + " " + words[2]
		}
	}
	return "SHA256:" + strings.Repeat("A", 43)
}

// text is a text attribute's value, "" where it is null.
func text(v cty.Value, name string) string {
	if a := v.GetAttr(name); !a.IsNull() {
		return a.AsString()
	}
	return ""
}

// onHypervisor is what import takes for what is on one of several hypervisors: its attributes by name.
func onHypervisor(names ...string) func(v cty.Value) string {
	return func(v cty.Value) string {
		var all []string
		for _, name := range append([]string{"hypervisor"}, names...) {
			if part := text(v, name); part != "" {
				all = append(all, part)
			}
		}
		return strings.Join(all, "/")
	}
}

// merged are several sample tables as one, each with its path before those of its attributes.
func merged(tables ...map[string]any) map[string]any {
	all := map[string]any{}
	for _, t := range tables {
		for k, v := range t {
			all[k] = v
		}
	}
	return all
}

func below(path string, t map[string]any) map[string]any {
	all := map[string]any{}
	for k, v := range t {
		all[path+"."+k] = v
	}
	return all
}

var timeoutsAll = map[string]any{"timeouts": object{"create": "10m"}, "timeouts.create": "10m", "timeouts.read": "10m", "timeouts.update": "10m", "timeouts.delete": "10m"}

func subjects() []subject {
	return slices.Concat([]subject{controllerSubject()}, daemonSubjects(), hypervisorSubjects(), machineSubjects(), dataSubjects())
}

// resolve puts the fixtures' attributes where a sample names them.
func resolve(v any, of map[string]object) any {
	switch v := v.(type) {
	case string:
		if name, attribute, ok := strings.Cut(v, "."); ok && strings.HasPrefix(name, "$") && of[name[1:]] != nil {
			return of[name[1:]][attribute]
		}
		return strings.ReplaceAll(v, "$node4.id", fmt.Sprint(of["node4"]["id"]))
	case object:
		all := object{}
		for k, e := range v {
			all[k] = resolve(e, of)
		}
		return all
	case list:
		all := list{}
		for _, e := range v {
			all = append(all, resolve(e, of))
		}
		return all
	case unknown:
		return unknown{resolve(v.then, of)}
	}
	return v
}
