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
	"os"
	"os/signal"
	"syscall"
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
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	s := &service{states: known, log: log.New(stderr, "", 0), upstream: &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: time.Minute, MaxIdleConnsPerHost: 8, DisableCompression: true,
	}}}
	s.take(&c)
	known.changed = s.tell
	return s.run(ctx, *directory)
}

// run listens where the configuration says, until the context ends.
func (s *service) run(ctx context.Context, directory string) error {
	c := s.config.Load()
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	s.askPeers(ctx) // before anybody is told to install what a peer knows to be installed
	listener, err := net.Listen("tcp", net.JoinHostPort(c.Server.Address.String(), fmt.Sprint(c.Server.Port)))
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	if c.Server.TFTP {
		socket, err := net.ListenPacket("udp", net.JoinHostPort(c.Server.Address.String(), "69"))
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		defer func() { _ = socket.Close() }()
		go func() { ended <- s.serveTFTP(socket) }()
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 30 * time.Second, ErrorLog: s.log}
	go func() { ended <- server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	if err := unitprogram.Ready(); err != nil {
		return err
	}
	ask := time.NewTicker(peerInterval)
	defer ask.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case <-ask.C:
			s.askPeers(ctx)
		case <-hangup:
			if err := s.reload(directory); err != nil {
				return err // systemd starts it again, where the words are seen
			}
		}
	}
}

// take serves by a configuration from now on.
func (s *service) take(c *Config) {
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
	s.take(&c)
	if len(c.Unread) > 0 {
		return unitprogram.Ready() // a profile that cannot be read is not gone
	}
	for _, r := range s.states.all() {
		if _, stays := c.Profiles[r.MAC]; !stays && was.Profiles[r.MAC].MAC != "" {
			s.states.forget(r.MAC)
		}
	}
	return unitprogram.Ready()
}
