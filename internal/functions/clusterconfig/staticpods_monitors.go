package clusterconfig

import (
	_ "embed"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
)

// Monitors are programs of OpenShift's beside the daemons of static pods (baremetal-runtimecfg): each asks the cluster's API which nodes
// there are, writes its daemon's configuration anew from a template, and says so to the daemon's container at a socket.

// templates is where machines have the monitors' templates, in a directory for each daemon.
const templates = "/etc/kubernetes/static-pod-resources/"

// sockets are where the monitors say that there is another configuration. CoreDNS looks by itself.
var sockets = map[string]string{"keepalived": "/var/run/keepalived/keepalived.sock", "haproxy": "/var/run/haproxy/haproxy-master.sock"}

// hasMonitors says whether monitors stand beside the daemons.
func (c podCluster) hasMonitors() bool { return c.Images["runtimecfg"] != "" }

// templatesOf are a machine's. On the bootstrap, whose cluster is not there yet, only keepalived has a monitor, as OpenShift has it.
func (c podCluster) templatesOf(m podMachine) []file {
	files := []file{{templates + "keepalived/keepalived.conf.tmpl", c.keepalivedTemplate(m), 0o644}}
	if m.Role != "bootstrap" {
		files = append(files, file{templates + "coredns/Corefile.tmpl", c.corefileTemplate(), 0o644})
	}
	if m.Role == "master" {
		files = append(files, file{templates + "haproxy/haproxy.cfg.tmpl", c.haproxyTemplate(), 0o644})
	}
	return files
}

// keepalivedTemplate has the device, and the machines that take part, as the monitor finds them: it leaves a configuration without
// unicast_peer one without.
func (c podCluster) keepalivedTemplate(m podMachine) string {
	m.Address = netip.Addr{}
	text := strings.ReplaceAll(c.renderKeepalived(m), "interface "+c.Interface+"\n", "interface {{ .VRRPInterface }}\n")
	parts := strings.SplitAfter(text, "\n    advert_int 1\n")
	peers := []struct{ list, address string }{{".LBConfig.Backends", ".Address"}, {".IngressConfig.Peers", "."}}
	if m.Role == "worker" {
		peers = peers[1:]
	}
	multicast := "\n{{- else }}\n    mcast_src_ip {{ .NonVirtualIP }}"
	if c.Network.Addr().Is6() {
		multicast = ""
	}
	var b strings.Builder
	b.WriteString(parts[0])
	for i, part := range parts[1:] {
		fmt.Fprintf(&b, `{{- $own := .NonVirtualIP }}
{{- if .EnableUnicast }}
    unicast_src_ip {{ .NonVirtualIP }}
    unicast_peer {
    {{- range %s }}{{ if ne %s $own }}
        {{ %[2]s }}
    {{- end }}{{ end }}
    }%s
{{- end }}
`, peers[i].list, peers[i].address, multicast)
		b.WriteString(part)
	}
	return b.String()
}

func (c podCluster) haproxyTemplate() string {
	var b strings.Builder
	for line := range strings.Lines(c.renderHAProxy()) {
		if !strings.HasPrefix(line, "    server ") {
			b.WriteString(line)
		}
	}
	b.WriteString("{{- range .LBConfig.Backends }}\n    server {{ .Host }} {{ .Address }}:{{ .Port }}\n{{- end }}\n")
	return strings.Replace(b.String(), fmt.Sprintf(":%d v4v6", balancerPort), ":{{ .LBConfig.LbPort }} v4v6", 1)
}

func (c podCluster) corefileTemplate() string {
	before := c
	before.Machines, before.NameServers = nil, nil
	text := strings.ReplaceAll(before.renderCorefile(), "{{ .Name }}", `{{ "{{ .Name }}" }}`) // what CoreDNS fills in itself
	text = strings.Replace(text, "    hosts {\n", "    hosts {\n{{- range .Cluster.NodeAddresses }}\n        {{ .Address }} {{ .Name }}."+c.Domain+"\n{{- end }}\n", 1)
	return strings.TrimSuffix(text, "}\n") + "{{- if .DNSUpstreams }}\n    forward .{{ range .DNSUpstreams }} {{ . }}{{ end }}\n{{- end }}\n}\n"
}

// superviseScript runs a daemon that a monitor speaks to.
//
//go:embed supervise.sh
var superviseScript string

