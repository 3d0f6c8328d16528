package provision

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// loginGrace is how long a refused login may still be a machine that just boots: sshd answers before
// cloud-init has made the user and put its key in place.
const loginGrace = 90 * time.Second

// Temporary tells, of an error to connect, whether trying again can help at all, and whether that is so for
// loginGrace only: sshhost's errors are of this kind.
type Temporary func(err error) (again, brief bool)

// Answering tries to reach a machine until it answers or the context ends. reach makes one attempt. Nobody
// waits for a machine that refuses: a wrong host key stays wrong.
func Answering[T any](ctx context.Context, machine string, temporary Temporary, reach func(context.Context) (T, error)) (T, error) {
	const longest = 5 * time.Second
	var refusedSince time.Time
	pause := time.Second
	for started := time.Now(); ; {
		got, err := reach(ctx)
		if err == nil {
			return got, nil
		}
		again, brief := temporary(err)
		switch {
		case !again:
			return got, err
		case !brief:
			refusedSince = time.Time{}
		case refusedSince.IsZero():
			refusedSince = time.Now()
		case time.Since(refusedSince) > loginGrace:
			return got, fmt.Errorf("%w (tried for %s, in case the machine was still setting the login up)", err, loginGrace)
		}
		tflog.Info(ctx, fmt.Sprintf("waiting for %s since %s: %s", machine, time.Since(started).Round(time.Second), err))
		select {
		case <-time.After(pause):
			pause = min(pause*3/2, longest)
		case <-ctx.Done():
			return got, errors.Join(err, fmt.Errorf("gave up after %s: %w", time.Since(started).Round(time.Second), context.Cause(ctx)))
		}
	}
}

// bootScript waits some seconds for cloud-init and prints "waiting", "error" and why, or nothing.
//
//go:embed boot.sh
var bootScript string

// Booted waits until cloud-init, where there is one, has done its work. That cloud-init failed is no error,
// as the machine may do well all the same, but a warning in its own words.
func Booted(ctx context.Context, h host.Host) (warning string, err error) {
	for {
		// Short turns show in the log that something still goes on.
		out, err := h.Run(ctx, host.RepeatableScript("wait for cloud-init", bootScript, "10", "/run/cloud-init/result.json"))
		if err != nil {
			return "", err
		}
		switch status, long, _ := strings.Cut(string(out), "\n"); status {
		case "waiting":
			tflog.Info(ctx, fmt.Sprintf("cloud-init still runs on %s", h))
		case "error":
			return fmt.Sprintf("cloud-init failed on %s: %s", h, strings.TrimSpace(long)), nil
		default:
			return "", nil
		}
	}
}
