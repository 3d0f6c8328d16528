package netboot

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/unitprogram"
)

// Main serves the configuration of a directory until it is told to end, and reads it anew on SIGHUP. With -check it only says what is wrong
// with it.
func Main(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("netboot", flag.ContinueOnError)
	flags.SetOutput(stderr)
	directory := flags.String("config", "", "directory of the configuration")
	state := flags.String("state", "", "directory of what is known of machines")
	check := flags.Bool("check", false, "only check the configuration")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := Load(*directory)
	if err == nil {
		err = c.Check()
	}
	if err != nil || *check {
		return err
	}
	known, err := openStates(*state)
	if err != nil {
		return err
	}
	s := &service{states: known, log: log.New(stderr, "", 0), neighbours: "/proc/net/arp", upstream: &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: time.Minute, MaxIdleConnsPerHost: 8, DisableCompression: true,
	}}}
	s.useConfiguration(&c)
	known.changed = s.tellPeers
	return s.serveAll(ctx, *directory)
}

// serveAll listens where the configuration says, until the context ends.
func (s *service) serveAll(ctx context.Context, directory string) error {
	c := s.config.Load()
	program := unitprogram.Program{
		Reload: func(ctx context.Context) error { return s.reloadConfig(ctx, directory) },
		Repeat: func(ctx context.Context) { s.takeRecords(ctx, s.config.Load()) }, Interval: peerInterval,
	}
	defer func() { _ = program.Close() }()
	s.takeRecords(ctx, c) // before anybody is told to install what a peer knows to be installed
	server := &http.Server{Handler: s, ReadHeaderTimeout: 30 * time.Second, ErrorLog: s.log}
	for _, device := range c.Server.listDevices() {
		if err := s.listenAt(ctx, &program, server, device); err != nil {
			return err
		}
	}
	return program.Run(ctx)
}

// listDevices lists the interfaces to listen at; "" is all of them.
func (s Server) listDevices() []string {
	if len(s.Interfaces) == 0 {
		return []string{""}
	}
	return s.Interfaces
}

// listenAt has what comes in by an interface be answered by HTTP, and by TFTP where that is served; "" is any interface.
func (s *service) listenAt(ctx context.Context, program *unitprogram.Program, server *http.Server, device string) error {
	c, by := s.config.Load().Server, net.ListenConfig{}
	if device != "" {
		by.Control = bindTo(device)
	}
	listener, err := by.Listen(ctx, "tcp", net.JoinHostPort(c.Address.String(), fmt.Sprint(c.Port)))
	if err != nil {
		return err
	}
	program.AddServer(func(context.Context) error { return server.Serve(listener) }, server.Close)
	if !c.TFTP {
		return nil
	}
	socket, err := by.ListenPacket(ctx, "udp", net.JoinHostPort(c.Address.String(), "69"))
	if err != nil {
		return err
	}
	program.AddServer(func(context.Context) error { return s.serveTFTP(socket) }, socket.Close)
	return nil
}

// useConfiguration serves by a configuration from now on, and forgets machines that have no profile in it any more.
func (s *service) useConfiguration(c *Config) {
	for _, err := range c.Unread {
		s.log.Printf("not served: %v", err)
	}
	s.config.Store(c)
	if len(c.Unread) > 0 {
		return // a profile that cannot be read is not gone
	}
	for _, r := range s.states.listRecords() {
		if _, stays := c.Profiles[r.MAC]; !stays {
			s.states.forgetRecord(r.MAC)
		}
	}
}

// reloadConfig reads the configuration anew, and takes what peers that have it already know by it, before it is served. Another address or port takes
// another start.
func (s *service) reloadConfig(ctx context.Context, directory string) error {
	c, err := Load(directory)
	if err != nil {
		return err
	}
	was := s.config.Load()
	if was.Server.URL() != c.Server.URL() || was.Server.TFTP != c.Server.TFTP || !slices.Equal(was.Server.Interfaces, c.Server.Interfaces) {
		return errors.New("it listens elsewhere now, and starts anew")
	}
	s.takeRecords(ctx, &c)
	s.useConfiguration(&c)
	return nil
}
