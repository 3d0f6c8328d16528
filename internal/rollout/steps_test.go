package rollout

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// A command of a turn has its time, in which its machine is reached too, and the error says of one that took longer how much that was.
func TestACommandOfATurnIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reach, runs time.Duration
		timeout     string
		took        time.Duration
		want        string
	}{
		"in its time":              {time.Second, time.Second, "3s", 2 * time.Second, ""},
		"it runs on":               {0, time.Hour, "3s", 3 * time.Second, "rollout.before did not end in 3s"},
		"its machine is not there": {time.Hour, 0, "3s", 3 * time.Second, "rollout.before did not end in 3s"},
		"the time that is usual":   {0, time.Hour, "", 5 * time.Minute, "rollout.before did not end in 5m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				wait := func(ctx context.Context, d time.Duration) error {
					select {
					case <-time.After(d):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				h := hosttest.New()
				h.On(func(ctx context.Context, _ *hosttest.Host, _ host.Cmd) ([]byte, error) { return nil, wait(ctx, c.runs) }, "kubectl", "drain")
				hosts := func(ctx context.Context, _ string) (host.Host, error) { return h, wait(ctx, c.reach) }
				began := time.Now()
				err := runCommand(t.Context(), hosts, "before", &machine.TurnCommand{Endpoint: "ssh://h", Command: []string{"kubectl", "drain", "a"}, Timeout: c.timeout})
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || time.Since(began) != c.took {
					t.Errorf("after %s it says %v", time.Since(began), err)
				}
			})
		})
	}
}
