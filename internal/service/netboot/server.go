// Package netboot is what machines boot from the network: a server on a service node, which runs the provider's own program, and a profile
// for each machine.
package netboot

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/netboot"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/selfbinary"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/unitprogram"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/ownunit"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// instance is the one of the unit: a machine has one server.
const instance = "server"

//go:embed virtcluster-boot@.service
var unit string

// NewDaemon returns the server, to a transaction: program is where the provider's own lies on the machine, "" where nothing is put there.
func NewDaemon(program string) *ownunit.Daemon {
	d := &ownunit.Daemon{
		Label: "netboot", Program: "systemctl", Unit: "virtcluster-boot", Text: strings.ReplaceAll(unit, "PROGRAM", program),
		Directory: "/etc/virtcluster-boot", Main: netboot.ServerFile, Reloads: true,
	}
	d.CheckInstance = func(ctx context.Context, h host.Host, staged, _ string) error {
		return checkStaged(ctx, h, staged, d.Directory)
	}
	return d
}

// checkScript has the program look at a staged configuration: the one that the unit names, or is about to.
//
//go:embed check.sh
var checkScript string

func checkStaged(ctx context.Context, h host.Host, staged, directory string) error {
	stage := strings.TrimSuffix(staged, directory+"/"+instance)
	_, err := h.Run(ctx, host.Script("netboot -check", checkScript, stage, staged))
	if exit, refused := errors.AsType[*host.ExitError](err); refused {
		return &transaction.RefusedError{Err: errors.New(strings.TrimSpace(exit.Stdout + exit.Stderr))}
	}
	return err
}

// DefaultLoaders is where a service node has the loaders that come with a package.
const DefaultLoaders = netboot.DefaultLoaders

// Server is a boot server in plain values.
type Server struct{ netboot.Server }

// Validate finds what no server would serve.
func (s Server) Validate() []service.Problem {
	var all []service.Problem
	if s.Address.IsValid() && (s.Address.IsUnspecified() || !s.Address.Is4()) {
		all = append(all, service.Problemf([]any{"http", "address"}, "Invalid address", "write the IPv4 address of the service node that machines reach it by, not %s", s.Address))
	}
	for i, peer := range s.Peers {
		at, err := netip.ParseAddrPort(peer)
		if err != nil {
			all = append(all, service.Problemf([]any{"peers", i}, "Invalid peer", "write the other server's address and port such as \"10.0.0.102:8090\", not %q", peer))
		} else if at.Addr() == s.Address {
			all = append(all, service.Problemf([]any{"peers", i}, "A peer of its own", "%s is this server's own address: write the other one's", at.Addr()))
		}
	}
	return all
}

// Uses implements plan.User: a machine has one.
func (s Server) Uses() []plan.Use {
	uses := []plan.Use{{Kind: plan.BootServer, Path: []any{"service_node"}}}
	if s.Port != 0 {
		uses = append(uses, plan.Use{Kind: plan.ServedPort, Value: strconv.FormatInt(s.Port, 10), Path: []any{"http", "port"}})
	}
	return uses
}

// NewServerPart returns a machine's server.
func NewServerPart(of part.Identity) part.Part[Server] {
	program := &selfbinary.Program{}
	return ownunit.WithProgram(newServerPart(of, program), program, of.Version)
}

// newServerPart is the configuration of a server. The program is the one that the unit is to run, which is known once it was put there.
func newServerPart(of part.Identity, program *selfbinary.Program) part.Part[Server] {
	d := NewDaemon("")
	put := func(t transaction.Tree, want Server) error {
		content, err := unitprogram.Encode(head+of.Mark.String(), want.Server)
		if err == nil {
			NewDaemon(program.Path()).Put(t, instance, netboot.ServerFile, content, 0o600, "")
		}
		return err
	}
	return part.Part[Server]{
		Daemon: d, Owner: "boot server", Place: d.Path(instance, netboot.ServerFile), ImportID: of.ImportID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return d.Mark(t, instance, netboot.ServerFile) },
		Find: findServer, Add: put, Set: put,
		Drop: func(t transaction.Tree) error { d.Drop(t, instance, netboot.ServerFile); return nil },
		Look: lookAtMachine,
	}
}

const head = "Written by terraform-provider-virtcluster "

// findServer reads the server; transaction.ErrAbsent where there is none. One that a person made unreadable has nothing, and is written anew.
func findServer(t transaction.Tree) (Server, error) {
	f, there := t[NewDaemon("").Path(instance, netboot.ServerFile)]
	if !there {
		return Server{}, fmt.Errorf("no boot server: %w", transaction.ErrAbsent)
	}
	var s netboot.Server
	if err := unitprogram.Decode(f.Content, &s); err != nil {
		return Server{}, nil //nolint:nilerr // it is written anew
	}
	return Server{s}, nil
}

// lookScript prints what there is to know before a server is put on a machine.
//
//go:embed look.sh
var lookScript string

// lookAtMachine returns why the server cannot be on the machine, as an error at its attribute: the address or an interface is not there, a port is
// taken, or the loaders cannot be read.
func lookAtMachine(ctx context.Context, h host.Host, want Server) error {
	cmd := host.Script("look at the ports", lookScript, append([]string{NewDaemon("").UnitOf(instance), fmt.Sprint(want.Port)}, want.LoaderFiles()...)...)
	cmd.Repeatable = true
	out, err := h.Run(ctx, cmd)
	if err != nil {
		return err
	}
	return judgeMachine(ownunit.ParseLook(string(out)), want, h.String())
}

func judgeMachine(look ownunit.Look, want Server, machine string) error {
	for _, port := range []struct {
		word string
		at   []any
		used bool
	}{{"http", []any{"http", "port"}, true}, {"tftp", []any{"tftp"}, want.TFTP}} {
		for _, l := range look.Listeners(port.word) {
			if port.used && l.Takes(want.Address) {
				return service.At(port.at, fmt.Errorf("%s on %s listens at %s already (%s): end it, or write another port", l.Process, machine, l.Socket, port.word))
			}
		}
	}
	for _, file := range look["unreadable"] {
		return service.At([]any{"loaders"}, fmt.Errorf("%s on %s cannot be read: install %s there, name %[3]s among the services of the virtcluster_service_node, or write the directory that has it", file, machine, loaderService(want, file)))
	}
	if want.Address.IsValid() && !slices.Contains(look.Addresses(), want.Address) {
		return service.At([]any{"http", "address"}, fmt.Errorf("%s has no address %s: write one that machines reach it by", machine, want.Address))
	}
	for i, name := range want.Interfaces {
		if !slices.Contains(look["interface"], name) {
			return service.At([]any{"interfaces", i}, fmt.Errorf("%s has no interface %s: write one of %s", machine, name, strings.Join(look["interface"], ", ")))
		}
	}
	return nil
}

// loaderService is the service of a service node that brings a loader.
func loaderService(s Server, file string) string {
	if s.SecureBoot && !strings.HasPrefix(file, s.Loaders+"/") {
		return "shim"
	}
	return "ipxe"
}
