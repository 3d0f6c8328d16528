package bind

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

var _ transaction.Prober = Daemon{}

// probeScript asks named for its status. One that has just been started listens a moment later; one that does not answer
// at all is waited for as long as rndc itself would.
const probeScript = `for pause in 0.1 0.2 0.4 0.8 1 0; do
	words=$(timeout 60 rndc status 2>&1 >/dev/null)
	status=$?
	[ $status != 0 ] || exit 0
	[ $status != 124 ] || words="named runs, and does not answer rndc within 60 seconds"
	case $words in
	*"connection refused"*) sleep $pause ;;
	*) break ;;
	esac
done
printf '%s\n' "$words" >&2
exit 1`

// Probe implements transaction.Prober: what named shall load it is told by rndc, which may lack the key or the permission.
func (Daemon) Probe(ctx context.Context, h host.Host) error {
	cmd := host.Script("rndc status", probeScript)
	cmd.Repeatable = true
	_, err := h.Run(ctx, cmd)
	return err
}
