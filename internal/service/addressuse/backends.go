package addressuse

import (
	"cmp"
	"net/netip"
	"path"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// networkGlobs are the files of all that configures a network over reboots: systemd-networkd, netplan, NetworkManager, ifupdown and
// Red Hat's network scripts. What a distribution ships has no addresses of a machine.
var networkGlobs = []string{
	"/etc/systemd/network/*.network", "/etc/systemd/network/*.network.d/*.conf", "/run/systemd/network/*.network", "/run/systemd/network/*.network.d/*.conf",
	"/etc/netplan/*.yaml", "/run/netplan/*.yaml", "/lib/netplan/*.yaml",
	"/etc/NetworkManager/system-connections/*", "/run/NetworkManager/system-connections/*",
	"/etc/network/interfaces", "/etc/network/interfaces.d/*",
	"/etc/sysconfig/network-scripts/ifcfg-*",
}

// assignment is an address that network configuration gives to a device. devices are patterns of names, or hardware addresses; none
// where it cannot be told.
type assignment struct {
	address netip.Addr
	devices []string
}

// ownHead begins every file of network configuration that this provider writes: what it has of addresses is in the record of the bridge
// or the interface.
const ownHead = "# virtcluster "

// parseAssignments returns what a file of network configuration gives to devices; nothing of any other file, and of one that is this
// provider's, or that another one is rendered into.
func parseAssignments(file string, files map[string]host.File) []assignment {
	text := string(files[file].Content)
	directory, name := path.Split(file)
	switch {
	case strings.HasPrefix(text, ownHead):
		return nil
	case strings.HasPrefix(directory, "/run/") && (strings.Contains(name, "-netplan-") || strings.HasPrefix(name, "netplan-") || strings.Contains(directory, "-netplan-")):
		return nil // rendered from netplan's own files
	case strings.Contains(directory, "/systemd/network/"):
		return ofNetworkd(file, text, files)
	case strings.HasSuffix(directory, "/netplan/"):
		return ofNetplan(text)
	case strings.Contains(directory, "/NetworkManager/"):
		return ofNetworkManager(text)
	case strings.HasPrefix(file, "/etc/network/"):
		return ofIfupdown(text)
	case strings.HasPrefix(name, "ifcfg-"):
		return ofNetworkScript(strings.TrimPrefix(name, "ifcfg-"), text)
	}
	return nil
}

// addressOf reads an address, with a prefix length or without.
func addressOf(text string) (netip.Addr, bool) {
	text, _, _ = strings.Cut(strings.Trim(strings.TrimSpace(text), `"'`), "/")
	a, err := netip.ParseAddr(text)
	return a, err == nil
}

// setting is a line of a file in sections, as systemd's, NetworkManager's and shells' are.
type setting struct{ section, key, value string }

func parseSettings(text string) []setting {
	var all []setting
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch key, value, is := strings.Cut(line, "="); {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		case is:
			all = append(all, setting{section, strings.TrimSpace(key), strings.TrimSpace(value)})
		}
	}
	return all
}

// ofNetworkd reads a .network file of systemd-networkd's, or what is added to one (systemd.network(5)).
func ofNetworkd(file, text string, files map[string]host.File) []assignment {
	if _, masked := files["/etc/systemd/network/"+path.Base(file)]; masked && strings.HasPrefix(file, "/run/") && strings.HasSuffix(file, ".network") {
		return nil // the one in /etc counts
	}
	matches := parseSettings(text)
	if whole, is := strings.CutSuffix(path.Dir(file), ".d"); is {
		base := path.Base(whole)
		matches = append(parseSettings(string(files["/etc/systemd/network/"+base].Content)), parseSettings(string(files["/run/systemd/network/"+base].Content))...)
	}
	var devices []string
	for _, s := range matches {
		if s.section == "Match" && (s.key == "Name" || s.key == "MACAddress" || s.key == "PermanentMACAddress") {
			devices = append(devices, strings.Fields(s.value)...)
		}
	}
	var all []assignment
	for _, s := range parseSettings(text) {
		if a, is := addressOf(s.value); is && s.key == "Address" && (s.section == "Network" || s.section == "Address") {
			all = append(all, assignment{a, devices})
		}
	}
	return all
}

// ofNetplan reads a file of netplan's (netplan-yaml(5)): every kind of device has them by their ids, which are their names unless they
// say what they match.
func ofNetplan(text string) []assignment {
	if len(text) > mostNetplan || strings.Count(text, "*") > mostAliases {
		return anyIn(text)
	}
	var file struct {
		Network map[string]any `yaml:"network"`
	}
	if yaml.Unmarshal([]byte(text), &file) != nil {
		return nil // netplan reads none of it either
	}
	var all []assignment
	for _, kind := range file.Network {
		devices, _ := kind.(map[string]any)
		for id, described := range devices {
			device, _ := described.(map[string]any)
			list, _ := device["addresses"].([]any)
			for _, element := range list {
				if options, is := element.(map[string]any); is { // "10.0.0.1/24": { label: … }
					for address := range options {
						element = address
					}
				}
				word, _ := element.(string)
				if a, is := addressOf(word); is {
					all = append(all, assignment{a, matchedDevices(id, device)})
				}
			}
		}
	}
	return all
}

