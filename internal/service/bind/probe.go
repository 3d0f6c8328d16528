package bind

import (
	"context"
	_ "embed"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

var _ transaction.Prober = Daemon{}

// probeScript asks named for its status.
//
//go:embed probe.sh
var probeScript string

// Probe implements transaction.Prober: what named shall load it is told by rndc, which may lack the key or the permission.
func (Daemon) Probe(ctx context.Context, h host.Host) error {
	_, err := h.Run(ctx, host.RepeatableScript("rndc status", probeScript))
	return err
}
