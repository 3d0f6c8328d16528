package clusterconfig

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	yamlv3 "gopkg.in/yaml.v3"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// document reads what a configuration would have in it, as plain values.
func document(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return whole(v).(map[string]any)
}

// whole makes whole numbers what Terraform's become.
func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			v[name] = whole(e)
		}
	case []any:
		for i, e := range v {
			v[i] = whole(e)
		}
	case uint64:
		return int64(v)
	}
	return v
}

const install = `
baseDomain: example
metadata: {name: okd}
sshKey: ssh-ed25519 AAAAC3Nza admin
pullSecret: '{"auths":{"quay.io":{"auth":"c2VjcmV0"}}}'
platform: {none: {}}
compute: [{replicas: 0}]
controlPlane: {replicas: 3, hyperthreading: Enabled}
networking:
  serviceNetwork: [172.30.0.0/16]
  clusterNetwork: [{hostPrefix: 23, cidr: 10.128.0.0/14}]
  machineNetwork: [{cidr: 10.0.0.0/24}]
  networkType: OVNKubernetes
`

const agent = `
metadata: {name: okd}
rendezvousIP: 10.0.0.10
hosts:
- hostname: okd-master-01
  role: master
  interfaces: [{name: eth0, macAddress: "52:54:00:22:5d:84"}]
  networkConfig: {interfaces: [{name: eth0, type: ethernet, state: up}]}
- {hostname: okd-worker-01, role: worker, rootDeviceHints: {deviceName: /dev/vda}}
`

const kubeadm = `
JoinConfiguration:
  discovery: {bootstrapToken: {token: abcdef.0123456789abcdef, apiServerEndpoint: "api.k8s.example:6443", caCertHashes: ["sha256:00"]}}
ClusterConfiguration:
  kubernetesVersion: v1.34.1
  controlPlaneEndpoint: api.k8s.example:6443
  networking: {podSubnet: "10.128.0.0/14", serviceSubnet: "10.96.0.0/12,fd00::/108"}
  apiServer: {certSANs: [10.0.0.250], extraArgs: [{name: audit-log-path, value: /var/log/audit.log}]}
KubeletConfiguration: {cgroupDriver: systemd}
`

