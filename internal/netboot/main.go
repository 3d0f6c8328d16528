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
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/unitprogram"
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
	s := &service{states: known, log: log.New(stderr, "", 0), upstream: &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: time.Minute, MaxIdleConnsPerHost: 8, DisableCompression: true,
	}}}
	s.useConfiguration(&c)
	known.changed = s.tellPeers
	return s.run(ctx, *directory)
}

// run listens where the configuration says, until the context ends.
func (s *service) run(ctx context.Context, directory string) error {
	c := s.config.Load()
	program := unitprogram.Program{
		Reload: func(context.Context) error { return s.reload(directory) },
		Repeat: s.askPeers, Interval: peerInterval,
	}
	defer func() { _ = program.Close() }()
	s.askPeers(ctx) // before anybody is told to install what a peer knows to be installed
	listener, err := net.Listen("tcp", net.JoinHostPort(c.Server.Address.String(), fmt.Sprint(c.Server.Port)))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 30 * time.Second, ErrorLog: s.log}
	program.AddServer(func(context.Context) error { return server.Serve(listener) }, server.Close)
	if c.Server.TFTP {
		socket, err := net.ListenPacket("udp", net.JoinHostPort(c.Server.Address.String(), "69"))
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		program.AddServer(func(context.Context) error { return s.serveTFTP(socket) }, socket.Close)
	}
	return program.Run(ctx)
}

// useConfiguration serves by a configuration from now on.
func (s *service) useConfiguration(c *Config) {
	for _, err := range c.Unread {
		s.log.Printf("not served: %v", err)
	}
	s.config.Store(c)
}

// reload reads the configuration anew. Another address or port takes another start.
func (s *service) reload(directory string) error {
	c, err := Load(directory)
	if err != nil {
		return err
	}
	was := s.config.Load()
	if was.Server.URL() != c.Server.URL() || was.Server.TFTP != c.Server.TFTP {
		return errors.New("it listens elsewhere now, and starts anew")
	}
	s.useConfiguration(&c)
	if len(c.Unread) > 0 {
		return nil // a profile that cannot be read is not gone
	}
	for _, r := range s.states.all() {
		if _, stays := c.Profiles[r.MAC]; !stays && was.Profiles[r.MAC].MAC != "" {
			s.states.forget(r.MAC)
		}
	}
	return nil
}
