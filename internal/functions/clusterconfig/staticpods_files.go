package clusterconfig

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
)

// What OpenShift's own machines have: the balancer's port beside the API's, which is the machine's own server, and the priority that a
// check adds to or not.
const (
	apiPort      = 6443
	balancerPort = 9445
	priority     = 40
	checkWeight  = 50
	pods         = "/etc/kubernetes/manifests/"
)

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// machineFiles are a machine's: workers take part in the ingress address alone, and balance nothing.
func (c podCluster) machineFiles(m podMachine) []file {
	files := []file{
		{"/etc/keepalived/keepalived.conf", c.renderKeepalived(m), 0o600},
		{"/etc/coredns/Corefile", c.renderCorefile(), 0o644},
		{pods + "keepalived.yaml", c.renderPod(m, "keepalived", "/usr/sbin/keepalived", "--dont-fork", "--vrrp", "--log-console", "--use-file", "/etc/keepalived/keepalived.conf"), 0o644},
		{pods + "coredns.yaml", c.renderPod(m, "coredns", "/usr/bin/coredns", "-conf", "/etc/coredns/Corefile"), 0o644},
	}
	if m.Role != "worker" {
		files = append(files,
			file{"/etc/keepalived/chk_ocp.sh", apiCheck(m), 0o755},
			file{"/etc/haproxy/haproxy.cfg", c.renderHAProxy(), 0o644},
			file{pods + "haproxy.yaml", c.renderPod(m, "haproxy", "/usr/sbin/haproxy", "-W", "-db", "-f", "/etc/haproxy/haproxy.cfg"), 0o644})
	}
	if m.Role != "bootstrap" {
		files = append(files, file{"/etc/keepalived/chk_ingress.sh", "#!/bin/sh\n/usr/bin/timeout 0.9 /usr/bin/curl -o /dev/null -Lfs http://localhost:1936/healthz/ready\n", 0o755})
	}
	if c.hasMonitors() {
		files = append(files, c.templatesOf(m)...)
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.path, b.path) })
	return files
}

// machineUnits lead what asks the API's address to the balancer beside the machine's own server, which has the port. Where the balancer has a
// monitor, that does so, and only while the balancer leads to somebody.
func (c podCluster) machineUnits(m podMachine) map[string]string {
	if _, monitored := c.monitorOf(m, "haproxy"); m.Role == "worker" || monitored {
		return nil
	}
	rule := fmt.Sprintf("-d %s -p tcp --dport %d -j REDIRECT --to-ports %d", c.APIVIP, apiPort, balancerPort)
	program := "iptables"
	if c.APIVIP.Is6() {
		program = "ip6tables"
	}
	var b strings.Builder
	b.WriteString("[Unit]\nDescription=The API's virtual address leads to the balancer\nBefore=kubelet.service\n\n[Service]\nType=oneshot\nRemainAfterExit=yes\n")
	for _, chain := range []string{"PREROUTING", "OUTPUT"} {
		// From inside, what the machine itself asks comes over the loopback device.
		also := ""
		if chain == "OUTPUT" {
			also = " -o lo"
		}
		fmt.Fprintf(&b, "ExecStart=/usr/sbin/%s -t nat -A %s %s%s\nExecStop=/usr/sbin/%s -t nat -D %s %s%s\n", program, chain, rule, also, program, chain, rule, also)
	}
	b.WriteString("\n[Install]\nWantedBy=multi-user.target\n")
	return map[string]string{"api-balancer-redirect.service": b.String()}
}

// apiCheck succeeds where both the machine's API server and its balancer take requests. The bootstrap's server counts by itself: before
// there are masters, its balancer has nobody to lead to.
func apiCheck(m podMachine) string {
	ask := func(port int) string {
		return fmt.Sprintf("/usr/bin/timeout 0.9 /usr/bin/curl -o /dev/null -kLfs https://localhost:%d/readyz", port)
	}
	if m.Role == "bootstrap" {
		return "#!/bin/sh\n" + ask(apiPort) + "\n"
	}
	return "#!/bin/sh\n" + ask(apiPort) + " && " + ask(balancerPort) + "\n"
}