func TestDocumentsAreRendered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		render func(map[string]any) (string, []service.Problem)
		text   string
	}{"install-config.yaml": {InstallConfig, install}, "agent-config.yaml": {AgentConfig, agent}, "kubeadm.yaml": {KubeadmConfig, kubeadm}} {
		t.Run(name, func(t *testing.T) {
			got, problems := c.render(document(t, c.text))
			if len(problems) > 0 {
				t.Errorf("%s: %v", name, problems)
				return
			}
			want, err := os.ReadFile("testdata/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		})
	}
}

// Each is a document that is right but for one place, which is named with what to write.
func TestWhatIsWrongIsNamedAtItsPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		render        func(map[string]any) (string, []service.Problem)
		text          string
		old, new      string
		place, detail string
	}{
		"field's spelling":    {InstallConfig, install, "baseDomain:", "base_domain:", "base_domain", "write baseDomain"},
		"unknown field":       {InstallConfig, install, "hyperthreading", "threads", "controlPlane.threads", "there is no such field"},
		"text for a number":   {InstallConfig, install, "replicas: 3", "replicas: three", "controlPlane.replicas", "write a whole number"},
		"replicas":            {InstallConfig, install, "replicas: 3", "replicas: 7", "controlPlane.replicas", "1 to 5"},
		"required":            {InstallConfig, install, "platform: {none: {}}", "", "platform", "write it"},
		"two platforms":       {InstallConfig, install, "{none: {}}", "{none: {}, aws: {}}", "platform", "write one platform"},
		"pull secret":         {InstallConfig, install, `{"auths":{"quay.io":{"auth":"c2VjcmV0"}}}`, "c2VjcmV0", "pullSecret", "no JSON"},
		"empty auth":          {InstallConfig, install, "c2VjcmV0", "", "pullSecret", `quay.io has no "auth"`},
		"public key":          {InstallConfig, install, "ssh-ed25519 AAAAC3Nza admin", "AAAAC3Nza", "sshKey", "public keys"},
		"overlap":             {InstallConfig, install, "172.30.0.0/16", "10.129.0.0/16", "networking.serviceNetwork[0]", "overlaps 10.128.0.0/14, which networking.clusterNetwork[0].cidr has"},
		"host bits":           {InstallConfig, install, "10.0.0.0/24", "10.0.0.1/24", "networking.machineNetwork[0].cidr", "write 10.0.0.0/24"},
		"room for pods":       {InstallConfig, install, "hostPrefix: 23", "hostPrefix: 15", "networking.clusterNetwork[0].hostPrefix", "2 subnets of /15, and there are 3 machines"},
		"host prefix":         {InstallConfig, install, "hostPrefix: 23", "hostPrefix: 12", "networking.clusterNetwork[0].hostPrefix", "write 14 to 32"},
		"cluster of one":      {InstallConfig, install, "platform:", "bootstrapInPlace: {installationDisk: /dev/vda}\nplatform:", "bootstrapInPlace", "one machine"},
		"VIP elsewhere":       {InstallConfig, install, "{none: {}}", "{baremetal: {apiVIPs: [10.9.9.9], ingressVIPs: [10.0.0.5]}}", "platform.baremetal.apiVIPs[0]", "none of the machineNetwork's subnets"},
		"cluster's name":      {InstallConfig, install, "name: okd", "name: OKD", "metadata.name", "lower-case"},
		"role":                {AgentConfig, agent, "role: master", "role: boss", "hosts[0].role", "master, arbiter, worker"},
		"MAC address":         {AgentConfig, agent, "52:54:00:22:5d:84", "52:54", "hosts[0].interfaces[0].macAddress", "MAC address"},
		"one name twice":      {AgentConfig, agent, "okd-worker-01", "okd-master-01", "hosts[1].hostname", "hosts[0].hostname has the host name"},
		"one MAC address":     {AgentConfig, agent, "role: worker,", `role: worker, interfaces: [{name: eth0, macAddress: "52-54-00-22-5D-84"}],`, "hosts[1].interfaces[0].macAddress", "hosts[0].interfaces[0].macAddress has the MAC address"},
		"nobody to meet":      {AgentConfig, strings.ReplaceAll(agent, "  networkConfig: {interfaces: [{name: eth0, type: ethernet, state: up}]}\n", ""), "rendezvousIP: 10.0.0.10", "", "rendezvousIP", "meet at"},
		"unknown document":    {KubeadmConfig, kubeadm, "KubeletConfiguration", "kubelet_configuration", "kubelet_configuration", "write KubeletConfiguration"},
		"arguments as a map":  {KubeadmConfig, kubeadm, "[{name: audit-log-path, value: /var/log/audit.log}]", "{audit-log-path: /var/log/audit.log}", "ClusterConfiguration.apiServer.extraArgs", "write a list"},
		"other version":       {KubeadmConfig, kubeadm, "kubernetesVersion:", "apiVersion: kubeadm.k8s.io/v1beta3\n  kubernetesVersion:", "ClusterConfiguration.apiVersion", "v1beta4"},
		"subnet":              {KubeadmConfig, kubeadm, "10.128.0.0/14", "10.128.0.0", "ClusterConfiguration.networking.podSubnet", "write a subnet"},
		"nothing at all":      {KubeadmConfig, "ClusterConfiguration: {}", "{}", "null", "", "it is empty"},
		"kubelet's text":      {KubeadmConfig, kubeadm, "{cgroupDriver: systemd}", "systemd", "KubeletConfiguration", "write an object, not a string"},
		"port out of bounds":  {KubeadmConfig, kubeadm, "controlPlaneEndpoint: api.k8s.example:6443", "controlPlaneEndpoint: api.k8s.example:99999", "ClusterConfiguration.controlPlaneEndpoint", "1 to 65535"},
		"port's text":         {KubeadmConfig, kubeadm, "controlPlaneEndpoint: api.k8s.example:6443", "controlPlaneEndpoint: api.k8s.example:abc", "ClusterConfiguration.controlPlaneEndpoint", "1 to 65535"},
		"endpoint with a URL": {KubeadmConfig, kubeadm, "controlPlaneEndpoint: api", "controlPlaneEndpoint: https://api", "ClusterConfiguration.controlPlaneEndpoint", "HOST:PORT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(c.text, c.old) {
				t.Fatalf("%s: %q is not in the document", name, c.old)
			}
			out, problems := c.render(document(t, strings.Replace(c.text, c.old, c.new, 1)))
			found := false
			for _, p := range problems {
				found = found || PlaceOf(p) == c.place && strings.Contains(p.Detail, c.detail)
				if strings.Contains(p.Detail, "c2VjcmV0") {
					t.Errorf("%s shows the pull secret: %s", name, p.Detail)
				}
			}
			if !found || out != "" {
				t.Errorf("%s: %+v", name, problems)
			}
		})
	}
}

// Installers read YAML 1.1, in which more than true and 17 is no text.
func TestTextsStayTexts(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"52:54:00:11:22:33", "1:30", "yes", "off", "N", "1.30", "017", "0x1f", "1e3", "true", "null", "~", "2001-01-01", "", " a", "a: b", "a #b", "- a", "@a", "line\nline\n", "\t", "{}", "%d"} {
		t.Run(s, func(t *testing.T) {
			out, err := renderYAML(yaml.MapSlice{{Key: "a", Value: s}, {Key: "b", Value: []any{s}}})
			if err != nil {
				t.Fatal(err)
			}
			var old struct {
				A any   `yaml:"a"`
				B []any `yaml:"b"`
			}
			if err := yamlv3.Unmarshal([]byte(out), &old); err != nil || old.A != any(s) || len(old.B) != 1 || old.B[0] != any(s) {
				t.Errorf("%q is rendered as %s and read as %#v, %v", s, out, old, err)
			}
			if ambiguous.MatchString(s) && !strings.Contains(out, strconv.Quote(s)) {
				t.Errorf("%q has no quotes: %s", s, out)
			}
		})
	}
}
