package selfbinary

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Directory is where the program lies on service nodes, under a name with its sum, so that what units of different versions run stays.
const Directory = "/usr/local/lib/virtcluster"

// Path is where the program lies on a service node.
func (p Program) Path() string {
	return Directory + "/" + projectName + "-" + p.Sum[:min(16, len(p.Sum))]
}

// script looks at a machine, and removes programs that no unit names.
//
//go:embed selfbinary.sh
var script string

// ForServiceNode chooses the program for a service node, by the provider's version. That there is none is an error at its attribute: there is
// nothing that a person could write instead. Any other error says that the machine cannot be asked.
func ForServiceNode(ctx context.Context, h host.Host, version string) (Program, error) {
	out, err := runScript(ctx, h, "platform")
	if err != nil {
		return Program{}, err
	}
	system, processor, _ := strings.Cut(out, " ")
	m := Machine{System: system, Processor: processor, What: h.String(), Otherwise: "use a service node of the provider's own platform, or a release of the provider"}
	p, err := Choose(ctx, m, "", "", version)
	if err != nil {
		return p, service.At([]any{"service_node"}, err)
	}
	return p, nil
}

// Install chooses the program for a service node, puts it there and has program be it. Until release is called nobody else collects programs,
// and what their units serve, so that what is put there meanwhile stays until a unit names it; release removes what none names then.
func Install(ctx context.Context, h host.Host, version string, program *Program) (release func(context.Context) error, err error) {
	if *program, err = ForServiceNode(ctx, h, version); err != nil {
		return nil, err
	}
	unlock, err := h.Lock(ctx, lockName)
	if err != nil {
		return nil, err
	}
	if err := Put(ctx, h, *program); err != nil {
		unlock()
		return nil, err
	}
	return func(ctx context.Context) error {
		defer unlock()
		return collectPrograms(ctx, h)
	}, nil
}

// Uninstall removes, after what is done first, the programs that no unit names any more.
func Uninstall(ctx context.Context, h host.Host, first func(context.Context) error) error {
	unlock, err := h.Lock(ctx, lockName)
	if err != nil {
		return err
	}
	defer unlock()
	if err := first(ctx); err != nil {
		return err
	}
	return collectPrograms(ctx, h)
}

const lockName = "selfbinary"

// Put has the program be on a service node.
func Put(ctx context.Context, h host.Host, p Program) error {
	// Only the provider's own is compared: of another one the sum is that of its archive, and it is written in one piece.
	there, err := runScript(ctx, h, "sum", p.Path())
	if err != nil || there == p.Sum || p.Origin != Own && there != "" {
		return err
	}
	content, err := p.Fetch(ctx)
	if err == nil {
		err = h.Write(ctx, host.File{Path: p.Path(), Content: content, Mode: 0o755})
	}
	if err != nil {
		return fmt.Errorf("put the program on %s: %w", h, err)
	}
	return nil
}

// collectPrograms removes the programs from a service node that no unit names any more.
func collectPrograms(ctx context.Context, h host.Host) error {
	_, err := runScript(ctx, h, "collect", Directory)
	return err
}

func runScript(ctx context.Context, h host.Host, verb string, args ...string) (string, error) {
	out, err := h.Run(ctx, host.RepeatableScript("selfbinary.sh "+verb, script, append([]string{verb}, args...)...))
	return strings.TrimSpace(string(out)), err
}
