// Package route is a static route of one machine that is there again when the machine has started: the route itself, and a file that
// carries whose it is, in the way of what manages its device.
package route

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// Route is a route as it shall be, or as it is.
type Route struct {
	To netip.Prefix `attr:"cidr"`
	// Via is the gateway; the invalid address for what is on the device itself.
	Via netip.Addr `attr:"via"`
	// Device is "" for the one whose subnet the gateway is in.
	Device string `attr:"device"`
	// Metric 0 leaves it to the kernel.
	Metric int `attr:"metric"`
	// Backend is one of hostnet's; hostnet.Auto means what manages the device. ActiveBackend is the one in use.
	Backend       string `attr:"backend"`
	ActiveBackend string `attr:"active_backend"`
}

// Validate finds what no machine would take.
func (r Route) Validate() []service.Problem {
	var problems []service.Problem
	if r.To.IsValid() && r.To != r.To.Masked() {
		problems = append(problems, service.Problemf([]any{"cidr"}, "Invalid network", "%s is an address in a network: write %s", r.To, r.To.Masked()))
	}
	if r.Via.IsValid() && r.To.IsValid() && r.Via.Is4() != r.To.Addr().Is4() {
		problems = append(problems, service.Problemf([]any{"via"}, "Invalid gateway", "%s is of another family than %s", r.Via, r.To))
	}
	if r.Device != "" && !hostnet.ValidDevice(r.Device) {
		problems = append(problems, service.Problemf([]any{"device"}, "Invalid device", "write 1 to 15 letters, digits, dots, dashes or underscores, not %q", r.Device))
	}
	if !r.Via.IsValid() && r.Device == "" {
		problems = append(problems, service.Problemf([]any{"via"}, "Route to nowhere", "write via, device, or both"))
	}
	return problems
}

// toSetting is the route as ip(8) has it.
func (r Route) toSetting() hostnet.Setting { return hostnet.RouteSetting(r.To, r.Via, r.Metric) }

// findRoute returns the machine's route of the same destination and metric. It is nil where there is none.
func (r Route) findRoute(m hostnet.Machine) *hostnet.Route {
	for i, live := range m.Routes {
		if live.To() == r.To && (live.Metric == r.Metric || live.Asked().Metric == r.Metric) {
			return &m.Routes[i]
		}
	}
	return nil
}

// chooseDevice completes the device: the one whose subnet the gateway is in.
func (r Route) chooseDevice(m hostnet.Machine) (Route, error) {
	if r.Device != "" {
		if _, there := m.Link(r.Device); !there {
			return r, service.At([]any{"device"}, fmt.Errorf("no device %q: the machine has %q", r.Device, m.Names()))
		}
		return r, nil
	}
	if r.Device = m.DeviceBeside(r.Via); r.Device == "" {
		return r, service.At([]any{"via"}, fmt.Errorf("no device of the machine is in a network with %s: write a gateway that is, or name the device", r.Via))
	}
	return r, nil
}

// chooseBackend completes what keeps the route.
func (r Route) chooseBackend(managers hostnet.Managers) (Route, error) {
	m := managers.Of(r.Device)
	r.ActiveBackend = m.Backend
	if m.Backend == hostnet.Netplan {
		r.ActiveBackend = hostnet.Networkd
	}
	if r.Backend != hostnet.Auto && r.Backend != hostnet.Runtime && r.Backend != r.ActiveBackend {
		return r, service.At([]any{"backend"}, fmt.Errorf("%s is managed by %s: write \"auto\" or %q", r.Device, m.Backend, r.ActiveBackend))
	}
	if r.Backend == hostnet.Runtime {
		r.ActiveBackend = hostnet.Runtime
	}
	if r.ActiveBackend == hostnet.Networkd && m.File == "" {
		return r, service.At([]any{"device"}, errors.New("systemd-networkd has no .network file for "+r.Device))
	}
	return r, nil
}

