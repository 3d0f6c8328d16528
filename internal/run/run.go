// Package run is what one run of the provider remembers of its own doing, so that its resources do not undo each other's.
package run

import (
	"sync"
	"sync/atomic"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/rollout"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/vip"
)

// Memory is what the resources of one configured provider did in this run. It begins empty with each, and no other provider sees it; one that
// is not configured has none (nil).
type Memory struct {
	// Turns are those of machines that change while others of their group serve.
	Turns rollout.Turns
	// Owners are the ids that were given out, and what the state turned out to have.
	Owners *owner.Run
	// Frontends are those that were removed from machines, and HandOvers the virtual addresses that machines handed over for that.
	Frontends haproxy.Removals
	HandOvers keepalived.HandOvers
	// Groups are the sync groups whose VIPs are being changed.
	Groups vip.Groups
	// VIPs has the members ([]keepalived.Member) of each VIP that the run has met, by its id: no machine but theirs knows of one.
	VIPs sync.Map
	// Trials has the machines' own checkers look at what is planned for HAProxy.
	Trials haproxy.Edits

	applying atomic.Bool
}

// Begin returns what a run remembers at its beginning.
func Begin() *Memory { return &Memory{Owners: owner.BeginRun()} }

// BeginChange notes that the run changes something.
func (m *Memory) BeginChange() {
	if m != nil {
		m.applying.Store(true)
	}
}

// IsApplying says whether the run has changed something yet. Terraform configures a provider for a plan and another one for the apply, which
// has each object planned once more right before it is made: what a commit asks a daemon's own checker need not be asked of it then.
func (m *Memory) IsApplying() bool { return m != nil && m.applying.Load() }
