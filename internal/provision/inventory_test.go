package provision

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// A machine that is starting lets systemd's answers be late; one that cannot say at all is an error, and not one without services.
func TestAMachineThatCannotSayIsLookedAtAgain(t *testing.T) {
	for failures, works := range map[int]bool{0: true, 1: true, 2: true, 3: false} {
		t.Run(fmt.Sprint(failures), func(t *testing.T) {
			b, asked := newBox("bind"), 0
			b.On(func(ctx context.Context, h *hosttest.Host, cmd host.Cmd) ([]byte, error) {
				if asked++; asked <= failures {
					return nil, &host.ExitError{Host: "box", Cmd: cmd.String(), Code: 1, Stderr: "Failed to get properties: Connection timed out"}
				}
				return b.shell(ctx, h, cmd)
			}, "sh", "-c")
			inv, err := Look(t.Context(), b)
			if works != (err == nil) || works && inv.Units["bind"].Load != "loaded" || !works && !errors.As(err, new(*host.ExitError)) {
				t.Errorf("after %d failures: %v, %v", failures, inv.Units, err)
			}
		})
	}
}