// routeFile keeps the route: its path depends on what manages the device.
func (r Route) routeFile(managers hostnet.Managers, mark owner.Mark) hostnet.File {
	head := fmt.Sprintf("# virtcluster backend=%s device=%s %s\n", r.Backend, r.Device, mark)
	command := fmt.Sprintf("ip route replace %s dev %s proto static", r.toSetting(), r.Device)
	switch r.ActiveBackend {
	case hostnet.Networkd:
		text := head + "[Route]\nDestination=" + r.To.String() + "\n"
		if r.Via.IsValid() {
			text += "Gateway=" + r.Via.String() + "\n"
		}
		if r.Metric != 0 {
			text += fmt.Sprintf("Metric=%d\n", r.Metric)
		}
		return hostnet.File{Path: dropInDir(managers.Of(r.Device).File) + "/" + r.fileName() + ".conf", Content: text}
	case hostnet.NetworkManager:
		text := "#!/bin/sh\n" + head + "case $2 in up | reapply | dhcp4-change | dhcp6-change) ;; *) exit 0 ;; esac\n" + "[ \"$1\" != " + r.Device + " ] || " + command + "\n"
		return hostnet.File{Path: "/etc/NetworkManager/dispatcher.d/" + r.fileName(), Content: text, Mode: 0o755}
	case hostnet.Ifupdown:
		return hostnet.File{Path: "/etc/network/if-up.d/" + r.fileName(), Content: "#!/bin/sh\n" + head + "[ \"$IFACE\" != " + r.Device + " ] || " + command + "\n", Mode: 0o755}
	}
	return hostnet.File{Path: "/run/virtcluster/" + r.fileName(), Content: head}
}

// dropInDir is where what belongs to a .network file of systemd-networkd is read from.
func dropInDir(network string) string { return "/etc/systemd/network/" + path.Base(network) + ".d" }

// filePatterns match the files that may keep the route of a file's name.
func filePatterns(name string) []string {
	return []string{
		"/etc/systemd/network/*.d/" + name + ".conf", "/etc/NetworkManager/dispatcher.d/" + name, "/etc/network/if-up.d/" + name, "/run/virtcluster/" + name,
	}
}

// filePrefix is what the names of files that keep routes begin with.
const filePrefix = "virtcluster-route-"

// fileName of the file: run-parts(8) takes no dots and colons.
func (r Route) fileName() string {
	return filePrefix + strings.NewReplacer(".", "-", ":", "_", "/", "-").Replace(r.To.String()) + fmt.Sprintf("-%d", r.Metric)
}

// parseFileName is the inverse of fileName; ok is false for a file of another kind.
func parseFileName(name string) (key Route, ok bool) {
	words := strings.Split(strings.TrimPrefix(strings.TrimSuffix(name, ".conf"), filePrefix), "-")
	if last := len(words) - 1; last >= 2 {
		address := strings.ReplaceAll(strings.Join(words[:last-1], "."), "_", ":")
		var err, failed error
		key.To, err = netip.ParsePrefix(address + "/" + words[last-1])
		key.Metric, failed = strconv.Atoi(words[last])
		ok = err == nil && failed == nil
	}
	return key, ok && key.fileName() == strings.TrimSuffix(name, ".conf")
}

// backendOf is the backend that a file's path belongs to.
func backendOf(file string) string {
	for prefix, backend := range map[string]string{
		"/etc/systemd/": hostnet.Networkd, "/etc/NetworkManager/": hostnet.NetworkManager, "/etc/network/": hostnet.Ifupdown,
	} {
		if strings.HasPrefix(file, prefix) {
			return backend
		}
	}
	return hostnet.Runtime
}

// Uses implements plan.User: a machine has one route to a network of each metric.
func (r Route) Uses() []plan.Use {
	return []plan.Use{{Kind: plan.Route, Scope: fmt.Sprintf("metric %d", r.Metric), Value: r.To.String(), Path: []any{"cidr"}, Known: []string{"metric"}}}
}

// Describe implements plan.Described: by the id, and where the route leads.
func (r Route) Describe(id string) string {
	words := "route " + id
	if r.Via.IsValid() {
		words += " via " + r.Via.String()
	}
	if r.Device != "" {
		words += " dev " + r.Device
	}
	return words
}
