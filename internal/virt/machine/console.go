package machine

import (
	"cmp"
	"context"
	"net"
	"strconv"

	"libvirt.org/go/libvirtxml"
)

// Console is the serial console.
type Console struct {
	// Type is "pty", "tcp" or "none".
	Type string `attr:"type" restart:"yes"`
	// LogFile on the hypervisor gets everything the guest writes; "" for none.
	LogFile string `attr:"log_file" restart:"yes"`
	// Address and Port are where one of type "tcp" listens, and Protocol is "raw" or "telnet".
	Address  string `attr:"address" restart:"yes"`
	Port     int64  `attr:"port" restart:"yes"`
	Protocol string `attr:"protocol" restart:"yes"`
}

// listenAddress is where a console of type "tcp" listens; "" for any other.
func (c Console) listenAddress() string {
	if c.Type != "tcp" || c.Address == "" || c.Port == 0 {
		return ""
	}
	return net.JoinHostPort(c.Address, strconv.FormatInt(c.Port, 10))
}

// renderSource returns where the guest's words go to and come from.
func (c Console) renderSource() *libvirtxml.DomainChardevSource {
	if c.Type == "tcp" {
		return &libvirtxml.DomainChardevSource{TCP: &libvirtxml.DomainChardevSourceTCP{Mode: "bind", Host: c.Address, Service: strconv.FormatInt(c.Port, 10)}}
	}
	return newPTY()
}

func applyConsole(d *libvirtxml.Domain, was, want Console) {
	if was == want {
		return
	}
	if want.Type == "none" {
		d.Devices.Serials, d.Devices.Consoles = nil, nil
		return
	}
	var log *libvirtxml.DomainChardevLog
	if want.LogFile != "" {
		log = &libvirtxml.DomainChardevLog{File: want.LogFile, Append: "on"}
	}
	port := uint(0)
	if len(d.Devices.Serials) == 0 {
		d.Devices.Serials = []libvirtxml.DomainSerial{{Source: want.renderSource(), Target: &libvirtxml.DomainSerialTarget{Port: &port}}}
	}
	serial := &d.Devices.Serials[0]
	if was.Type != want.Type || want.Type == "tcp" {
		serial.Source, serial.Protocol = want.renderSource(), nil
		d.Devices.Consoles = nil
	}
	if want.Type == "tcp" {
		serial.Protocol = &libvirtxml.DomainChardevProtocol{Type: want.Protocol}
	}
	serial.Log = log
	if len(d.Devices.Consoles) == 0 {
		d.Devices.Consoles = []libvirtxml.DomainConsole{{Source: want.renderSource(), Protocol: serial.Protocol, Target: &libvirtxml.DomainConsoleTarget{Type: "serial", Port: &port}}}
	}
	if t := d.Devices.Consoles[0].Target; t == nil || t.Type == "serial" || t.Type == "" {
		d.Devices.Consoles[0].Log = log // libvirt holds the first console to be the first serial port
	}
}

func newPTY() *libvirtxml.DomainChardevSource {
	return &libvirtxml.DomainChardevSource{Pty: &libvirtxml.DomainChardevSourcePty{}}
}

func readConsole(d *libvirtxml.Domain) Console {
	c := Console{Type: "none"}
	if d.Devices == nil {
		return c
	}
	read := func(source *libvirtxml.DomainChardevSource, protocol *libvirtxml.DomainChardevProtocol, log *libvirtxml.DomainChardevLog) {
		c.Type = "pty"
		if log != nil {
			c.LogFile = log.File
		}
		if source == nil || source.TCP == nil || source.TCP.Mode != "bind" {
			return
		}
		c.Type, c.Address, c.Protocol = "tcp", source.TCP.Host, "raw"
		c.Port, _ = strconv.ParseInt(source.TCP.Service, 10, 64)
		if protocol != nil {
			c.Protocol = cmp.Or(protocol.Type, c.Protocol)
		}
	}
	switch {
	case len(d.Devices.Serials) > 0:
		x := d.Devices.Serials[0]
		read(x.Source, x.Protocol, x.Log)
		if x.Log == nil && len(d.Devices.Consoles) > 0 && d.Devices.Consoles[0].Log != nil {
			c.LogFile = d.Devices.Consoles[0].Log.File
		}
	case len(d.Devices.Consoles) > 0:
		x := d.Devices.Consoles[0]
		read(x.Source, x.Protocol, x.Log)
	}
	return c
}

// checkConsole finds a port that the console of another machine of the hypervisor listens at.
func (k hardwareChecker) checkConsole(ctx context.Context) error {
	listener := k.Want.Console.listenAddress()
	if listener == "" || !k.isNewHere() && k.Was.Console.listenAddress() == listener {
		return nil
	}
	all, err := k.Cache.listDomains(ctx, k.Client)
	if err != nil {
		return err
	}
	for _, d := range all {
		if d.UUID != k.Was.UUID && readConsole(d.Config).listenAddress() == listener {
			k.addProblem(pathTo("console", "port"), "Port in use", "the console of domain %q listens at %s: write another port, or another address", d.Name, listener)
		}
	}
	return nil
}