func (c podCluster) renderKeepalived(m podMachine) string {
	var b strings.Builder
	b.WriteString("global_defs {\n    enable_script_security\n    script_user root\n    max_auto_priority -1\n    vrrp_garp_master_refresh 60\n}\n\n")
	if m.Role != "worker" {
		b.Write(c.vrrpInstance(m, "api", c.APIVIP, "chk_ocp").Render())
	}
	if m.Role != "bootstrap" {
		b.Write(c.vrrpInstance(m, "ingress", c.IngressVIP, "chk_ingress").Render())
	}
	return b.String()
}

// vrrpInstance is a machine's part in an address, with the router id, priority and password that OpenShift's own machines have: who joins
// speaks with them. By IPv6 that is VRRP version 3, which has no password and is spoken from an interface's link-local address (RFC 5798 sections 9
// and 5.1.2.2).
func (c podCluster) vrrpInstance(m podMachine, role string, address netip.Addr, check string) keepalived.Instance {
	password := fmt.Sprintf("%s_%s_vip", c.Cluster, role)
	in := keepalived.Instance{
		Name: c.Cluster + "_" + strings.ToUpper(role), State: "BACKUP", Interface: c.Interface, RouterID: alloc.VirtualRouterID(c.Cluster, role), Version: 2,
		Priority: priority, AdvertInterval: 1, AuthPass: password[:min(8, len(password))], Source: m.Address,
		Addresses: []netip.Prefix{netip.PrefixFrom(address, c.Network.Bits())},
		Track:     []keepalived.Track{{Name: check, Script: "/etc/keepalived/" + check + ".sh", Interval: 1, Weight: checkWeight, Rise: 3, Fall: 2, User: "root"}},
	}
	if address.Is6() {
		in.Version, in.AuthPass, in.Source = 3, "", netip.Addr{}
	}
	return in
}

func (c podCluster) renderHAProxy() string {
	yes := true
	masters := haproxy.Backend{Mode: "tcp", Balance: "roundrobin", HTTPCheck: &haproxy.HTTPCheck{Method: "GET", URI: "/readyz", Expect: "status 200"},
		DefaultServer: &haproxy.Params{Check: &yes, CheckSSL: &yes, Verify: "none", Inter: "1s", Fall: 2, Rise: 3}, Servers: map[string]haproxy.Server{}}
	for _, m := range c.Machines {
		if m.Role != "worker" {
			backup := m.Role == "bootstrap"
			s := haproxy.Server{Address: m.Address.String(), Port: apiPort, State: haproxy.Ready}
			if backup {
				s.Backup = &backup
			}
			masters.Servers[m.Name] = s
		}
	}
	api := haproxy.Frontend{Mode: "tcp", Binds: []haproxy.Bind{{Address: "::", Port: balancerPort, Options: "v4v6"}}, DefaultBackend: "masters"}
	ready := haproxy.Frontend{Mode: "http", Binds: []haproxy.Bind{{Address: "::", Port: 9444, Options: "v4v6"}}, MonitorURI: "/haproxy_ready"}
	sections := []struct {
		header string
		lines  []string
	}{
		// No limit of all connections: HAProxy takes what its machine lets it open, and does not begin where it is asked for more.
		{"global", []string{"log stdout format raw local0 notice"}},
		{"defaults", []string{"log global", "maxconn 20000", "timeout connect 10s", "timeout client 1d", "timeout server 1d", "timeout tunnel 1d", "timeout http-request 30s", "option dontlognull", "retries 3"}},
		{"frontend main", api.Body()},
		{"frontend ready", ready.Body()},
		{"backend masters", masters.Body()},
	}
	var b strings.Builder
	for i, s := range sections {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(s.header + "\n")
		for _, line := range s.lines {
			b.WriteString("    " + line + "\n")
		}
	}
	return b.String()
}

