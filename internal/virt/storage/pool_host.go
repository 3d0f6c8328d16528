package storage

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// mostPort is the highest number of a port.
const mostPort = 65535

// splitHost returns the name or the address of a host, and its port; "" where none is said. What it takes is spelled as it is read back of what
// libvirt is told: the name and the port by themselves.
func splitHost(host string) (name, port string, err error) {
	if _, err := netip.ParseAddr(host); err == nil || !strings.ContainsAny(host, "[]:") {
		return host, "", nil
	}
	name, port, err = net.SplitHostPort(host)
	if err == nil && name != "" && isPort(port) && net.JoinHostPort(name, port) == host {
		return name, port, nil
	}
	return "", "", fmt.Errorf("%q is no host: write its name or its address, with \":PORT\" (1 to %d) where that is not the usual one: san.example, san.example:3261, fd00::6, [fd00::6]:3261", host, mostPort)
}

// isPort says whether a text is the number of a port, without zeros before it.
func isPort(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 1 && n <= mostPort && strconv.Itoa(n) == text
}

// sameHosts says whether two lists name the same hosts, in whichever order and spelling.
func sameHosts(a, b []string) bool { return slices.Equal(canonicalHosts(a), canonicalHosts(b)) }

// canonicalHosts returns the one spelling of hosts that mean the same.
func canonicalHosts(hosts []string) []string {
	var all []string
	for _, host := range hosts {
		name, port, err := splitHost(host)
		if err != nil {
			name = host
		}
		if address, err := netip.ParseAddr(name); err == nil {
			name = address.String()
		}
		all = append(all, net.JoinHostPort(strings.ToLower(name), port))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
