package addresspool

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Daemon is the pools of a machine, to a transaction: files that no program serves, which commits from several computers take
// turns at.
type Daemon struct{}

var (
	_ transaction.Daemon    = Daemon{}
	_ transaction.Exclusive = Daemon{}
)

// Name implements transaction.Daemon.
func (Daemon) Name() string { return "addresspool" }

// Globs implements transaction.Daemon.
func (Daemon) Globs() []string { return []string{directory + "/*.json"} }

// Check implements transaction.Daemon: an edit refuses what cannot be.
func (Daemon) Check(context.Context, host.Host, string, transaction.Tree) error { return nil }

// Activate implements transaction.Daemon.
func (Daemon) Activate(context.Context, host.Host, transaction.Tree, transaction.Tree) error {
	return nil
}

// Verify implements transaction.Daemon.
func (Daemon) Verify(context.Context, host.Host, transaction.Tree) error { return nil }

// Running implements transaction.Daemon: files are always there to be read.
func (Daemon) Running(context.Context, host.Host) (bool, error) { return true, nil }

// KeepsNothing implements transaction.Exclusive.
func (Daemon) Exclusive() {}
