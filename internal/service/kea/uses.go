package kea

import (
	"fmt"
	"maps"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// Uses implements plan.User: an interface has one DHCP server, and what that gives out may be nobody else's address.
func (s Server) Uses() []plan.Use {
	if s.Interface == "" {
		return nil
	}
	on := fmt.Sprintf("the segment of %s", s.Interface)
	uses := []plan.Use{{Kind: plan.DHCPServer, Value: s.Interface, Path: []any{"interface"}}}
	for i, r := range s.Ranges {
		if r.Start.IsValid() && r.End.IsValid() {
			uses = append(uses, plan.Use{
				Kind: plan.HandedOut, Scope: on, Value: fmt.Sprintf("%s to %s", r.Start, r.End), Span: plan.Span{First: r.Start, Last: r.End}, Path: []any{"ranges", i},
			})
		}
	}
	for _, mac := range slices.Sorted(maps.Keys(s.Hosts)) {
		if a := s.Hosts[mac].IP; a.IsValid() {
			uses = append(uses, plan.Use{Kind: plan.ListedAddress, Scope: on, Value: a.String(), Span: plan.SpanOf(a), For: mac, Path: []any{"hosts"}})
		}
	}
	return uses
}
