package clusterconfig

import (
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// seen is what OpenShift's monitors give to a template, by the names that baremetal-runtimecfg's pkg/config has.
type seen struct {
	Cluster struct{ NodeAddresses []seenAddress }
	// LBConfig is all that the monitor of HAProxy gives.
	LBConfig struct {
		LbPort   uint16
		Backends []seenBackend
	}
	NonVirtualIP, VRRPInterface string
	DNSUpstreams                []string
	IngressConfig               struct{ Peers []string }
	EnableUnicast               bool
}

type (
	seenAddress struct{ Name, Address string }
	seenBackend struct {
		Host, Address string
		Port          uint16
	}
)

// seenBy is what a monitor sees on a machine of the topology as it is planned, once the bootstrap is gone.
func seenBy(address string, unicast bool) seen {
	s := seen{NonVirtualIP: address, VRRPInterface: "eth0", DNSUpstreams: []string{"10.0.100.254"}, EnableUnicast: unicast}
	s.Cluster.NodeAddresses = []seenAddress{{"master-0", "10.0.100.101"}, {"master-1", "10.0.100.102"}, {"worker-0", "10.0.100.120"}}
	s.LBConfig.LbPort = 9445
	s.LBConfig.Backends = []seenBackend{{"master-0", "10.0.100.101", 6443}, {"master-1", "10.0.100.102", 6443}}
	s.IngressConfig.Peers = []string{"10.0.100.101", "10.0.100.102", "10.0.100.120"}
	return s
}

// fill does what a monitor does with a template.
func fill(t *testing.T, text string, with seen) string {
	t.Helper()
	parsed, err := template.New("").Parse(text)
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	var b strings.Builder
	if err := parsed.Execute(&b, with); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return b.String()
}

func TestMonitorsWriteWhatWasRendered(t *testing.T) {
	t.Parallel()
	settled := strings.Replace(monitors, "- {name: bootstrap, role: bootstrap, address: 10.0.100.200}\n", "", 1)
	machines, problems := StaticPods(document(t, settled))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for name, address := range map[string]string{"master-0": "10.0.100.101", "worker-0": "10.0.100.120"} {
		t.Run(name, func(t *testing.T) {
			files := filesOf(t, machines[name])
			found := 0
			for path, text := range files {
				rendered, isTemplate := strings.CutSuffix(path, ".tmpl")
				if !isTemplate {
					continue
				}
				found++
				rendered = filepath.Join("/etc", strings.TrimPrefix(rendered, "/etc/kubernetes/static-pod-resources/"))
				if diff := cmp.Diff(files[rendered], fill(t, text, seenBy(address, false))); diff != "" {
					t.Errorf("%s: %s:\n%s", name, path, diff)
				}
			}
			if want := map[string]int{"master-0": 3, "worker-0": 2}[name]; found != want {
				t.Errorf("%s has %d templates, not %d", name, found, want)
			}
		})
	}
	unicast := fill(t, filesOf(t, machines["master-0"])["/etc/kubernetes/static-pod-resources/keepalived/keepalived.conf.tmpl"], seenBy("10.0.100.101", true))
	for _, want := range []string{
		"    unicast_src_ip 10.0.100.101\n    unicast_peer {\n        10.0.100.102\n    }\n    authentication",
		"    unicast_src_ip 10.0.100.101\n    unicast_peer {\n        10.0.100.102\n        10.0.100.120\n    }\n    authentication",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(unicast, want) {
				t.Errorf("no\n%s\nin\n%s", want, unicast)
			}
		})
	}
}

// pod is what tests read of a static pod's manifest.
type pod struct {
	Spec struct {
		Containers []struct {
			Name    string
			Command []string
		}
		Volumes []map[string]any
	}
}

func readPod(t *testing.T, manifest string) pod {
	t.Helper()
	var p pod
	if err := yaml.Unmarshal([]byte(manifest), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPodsOfMonitorsAreYAML(t *testing.T) {
	t.Parallel()
	machines, _ := StaticPods(document(t, monitors))
	p := readPod(t, filesOf(t, machines["master-0"])["/etc/kubernetes/manifests/haproxy.yaml"])
	if c := p.Spec.Containers; len(c) != 2 || c[1].Name != "haproxy-monitor" || len(c[0].Command) != 13 || c[0].Command[2] != superviseScript ||
		strings.Join(c[0].Command[8:], " ") != "/usr/sbin/haproxy -W -db -f /etc/haproxy/haproxy.cfg" {
		t.Errorf("%+v", c)
	}
	if len(p.Spec.Volumes) != 5 {
		t.Errorf("%v", p.Spec.Volumes)
	}
}