// renderCorefile has the cluster's names by templates, as a name below *.apps is no line of a file, and the machines' own as hosts.
func (c podCluster) renderCorefile() string {
	var b strings.Builder
	b.WriteString(". {\n    errors\n    bufsize 512\n    health :18080\n    reload\n    cache 30\n")
	for _, name := range []struct {
		pattern string
		address netip.Addr
	}{
		{"^api(-int)?\\." + quoteName(c.Domain) + "\\.$", c.APIVIP},
		{"^.*\\.apps\\." + quoteName(c.Domain) + "\\.$", c.IngressVIP},
	} {
		kind, other := "A", "AAAA"
		if name.address.Is6() {
			kind, other = other, kind
		}
		fmt.Fprintf(&b, "    template IN %s %s {\n        match %s\n        answer \"{{ .Name }} 60 IN %s %s\"\n        fallthrough\n    }\n", kind, c.Domain, name.pattern, kind, name.address)
		// A name that is there has no address of the other family, which is another answer than that there is no such name.
		fmt.Fprintf(&b, "    template IN %s %s {\n        match %s\n        rcode NOERROR\n        fallthrough\n    }\n", other, c.Domain, name.pattern)
	}
	b.WriteString("    hosts {\n")
	for _, m := range c.Machines {
		fmt.Fprintf(&b, "        %s %s.%s\n", m.Address, m.Name, c.Domain)
	}
	b.WriteString("        fallthrough\n    }\n")
	if len(c.NameServers) > 0 {
		b.WriteString("    forward .")
		for _, s := range c.NameServers {
			fmt.Fprintf(&b, " %s", s)
		}
		b.WriteByte('\n')
	}
	b.WriteString("}\n")
	return b.String()
}

func quoteName(name string) string { return strings.ReplaceAll(name, ".", "\\.") }

// renderPod is a static pod of the machine's network with a daemon, which has its configuration from the machine, and the daemon's monitor
// where there is one.
func (c podCluster) renderPod(m podMachine, name string, command ...string) string {
	containers := []container{{name: name, image: c.Images[name], command: command, mounts: map[string]string{"config": "/etc/" + name}}}
	if beside, there := c.monitorOf(m, name); there {
		if socket := sockets[name]; socket != "" {
			containers[0].command = c.superviseCommand(name, command...)
			containers[0].mounts["sockets"] = filepath.Dir(socket)
		}
		containers = append(containers, beside)
	}
	volumes := map[string]yaml.MapItem{}
	var manifests []any
	for _, k := range containers {
		manifests = append(manifests, k.toYAML())
		for volume, path := range k.mounts {
			if from, elsewhere := map[string]string{"templates": templates + name, "machine": "/"}[volume]; elsewhere {
				path = from
			}
			volumes[volume] = yaml.MapItem{Key: "hostPath", Value: map[string]string{"path": path}}
			if volume == "sockets" {
				volumes[volume] = yaml.MapItem{Key: "emptyDir", Value: map[string]string{}}
			}
		}
	}
	var sources []any
	for _, volume := range slices.Sorted(maps.Keys(volumes)) {
		sources = append(sources, yaml.MapSlice{{Key: "name", Value: volume}, volumes[volume]})
	}
	out, err := yaml.MarshalWithOptions(yaml.MapSlice{
		{Key: "apiVersion", Value: "v1"},
		{Key: "kind", Value: "Pod"},
		{Key: "metadata", Value: yaml.MapSlice{{Key: "name", Value: name}, {Key: "namespace", Value: "kube-system"}, {Key: "labels", Value: map[string]string{"app": name}}}},
		{Key: "spec", Value: yaml.MapSlice{
			{Key: "hostNetwork", Value: true},
			{Key: "priorityClassName", Value: "system-node-critical"},
			{Key: "tolerations", Value: []any{map[string]string{"operator": "Exists"}}},
			{Key: "containers", Value: manifests},
			{Key: "volumes", Value: sources},
		}},
	}, yaml.IndentSequence(false), yaml.UseLiteralStyleIfMultiline(true))
	if err != nil {
		// Nothing here is of a kind that YAML has no words for.
		panic(err)
	}
	return string(out)
}
