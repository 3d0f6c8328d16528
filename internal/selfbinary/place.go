package selfbinary

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Directory is where the program lies on service nodes, under a name with its sum, so that what units of different versions run stays.
const Directory = "/usr/local/lib/virtcluster"

// Path is where the program lies on a service node.
func (p Program) Path() string {
	return Directory + "/terraform-provider-virtcluster-" + p.Sum[:min(16, len(p.Sum))]
}

// script looks at a machine, and removes programs that no unit names.
//
//go:embed selfbinary.sh
var script string

// ForServiceNode chooses the program for a service node, by the provider's version. There is nothing that a person could write instead.
func ForServiceNode(ctx context.Context, h host.Host, version string) (Program, error) {
	out, err := runScript(ctx, h, "platform")
	if err != nil {
		return Program{}, err
	}
	system, processor, _ := strings.Cut(out, " ")
	return Choose(ctx, Machine{System: system, Processor: processor, What: h.String(), Otherwise: "use a service node of the provider's own platform, or a release of the provider"}, "", "", version)
}

// Lock keeps others from collecting programs, and what their units serve, between what is put on a service node and the unit that names it.
func Lock(ctx context.Context, h host.Host) (unlock func(), err error) {
	return h.Lock(ctx, "selfbinary")
}

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

// Collect removes the programs from a service node that no unit names any more.
func Collect(ctx context.Context, h host.Host) error {
	_, err := runScript(ctx, h, "collect", Directory)
	return err
}

func runScript(ctx context.Context, h host.Host, verb string, args ...string) (string, error) {
	cmd := host.Script("selfbinary.sh "+verb, script, append([]string{verb}, args...)...)
	cmd.Repeatable = true
	out, err := h.Run(ctx, cmd)
	return strings.TrimSpace(string(out)), err
}
