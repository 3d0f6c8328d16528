package bind

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

var _ transaction.Prober = Daemon{}

// probeScript asks named for its status. One that has just been started listens a moment later.
const probeScript = `for pause in 0.1 0.2 0.4 0.8 1; do
	rndc status >/dev/null 2>&1 && exit 0
	sleep $pause
done
rndc status >/dev/null`

// Probe implements transaction.Prober: what named shall load it is told by rndc, which may lack the key or the permission.
func (Daemon) Probe(ctx context.Context, h host.Host) error {
	cmd := host.Script("rndc status", probeScript)
	cmd.Repeatable = true
	_, err := h.Run(ctx, cmd)
	return err
}
