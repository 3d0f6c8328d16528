package ownunit

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Look is what a script prints of a machine before something is put on it: lines of a word and a value, as the values behind each word, in
// order.
type Look map[string][]string

// ParseLook reads what a script printed.
func ParseLook(seen string) Look {
	l := Look{}
	for line := range strings.Lines(seen) {
		word, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		l[word] = append(l[word], value)
	}
	return l
}

// Addresses are the values of "address": addresses with the lengths of their networks, as ip prints them, without those.
func (l Look) Addresses() []netip.Addr {
	var all []netip.Addr
	for _, value := range l["address"] {
		if p, err := netip.ParsePrefix(value); err == nil {
			all = append(all, p.Addr())
		}
	}
	return all
}

// Listener is a process that listens at a socket, as ss tells both.
type Listener struct {
	// Process is its name, or "something".
	Process string
	// Socket is where it listens: "0.0.0.0:69", "[::]:69", "*:69", "10.0.0.1%eth0:69".
	Socket string
}

// Listeners are the values of a word that sockets come behind, each with who uses it: users:(("dnsmasq",pid=7,fd=4)).
func (l Look) Listeners(word string) []Listener {
	var all []Listener
	for _, value := range l[word] {
		socket, users, _ := strings.Cut(value, " ")
		process := "something"
		if _, rest, quoted := strings.Cut(users, "\""); quoted {
			process, _, _ = strings.Cut(rest, "\"")
		}
		all = append(all, Listener{process, socket})
	}
	return all
}

// TakesAll says whether it listens at every address of the machine.
func (l Listener) TakesAll() bool {
	a, err := l.parseAddress()
	return err != nil || a.IsUnspecified()
}

// Takes says whether it takes what comes to an address; an invalid one is every address of the machine.
func (l Listener) Takes(address netip.Addr) bool {
	a, _ := l.parseAddress()
	return l.TakesAll() || !address.IsValid() || a == address
}

// parseAddress is what it listens at; an error where that is written as a star.
func (l Listener) parseAddress() (netip.Addr, error) {
	host := l.Socket[:max(0, strings.LastIndex(l.Socket, ":"))]
	host, _, _ = strings.Cut(strings.Trim(host, "[]"), "%")
	return netip.ParseAddr(host)
}

// CheckPort returns who else than an instance listens at its TCP port already, as an error at the port's attribute; nil where nobody does. An
// invalid address is every one of the machine.
func (d *Daemon) CheckPort(ctx context.Context, h host.Host, instance string, attribute []any, address netip.Addr, port int64) error {
	out, err := h.Run(ctx, host.RepeatableScript("units.sh listeners", script, "listeners", d.UnitOf(instance), strconv.FormatInt(port, 10)))
	if err != nil {
		return err
	}
	for _, l := range ParseLook(string(out)).Listeners("tcp") {
		if l.Takes(address) {
			return service.At(attribute, fmt.Errorf("%s on %s listens at %s already: end it, or write another port", l.Process, h, l.Socket))
		}
	}
	return nil
}
