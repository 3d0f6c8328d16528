package hosttest

import (
	"context"
	"errors"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// CutOff is a machine whose connection is lost, for good, as soon as the command of a name has run: as that of a provider that is
// killed then.
type CutOff struct {
	host.Host
	// After is the name of that command.
	After string
	// Ran is when each command, by its name, had run.
	Ran map[string]time.Time
}

// NewCutOff returns one that nothing was run on yet.
func NewCutOff(h host.Host, after string) *CutOff {
	return &CutOff{Host: h, After: after, Ran: map[string]time.Time{}}
}

// Run implements host.Host.
func (c *CutOff) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	if _, gone := c.Ran[c.After]; gone {
		return nil, errors.New("killed")
	}
	out, err := c.Host.Run(ctx, cmd)
	c.Ran[cmd.Name] = time.Now()
	return out, err
}