// Bounds of what is read as YAML, where aliases of aliases may stand for any amount of text: a file beyond them has every address in it.
const (
	mostNetplan = 1 << 18
	mostAliases = 20
)

// anyIn are all addresses with a prefix length among the words of a text, for no device in particular.
func anyIn(text string) []assignment {
	var all []assignment
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n,[]{}\"'", r) }) {
		if p, err := netip.ParsePrefix(word); err == nil {
			all = append(all, assignment{address: p.Addr()})
		}
	}
	return all
}

// matchedDevices are the devices that netplan's description is of.
func matchedDevices(id string, device map[string]any) []string {
	match, _ := device["match"].(map[string]any)
	names := []string{id}
	for _, key := range []string{"name", "macaddress"} {
		if word, is := match[key].(string); is {
			names = append(names, word)
		}
	}
	if word, is := device["set-name"].(string); is {
		names = append(names, word)
	}
	return names
}

var keyfileAddress = regexp.MustCompile(`^address(es)?[0-9]*$`)

// ofNetworkManager reads a connection (nm-settings-keyfile(5)). NetworkManager makes one for a device that something else configured: it
// is no more than what the device has.
func ofNetworkManager(text string) []assignment {
	var all []assignment
	var devices []string
	lines := parseSettings(text)
	for _, s := range lines {
		switch {
		case s.section == ".nmmeta" && s.key == "nm-generated" && s.value == "true":
			return nil
		case s.section == "user" && s.key == "virtcluster.mark":
			return nil // this provider's, of which the record tells
		case s.section == "connection" && s.key == "interface-name", s.key == "mac-address":
			devices = append(devices, s.value)
		}
	}
	for _, s := range lines {
		if (s.section != "ipv4" && s.section != "ipv6") || !keyfileAddress.MatchString(s.key) {
			continue
		}
		for _, word := range strings.FieldsFunc(s.value, func(r rune) bool { return r == ',' || r == ';' }) {
			if a, is := addressOf(word); is {
				all = append(all, assignment{a, devices})
			}
			if s.key != "addresses" {
				break // behind it comes its gateway
			}
		}
	}
	return all
}

// ofIfupdown reads stanzas of interfaces(5): the address of one, and what its commands add.
func ofIfupdown(text string) []assignment {
	var all []assignment
	var devices []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		words := strings.Fields(line)
		if len(words) < 2 || strings.HasPrefix(words[0], "#") {
			continue
		}
		switch {
		case words[0] == "iface":
			device, _, _ := strings.Cut(words[1], ":")
			devices = []string{device}
		case words[0] == "address":
			if a, is := addressOf(words[1]); is {
				all = append(all, assignment{a, devices})
			}
		default:
			all = append(all, parseAdded(words, devices)...)
		}
	}
	return all
}

var (
	addressObject = regexp.MustCompile(`^a(d(d(r(e(s(s)?)?)?)?)?)?$`)
	addVerb       = regexp.MustCompile(`^(a(d(d)?)?|replace|change)$`)
)

// parseAdded is what a command of ip(8) gives to a device: ip addr add ADDRESS dev DEVICE.
func parseAdded(words, devices []string) []assignment {
	for i := 0; i+3 < len(words); i++ {
		if path.Base(words[i]) != "ip" {
			continue
		}
		rest := words[i+1:]
		for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
			rest = rest[1:]
		}
		if len(rest) < 3 || !addressObject.MatchString(rest[0]) || !addVerb.MatchString(rest[1]) {
			continue
		}
		for j, word := range rest {
			if word == "dev" && j+1 < len(rest) && !strings.HasPrefix(rest[j+1], "$") {
				devices = []string{rest[j+1]}
			}
		}
		for _, word := range rest[2:] {
			if a, is := addressOf(word); is {
				return []assignment{{a, devices}}
			}
		}
	}
	return nil
}

var scriptAddress = regexp.MustCompile(`^(IPADDR[0-9]*|IPV6ADDR|IPV6ADDR_SECONDARIES)$`)

// ofNetworkScript reads a file of Red Hat's network scripts.
func ofNetworkScript(name, text string) []assignment {
	var all []assignment
	lines := parseSettings(text)
	device, _, _ := strings.Cut(name, ":")
	for _, s := range lines {
		if s.key == "DEVICE" {
			device, _, _ = strings.Cut(cmp.Or(strings.Trim(s.value, `"'`), device), ":")
		}
	}
	for _, s := range lines {
		if !scriptAddress.MatchString(s.key) {
			continue
		}
		for _, word := range strings.Fields(strings.Trim(s.value, `"'`)) {
			if a, is := addressOf(word); is {
				all = append(all, assignment{a, []string{device}})
			}
		}
	}
	return all
}
