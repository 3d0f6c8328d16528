// Package addresspool is a stock of addresses that states on several computers draw from: it is kept in a file on one machine,
// and each address has one holder.
package addresspool

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"go4.org/netipx"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Pool is what may be drawn.
type Pool struct {
	Name string
	// Ranges are what the pool has, and Reserved what of it is never given out.
	Ranges, Reserved []netipx.IPRange
	// AvoidBuggyIPs leaves out the IPv4 addresses that end in .0 and .255: some routers and clients take them for a network's own
	// and its broadcast address, whatever the subnet.
	AvoidBuggyIPs bool
}

var (
	poolName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)
	keyName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,126}$`)
)

// Validate finds what cannot be a pool.
func (p Pool) Validate() []service.Problem {
	var problems []service.Problem
	if !poolName.MatchString(p.Name) {
		problems = append(problems, service.Problemf([]any{"name"}, "Invalid name", "write 1 to 63 letters, digits, dots, dashes or underscores, not %q", p.Name))
	}
	if len(p.Ranges) == 0 {
		problems = append(problems, service.Problemf([]any{"ranges"}, "No addresses", "write at least one range, such as \"10.0.0.10-10.0.0.19\""))
	}
	for i, run := range p.Ranges {
		for _, other := range p.Ranges[:i] {
			if run.Overlaps(other) {
				problems = append(problems, service.Problemf([]any{"ranges", i}, "Overlapping ranges", "%s overlaps %s: write each address once", FormatRange(run), FormatRange(other)))
			}
		}
	}
	for i, run := range p.Reserved {
		if !overlapsAny(run, p.Ranges) && len(p.Ranges) > 0 {
			problems = append(problems, service.Problemf([]any{"reserved", i}, "Reserved address outside the pool", "%s is in none of the ranges, and so is never given out anyway: leave it out, or widen the ranges", FormatRange(run)))
		}
	}
	if len(problems) == 0 && p.toStock().countAddresses().Sign() == 0 {
		problems = append(problems, service.Problemf([]any{"ranges"}, "No addresses", "everything in the ranges is reserved or avoided: widen them"))
	}
	return problems
}

func overlapsAny(run netipx.IPRange, others []netipx.IPRange) bool {
	for _, other := range others {
		if run.Overlaps(other) {
			return true
		}
	}
	return false
}

func (p Pool) toStock() stock {
	var b netipx.IPSetBuilder
	for _, run := range p.Ranges {
		b.AddRange(run)
	}
	for _, run := range p.Reserved {
		b.RemoveRange(run)
	}
	set, _ := b.IPSet() // runs that were parsed are valid
	return stock{set, p.AvoidBuggyIPs}
}

// NewPoolPart returns the part of the machine's ledgers that a pool is.
func NewPoolPart(of part.Identity) part.Part[Pool] {
	put := func(t transaction.Tree, want Pool) error { return SetPool(t, want, of.Mark) }
	return part.Part[Pool]{
		Daemon: Daemon{}, Owner: fmt.Sprintf("address pool %q", of.Name), Place: Place(of.Name), ImportID: of.ImportID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return PoolMark(t, of.Name) },
		Find: func(t transaction.Tree) (Pool, error) { return FindPool(t, of.Name) },
		Add:  put, Set: put,
		Drop: func(t transaction.Tree) error { return DropPool(t, of.Name) },
	}
}

// Uses implements plan.User: the ranges, and what of them the pool gives out.
func (p Pool) Uses() []plan.Use {
	var uses []plan.Use
	known := []string{"ranges", "reserved"}
	for i, run := range p.Ranges {
		span := plan.Span{First: run.From(), Last: run.To()}
		uses = append(uses, plan.Use{Kind: plan.PoolRange, Value: span.String(), Span: span, Path: []any{"ranges", i}, Known: known})
	}
	for _, run := range p.toStock().set.Ranges() {
		span := plan.Span{First: run.From(), Last: run.To()}
		uses = append(uses, plan.Use{Verb: plan.Gives, Kind: plan.PoolStock, Value: span.String(), Span: span, Skips: p.toStock().avoidsAddress, Path: []any{"ranges"}, Known: known})
	}
	return uses
}

// Describe implements plan.Described.
func (p Pool) Describe(id string) string {
	machine, _, _ := strings.Cut(id, "#")
	return fmt.Sprintf("address pool %q on %s", p.Name, machine)
}

// Uses implements plan.User: an address that is drawn is in nobody's way who has it, be it a machine or a VIP.
func (a Address) Uses() []plan.Use {
	if !a.IP.IsValid() {
		return nil
	}
	return []plan.Use{NewDrawUse(a)}
}

// NewDrawUse is what a draw says of its address.
func NewDrawUse(a Address) plan.Use {
	return plan.Use{Verb: plan.Gives, Kind: plan.DrawnAddress, Value: a.IP.String(), Span: plan.SpanOf(a.IP)}
}

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
