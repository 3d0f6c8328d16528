package addresspool

import (
	"fmt"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

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
