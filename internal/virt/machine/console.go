package machine

import (
	"cmp"
	"context"
	"net"
	"slices"
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

// applyConsole changes the serial port 0 alone, and the consoles that stand for it: a person may have made others.
func applyConsole(d *libvirtxml.Domain, was, want Console) {
	if was == want {
		return
	}
	if was.Type != want.Type || want.Type == "tcp" {
		d.Devices.Consoles = slices.DeleteFunc(d.Devices.Consoles, isSerialConsole)
	}
	at := slices.IndexFunc(d.Devices.Serials, isFirstSerial)
	if want.Type == "none" {
		if at >= 0 {
			d.Devices.Serials = slices.Delete(d.Devices.Serials, at, at+1)
		}
		return
	}
	port := uint(0)
	if at < 0 {
		at = 0
		d.Devices.Serials = slices.Insert(d.Devices.Serials, at, libvirtxml.DomainSerial{Source: want.renderSource(), Target: &libvirtxml.DomainSerialTarget{Port: &port}})
	}
	serial := &d.Devices.Serials[at]
	if was.Type != want.Type || want.Type == "tcp" {
		serial.Source, serial.Protocol = want.renderSource(), nil
	}
	if want.Type == "tcp" {
		serial.Protocol = &libvirtxml.DomainChardevProtocol{Type: want.Protocol}
	}
	serial.Log = nil
	if want.LogFile != "" {
		serial.Log = &libvirtxml.DomainChardevLog{File: want.LogFile, Append: "on"}
	}
	// libvirt holds the first console to be the first serial port.
	if len(d.Devices.Consoles) == 0 || !isSerialConsole(d.Devices.Consoles[0]) {
		console := libvirtxml.DomainConsole{Source: want.renderSource(), Protocol: serial.Protocol, Target: &libvirtxml.DomainConsoleTarget{Type: "serial", Port: &port}}
		d.Devices.Consoles = slices.Insert(d.Devices.Consoles, 0, console)
	}
	d.Devices.Consoles[0].Log = serial.Log
}

// isFirstSerial says of a serial port whether it is the one that the console is at.
func isFirstSerial(x libvirtxml.DomainSerial) bool {
	return x.Target == nil || x.Target.Port == nil || *x.Target.Port == 0
}

// isSerialConsole says of a console whether it stands for a serial port.
func isSerialConsole(x libvirtxml.DomainConsole) bool {
	return x.Target == nil || x.Target.Type == "serial" || x.Target.Type == ""
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
	at := slices.IndexFunc(d.Devices.Serials, isFirstSerial)
	first := len(d.Devices.Consoles) > 0 && isSerialConsole(d.Devices.Consoles[0])
	switch {
	case at >= 0:
		x := d.Devices.Serials[at]
		read(x.Source, x.Protocol, x.Log)
		if x.Log == nil && first && d.Devices.Consoles[0].Log != nil {
			c.LogFile = d.Devices.Consoles[0].Log.File
		}
	case len(d.Devices.Serials) == 0 && first:
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
