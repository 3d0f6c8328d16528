package exposure

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Daemon is what a machine exposes, to a transaction: the kernel serves it, in a table of nftables and addresses on devices.
type Daemon struct{}

var (
	_ transaction.Daemon    = Daemon{}
	_ transaction.Packaged  = Daemon{}
	_ transaction.Exclusive = Daemon{}
)

// Name implements transaction.Daemon.
func (Daemon) Name() string { return "exposure" }

// Package implements transaction.Packaged.
func (Daemon) Package() (program, unit string) { return "nft", "" }

// Globs implements transaction.Daemon.
func (Daemon) Globs() []string {
	return []string{entries + "/*.json", tablePath, acceptedPath, addressesPath, scriptPath, units + "/" + rulesUnit, units + "/" + addressesUnit}
}

// tableScript has the kernel read a table in a network namespace where it has no effect.
//
//go:embed table.sh
var tableScript string

// Check implements transaction.Daemon.
func (Daemon) Check(ctx context.Context, h host.Host, stage string, next transaction.Tree) error {
	if len(next) == 0 {
		return nil
	}
	foreign, err := h.Run(ctx, host.Script("exposure.sh foreign", script, "foreign"))
	if err != nil {
		return err
	}
	if words := strings.TrimSpace(string(foreign)); words != "" {
		return &transaction.RefusedError{Err: errors.New(strings.ReplaceAll(words, "\n", "; "))}
	}
	_, err = h.Run(ctx, host.Script("nft", tableScript, stage+tablePath))
	if exit, refused := errors.AsType[*host.ExitError](err); refused {
		return &transaction.RefusedError{Err: fmt.Errorf("nftables: %s: %w", strings.TrimSpace(strings.ReplaceAll(exit.Stderr, stage, "")), err)}
	}
	return err
}

// Activate implements transaction.Daemon. Forwarding that stays on is told. An address that somebody else took at the same time is given up: what was
// put on a device is asked for once more before the neighbours are told of it, so that they still know who else has it.
func (Daemon) Activate(ctx context.Context, h host.Host, _, _ transaction.Tree) error {
	out, err := h.Run(ctx, host.Script("exposure.sh up", script, "up", "untold"))
	put := map[string][]netip.Prefix{}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if text, is := strings.CutPrefix(line, "note: "); is {
			transaction.Remark(ctx, fmt.Sprintf("%s on %s", text, h))
		}
		if text, is := strings.CutPrefix(line, "put "); is {
			address, device, _ := strings.Cut(text, " on ")
			if p, err := netip.ParsePrefix(address); err == nil {
				put[device] = append(put[device], p)
			}
		}
	}
	if err != nil || len(put) == 0 {
		return err
	}
	if err := hostnet.CheckAlone(ctx, h, put); err != nil {
		return err
	}
	_, err = h.Run(ctx, host.Script("exposure.sh tell", script, "tell"))
	return err
}

// Verify implements transaction.Daemon.
func (Daemon) Verify(ctx context.Context, h host.Host, _ transaction.Tree) error {
	_, err := checkLive(ctx, h, "check")
	return err
}

// Running implements transaction.Daemon: whether all that is exposed is live. What another program flushed, or a person took away,
// counts as stopped; what another change is about to make live does not.
func (Daemon) Running(ctx context.Context, h host.Host) (bool, error) {
	live, err := checkLive(ctx, h, "check-wait")
	if errors.As(err, new(*host.ExitError)) {
		return false, nil
	}
	return live, err
}

// Exclusive implements transaction.Exclusive.
func (Daemon) Exclusive() {}

// checkLive asks whether what the files say is live; an *host.ExitError says what is not.
func checkLive(ctx context.Context, h host.Host, how string) (live bool, err error) {
	_, err = h.Run(ctx, host.RepeatableScript("exposure.sh "+how, script, how))
	return err == nil, err
}