// superviseCommand is the command of a daemon's container that a monitor speaks to.
func (c podCluster) superviseCommand(name string, command ...string) []string {
	reload := map[string]string{"keepalived": "HUP", "haproxy": "USR2"}[name]
	addresses := ""
	if name == "keepalived" {
		addresses = fmt.Sprintf("%s %s", c.APIVIP, c.IngressVIP)
	}
	return append([]string{"/bin/bash", "-c", superviseScript, "supervise", sockets[name], name, reload, addresses}, command...)
}

// container is one of a static pod, which has directories of the machine's by the volumes' names.
type container struct {
	name, image string
	command     []string
	environment map[string]string
	mounts      map[string]string
}

// monitorOf is the monitor beside a daemon of a machine; none for those that have none.
func (c podCluster) monitorOf(m podMachine, name string) (beside container, there bool) {
	addresses := func(option string, a netip.Addr) []string { return []string{option, a.String()} }
	kubeconfig := "/var/lib/kubelet/kubeconfig"
	api, ingress := addresses("--api-vips", c.APIVIP), addresses("--ingress-vips", c.IngressVIP)
	beside = container{name: name + "-monitor", image: c.Images["runtimecfg"], mounts: map[string]string{
		"templates": "/config", "kubeconfig": "/var/lib/kubelet", "config": "/etc/" + name, "machine": "/host",
	}}
	if sockets[name] != "" {
		beside.mounts["sockets"] = filepath.Dir(sockets[name])
	}
	command := func(program, template, file string, options ...[]string) {
		beside.command = []string{program, kubeconfig, "/config/" + template, "/etc/" + name + "/" + file}
		for _, o := range options {
			beside.command = append(beside.command, o...)
		}
	}
	switch {
	case !c.hasMonitors(), m.Role == "bootstrap" && name != "keepalived":
		return beside, false
	case name == "keepalived":
		beside.environment = map[string]string{"ENABLE_UNICAST": "no", "IS_BOOTSTRAP": "no"}
		var first []string
		if m.Role == "bootstrap" {
			// Before there is a cluster, what the installer wrote says what it will be.
			kubeconfig = "/etc/kubernetes/kubeconfig"
			beside.environment["IS_BOOTSTRAP"] = "yes"
			beside.mounts["kubeconfig"], beside.mounts["manifests"] = "/etc/kubernetes", "/opt/openshift/manifests"
			first = []string{"--cluster-config", "/opt/openshift/manifests/cluster-config.yaml", "--check-interval", "5s"}
		}
		command("dynkeepalived", "keepalived.conf.tmpl", "keepalived.conf", api, ingress, first)
	case name == "haproxy":
		command("monitor", "haproxy.cfg.tmpl", "haproxy.cfg", api)
	case name == "coredns":
		beside.mounts["resolv"] = "/var/run/NetworkManager" // whose name servers are asked for all other names
		command("corednsmonitor", "Corefile.tmpl", "Corefile", api, ingress)
	}
	return beside, true
}

// toYAML is the container in a pod's manifest.
func (k container) toYAML() yaml.MapSlice {
	mounts := []any{}
	for _, volume := range sortedNames(k.mounts) {
		mounts = append(mounts, yaml.MapSlice{{Key: "name", Value: volume}, {Key: "mountPath", Value: k.mounts[volume]}})
	}
	out := yaml.MapSlice{{Key: "name", Value: k.name}, {Key: "image", Value: k.image}, {Key: "command", Value: k.command}}
	if len(k.environment) > 0 {
		variables := []any{}
		for _, name := range sortedNames(k.environment) {
			variables = append(variables, yaml.MapSlice{{Key: "name", Value: name}, {Key: "value", Value: k.environment[name]}})
		}
		// Its own namespace, where it looks for how much it is to log.
		from := map[string]any{"fieldRef": map[string]string{"fieldPath": "metadata.namespace"}}
		out = append(out, yaml.MapItem{Key: "env", Value: append(variables, yaml.MapSlice{{Key: "name", Value: "POD_NAMESPACE"}, {Key: "valueFrom", Value: from}})})
	}
	return append(out,
		yaml.MapItem{Key: "securityContext", Value: map[string]bool{"privileged": true}},
		yaml.MapItem{Key: "volumeMounts", Value: mounts})
}
