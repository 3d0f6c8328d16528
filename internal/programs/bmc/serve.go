package bmc

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bougou/go-ipmi/pkg/transport/udp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/bmc/config"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/unitprogram"
)

// version is that of the program; see Main.
var version = "dev"

// Main is the program: `bmc --config DIRECTORY --state DIRECTORY`, where the first has the files above and the second is its own. With
// --clean it serves nothing: it takes out all media that it inserted, and removes them.
func Main(ctx context.Context, programVersion string, args []string, stderr io.Writer) error {
	version = programVersion
	flags := flag.NewFlagSet("bmc", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("config", os.Getenv("CREDENTIALS_DIRECTORY"), "directory with "+strings.Join([]string{config.File, config.CertFile, config.KeyFile, config.PasswordFile}, ", "))
	state := flags.String("state", os.Getenv("STATE_DIRECTORY"), "directory to remember boot overrides and media in")
	clean := flags.Bool("clean", false, "take out all media that were inserted, remove them, forget them, and end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(*dir, config.File))
	if err != nil {
		return err
	}
	var c config.Config
	if err := json.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("understand %s: %w", config.File, err)
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	client, err := hypervisor.New(c.URI, sshhost.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	open := func(name string) Machine {
		return &domain{client: client, name: name, log: log.With("node", name).Warn}
	}
	systems := map[string]*System{}
	stay := map[string]string{} // nodes by the ids of their systems
	for name, n := range c.Nodes {
		systems[name] = NewSystem(n.SystemID, open(name), *state, log)
		stay[n.SystemID] = name
	}
	if *clean {
		return forgetSystems(ctx, *state, nil, open, log)
	}
	if err := forgetSystems(ctx, *state, stay, open, log); err != nil {
		log.Warn("media of what is served no more stay until the next start", "error", err)
	}
	return serveSystems(ctx, c, *dir, systems, log)
}

// forgetSystems removes the media of all systems that are remembered, and what is remembered of them, but for those that stay: an id that is
// another machine's now does not.
func forgetSystems(ctx context.Context, state string, stay map[string]string, open func(name string) Machine, log *slog.Logger) error {
	files, err := filepath.Glob(filepath.Join(state, "*.json"))
	errs := []error{err}
	for _, file := range files {
		var kept memory
		text, err := os.ReadFile(file) //nolint:gosec // it is the state
		if err == nil {
			err = json.Unmarshal(text, &kept)
		}
		id := strings.TrimSuffix(filepath.Base(file), ".json")
		name, stays := stay[id]
		if stays && (err != nil || name == kept.Machine) { // what cannot be read its own system says
			continue
		}
		if err == nil {
			err = NewSystem(id, open(kept.Machine), state, log).forget(ctx)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// forget removes the media that clients inserted, wherever the machine is by now, and what is remembered of it.
func (s *System) forget(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.machine.Describe(ctx)
	if err != nil && !hypervisor.IsNotFound(err) {
		return err
	}
	kept, err := s.readMemory(d)
	if err != nil {
		return err
	}
	kept.leaveMissing(d)
	for _, from := range slots {
		if kept.Media[from.id] == (Medium{}) {
			continue
		}
		if err := s.machine.Eject(ctx, from, kept.Media[from.id]); err != nil {
			return err
		}
	}
	if err := s.discardLeft(ctx, &kept); err != nil {
		return err
	}
	return os.Remove(s.file)
}

// serveSystems serves all systems until the context ends or one of the ports fails.
func serveSystems(ctx context.Context, c config.Config, dir string, systems map[string]*System, log *slog.Logger) error {
	certificate, err := tls.LoadX509KeyPair(filepath.Join(dir, config.CertFile), filepath.Join(dir, config.KeyFile))
	if err != nil {
		return err
	}
	var program unitprogram.Program
	defer func() { _ = program.Close() }()
	shared := map[string][]string{} // address and port of Redfish → nodes
	for name, n := range c.Nodes {
		at := net.JoinHostPort(n.Address, fmt.Sprint(n.Port))
		shared[at] = append(shared[at], name)
	}
	a := newAccess(c.User, c.PasswordHash)
	for at, names := range shared {
		slices.Sort(names)
		var here []*System
		for _, name := range names {
			here = append(here, systems[name])
		}
		listener, err := net.Listen("tcp", at)
		if err != nil {
			return err
		}
		web := &http.Server{
			Handler: newRedfish(c.UUID, here, a, log), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
			ErrorLog:  slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		}
		program.AddServer(func(context.Context) error { return web.ServeTLS(listener, "", "") }, web.Close)
		log.Info("Redfish", "address", at, "nodes", names)
	}
	password, err := os.ReadFile(filepath.Join(dir, config.PasswordFile))
	if err != nil {
		return err
	}
	for name, n := range c.Nodes {
		if n.IPMIPort == 0 {
			continue
		}
		at := net.JoinHostPort(n.Address, fmt.Sprint(n.IPMIPort))
		socket, err := udp.Listen(at)
		if err != nil {
			return err
		}
		uuid := ""
		if v, err := systems[name].View(ctx); err == nil {
			uuid = v.UUID
		}
		s, err := newIPMI(systems[name], uuid, c.User, strings.TrimRight(string(password), "\n"), socket)
		if err != nil {
			return err
		}
		program.AddServer(s.Serve, s.Close)
		log.Info("IPMI", "address", at, "node", name)
	}
	return program.Run(ctx)
}
