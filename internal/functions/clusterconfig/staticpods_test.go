package clusterconfig

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

var update = flag.Bool("update", false, "write the golden files of static pods anew")

const podTopology = `
cluster: ocp4
domain: ocp4.example
network: 10.0.100.0/24
interface: eth0
api_vip: 10.0.100.240
ingress_vip: 10.0.100.241
name_servers: [10.0.100.254]
images: {keepalived: "registry.example/okd/keepalived:1", haproxy: "registry.example/okd/haproxy:1", coredns: "registry.example/okd/coredns:1"}
machines:
- {name: bootstrap, role: bootstrap, address: 10.0.100.200}
- {name: master-0, role: master, address: 10.0.100.101}
- {name: master-1, role: master, address: 10.0.100.102}
- {name: worker-0, role: worker, address: 10.0.100.120}
`

// filesOf are the files that a machine's Ignition writes, by their paths.
func filesOf(t *testing.T, ignition string) map[string]string {
	t.Helper()
	var config struct {
		Storage struct {
			Files []struct {
				Path     string
				Contents struct{ Source string }
			}
		}
	}
	if err := json.Unmarshal([]byte(ignition), &config); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range config.Storage.Files {
		contents, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(f.Contents.Source, "data:;base64,"))
		if err != nil {
			t.Fatal(err)
		}
		files[f.Path] = string(contents)
	}
	return files
}

// monitors is the topology with OpenShift's monitors beside the daemons.
var monitors = strings.Replace(podTopology, "coredns:1\"}", "coredns:1\", runtimecfg: \"registry.example/okd/baremetal-runtimecfg:1\"}", 1)

func TestStaticPodsAreRendered(t *testing.T) {
	t.Parallel()
	for directory, topology := range map[string]string{"testdata/staticpods": podTopology, "testdata/monitors": monitors} {
		t.Run(directory, func(t *testing.T) {
			t.Parallel()
			machines, problems := StaticPods(document(t, topology))
			if len(problems) > 0 || len(machines) != 4 {
				t.Fatalf("%d machines, %v", len(machines), problems)
			}
			for _, name := range []string{"bootstrap", "master-0", "worker-0"} {
				compareGolden(t, filepath.Join(directory, name), filesOf(t, machines[name]))
			}
			redirects := map[string]bool{"bootstrap": true, "master-0": topology == podTopology, "worker-0": false} // a monitor does so itself
			for name, want := range redirects {
				if got := strings.Contains(machines[name], "--dport 6443 -j REDIRECT --to-ports 9445"); got != want {
					t.Errorf("%s of %s leads the API's address to its balancer: %t", name, directory, got)
				}
			}
		})
	}
}

// Of a cluster of IPv6, keepalived's own checks find nothing wrong with what is rendered, and nothing of IPv4 is in a monitor's template.
func TestStaticPodsOfIPv6SpeakVRRPVersion3(t *testing.T) {
	t.Parallel()
	topology := strings.NewReplacer("10.0.100.0/24", "fd00:a::/64", "10.0.100.", "fd00:a::").Replace(monitors)
	machines, problems := StaticPods(document(t, topology))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	files := filesOf(t, machines["master-0"])
	for name, address := range map[string]string{"ocp4_API": "fd00:a::240/64", "ocp4_INGRESS": "fd00:a::241/64"} {
		t.Run(name, func(t *testing.T) {
			in, err := keepalived.Find(transaction.Tree{keepalived.Path: {Content: []byte(files["/etc/keepalived/keepalived.conf"])}}, name)
			if err != nil {
				t.Fatal(err)
			}
			vip := keepalived.Merge([]keepalived.Found{{ID: "ssh://a", Instance: in}}, nil, []string{"ssh://a"}, nil)
			vip.Members[0].Name = "a"
			if problems := vip.Validate(); len(problems) > 0 || in.Version != 3 || len(in.Addresses) != 1 || in.Addresses[0].String() != address {
				t.Errorf("%+v: %v", in, problems)
			}
		})
	}
	template := files["/etc/kubernetes/static-pod-resources/keepalived/keepalived.conf.tmpl"]
	if strings.Contains(template, "mcast_src_ip") || strings.Count(template, "unicast_src_ip {{ .NonVirtualIP }}") != 2 {
		t.Errorf("the monitor's template:\n%s", template)
	}
}

func compareGolden(t *testing.T, directory string, files map[string]string) {
	t.Helper()
	got := map[string]string{}
	for path, contents := range files {
		got[strings.ReplaceAll(strings.TrimPrefix(path, "/etc/"), "/", "+")] = contents
	}
	if *update {
		for file, contents := range got {
			if err := os.MkdirAll(directory, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(directory, file), []byte(contents), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := map[string]string{}
	golden, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range golden {
		contents, err := os.ReadFile(filepath.Join(directory, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		want[f.Name()] = string(contents)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", directory, diff)
	}
}

func TestWhatIsWrongWithATopologyOfStaticPodsIsNamedAtItsPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, place, detail string }{
		"address elsewhere": {"api_vip: 10.0.100.240", "api_vip: 10.9.9.9", "api_vip", "not in 10.0.100.0/24"},
		"one address twice": {"ingress_vip: 10.0.100.241", "ingress_vip: 10.0.100.240", "ingress_vip", "api_vip has 10.0.100.240 too"},
		"VIP of a machine":  {"address: 10.0.100.120", "address: 10.0.100.241", "machines[3].address", "ingress_vip has"},
		"one name twice":    {"name: master-1", "name: master-0", "machines[2].name", "machines[1].name has the name"},
		"no master":         {"role: master", "role: worker", "machines", "no master"},
		"unknown role":      {"role: bootstrap", "role: arbiter", "machines[0].role", "bootstrap, master, worker"},
		"device":            {"interface: eth0", `interface: "eth0 }"`, "interface", "network device"},
		"image":             {`"registry.example/okd/haproxy:1"`, `"a b"`, "images.haproxy", "write an image"},
		"spelling":          {"api_vip:", "apiVIP:", "apiVIP", "write api_vip"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := StaticPods(document(t, strings.ReplaceAll(podTopology, c.old, c.new)))
			found := false
			for _, p := range problems {
				found = found || PlaceOf(p) == c.place && strings.Contains(p.Detail, c.detail)
			}
			if !found {
				t.Errorf("%s: %+v", name, problems)
			}
		})
	}
}
