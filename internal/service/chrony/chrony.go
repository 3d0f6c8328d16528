// Package chrony is a time server: chrony, with a file of the provider's own beside what a package or a person configures.
package chrony

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
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Server is what a machine serves of time.
type Server struct {
	// Clients may ask.
	Clients []netip.Prefix `attr:"clients"`
	// Upstreams are asked, by name or address, beside those that the machine has already.
	Upstreams []string `attr:"upstreams"`
	// LocalStratum is that of the machine's own clock, which is served where no upstream answers; 0 for not at all.
	LocalStratum int64 `attr:"local_stratum,zero"`
}

// Validate finds what no server would serve.
func (s Server) Validate() []service.Problem {
	var all []service.Problem
	for i, p := range s.Clients {
		if slices.Index(s.Clients, p) != i {
			all = append(all, service.Problemf([]any{"clients", i}, "Clients twice", "%s is there already", p))
		}
	}
	return all
}

// Uses implements plan.User: a machine has one.
func (s Server) Uses() []plan.Use {
	return []plan.Use{{Kind: plan.TimeServer, Path: []any{"service_node"}}}
}

// Path is the provider's own file. Debian's chrony.conf reads what is in its directory.
const Path = "/etc/chrony/conf.d/virtcluster.conf"

const head = "# Written by terraform-provider-virtcluster "

// Render returns the file (chrony.conf(5)).
func (s Server) Render(m owner.Mark) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n", head, m)
	for _, name := range s.Upstreams {
		fmt.Fprintf(&b, "server %s iburst\n", name)
	}
	for _, p := range s.Clients {
		fmt.Fprintf(&b, "allow %s\n", p)
	}
	if s.LocalStratum != 0 {
		// Of machines that ask each other, orphan has all follow one where nobody else answers.
		fmt.Fprintf(&b, "local stratum %d orphan\n", s.LocalStratum)
	}
	return []byte(b.String())
}

// Parse undoes Render. A line that it would not write is an error.
func Parse(content []byte) (s Server, err error) {
	for line := range strings.Lines(string(content)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
		case len(words) == 3 && words[0] == "server" && words[2] == "iburst":
			s.Upstreams = append(s.Upstreams, words[1])
		case len(words) == 2 && words[0] == "allow":
			p, err := netip.ParsePrefix(words[1])
			if err != nil {
				return s, err
			}
			s.Clients = append(s.Clients, p)
		case len(words) == 4 && words[0] == "local" && words[1] == "stratum" && words[3] == "orphan":
			if s.LocalStratum, err = strconv.ParseInt(words[2], 10, 64); err != nil {
				return s, err
			}
		default:
			return s, fmt.Errorf("nobody wrote %q for a time server", strings.TrimSpace(line))
		}
	}
	return s, nil
}

// Daemon is chrony, to a transaction.
type Daemon struct{}

var (
	_ transaction.Daemon    = Daemon{}
	_ transaction.Packaged  = Daemon{}
	_ transaction.Exclusive = Daemon{}
	_ transaction.Sharer    = Daemon{}
	_ transaction.Owners    = Daemon{}
)

// script has chronyd look at its configuration, and take it.
//
//go:embed chrony.sh
var script string

// Name implements transaction.Daemon.
func (Daemon) Name() string { return "chrony" }

// Package implements transaction.Packaged.
func (Daemon) Package() (program, unit string) { return "chronyd", "chrony.service" }

// Globs implements transaction.Daemon.
func (Daemon) Globs() []string { return []string{Path} }

// Exclusive implements transaction.Exclusive.
func (Daemon) Exclusive() {}

// ServesBesides implements transaction.Sharer: the files that others wrote for chrony beside the package's.
func (Daemon) ServesBesides(ctx context.Context, h host.Host) ([]string, error) {
	out, err := h.Run(ctx, host.RepeatableScript("chrony.sh besides", script, "besides", Path))
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), err
}

// ListConfigured lists the files that chrony is configured with beside the provider's, the package's among them; one that is not there is none.
func ListConfigured(ctx context.Context, h host.Host) ([]string, error) {
	others, err := Daemon{}.ServesBesides(ctx, h)
	return append([]string{"/etc/chrony/chrony.conf", "/etc/chrony.conf"}, others...), err
}

// Owners implements transaction.Owners.
func (Daemon) Owners(t transaction.Tree) []string {
	if m := markOf(t); m != (owner.Mark{}) {
		return []string{"time server, " + m.Whose()}
	}
	return nil
}

func markOf(t transaction.Tree) owner.Mark {
	first, _, _ := strings.Cut(string(t[Path].Content), "\n")
	return owner.Parse(first)
}

// Check implements transaction.Daemon.
func (Daemon) Check(ctx context.Context, h host.Host, stage string, next transaction.Tree) error {
	if len(next) == 0 {
		return nil
	}
	err := runScript(ctx, h, "check", stage+Path)
	if exit, refused := errors.AsType[*host.ExitError](err); refused {
		return &transaction.RefusedError{Err: errors.New(strings.TrimSpace(exit.Stdout + exit.Stderr))}
	}
	return err
}

// Activate implements transaction.Daemon. chronyd reads its configuration when it starts alone; its clock goes on meanwhile.
func (Daemon) Activate(ctx context.Context, h host.Host, _, next transaction.Tree) error {
	if len(next) == 0 {
		return runScript(ctx, h, "end")
	}
	return runScript(ctx, h, "start")
}

// Verify implements transaction.Daemon.
func (Daemon) Verify(ctx context.Context, h host.Host, next transaction.Tree) error {
	if len(next) == 0 {
		return nil
	}
	return runScript(ctx, h, "verify")
}

// Running implements transaction.Daemon. A machine that serves nothing needs none.
func (Daemon) Running(ctx context.Context, h host.Host) (bool, error) {
	out, err := h.Run(ctx, host.RepeatableScript("chrony.sh running", script, "running", Path))
	return err == nil && strings.TrimSpace(string(out)) == "", err
}

func runScript(ctx context.Context, h host.Host, verb string, args ...string) error {
	_, err := h.Run(ctx, host.Script("chrony.sh "+verb, script, append([]string{verb}, args...)...))
	return err
}

// NewPart returns the time server of a machine.
func NewPart(of part.Identity) part.Part[Server] {
	put := func(t transaction.Tree, want Server) error {
		t.Put(Path, want.Render(of.Mark), 0o644, "", "")
		return nil
	}
	return part.Part[Server]{
		Daemon: Daemon{}, Owner: "time server", Place: Path, ImportID: of.ImportID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) {
			_, there := t[Path]
			return markOf(t), there
		},
		Find: func(t transaction.Tree) (Server, error) {
			f, there := t[Path]
			if !there {
				return Server{}, fmt.Errorf("no time server: %w", transaction.ErrAbsent)
			}
			s, err := Parse(f.Content)
			if err != nil {
				return Server{}, nil //nolint:nilerr // a person's hand was in it: nothing of it counts, and it is written anew
			}
			return s, nil
		},
		Add: put, Set: put,
		Drop: func(t transaction.Tree) error { delete(t, Path); return nil },
	}
}
