package planregistry

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestPoolsOfOneMachineHaveNothingInCommon(t *testing.T) {
	run := func(from, to string) Range {
		return Range{Start: netip.MustParseAddr(from), End: netip.MustParseAddr(to)}
	}
	var p Pools
	lan, edge := Pool{"svc-1", "lan"}, Pool{"svc-1", "edge"}
	for _, c := range []struct {
		about string
		pool  Pool
		runs  []Range
		want  []SharedRun
	}{
		{"the first", lan, []Range{run("10.0.0.1", "10.0.0.9")}, nil},
		{"the first again", lan, []Range{run("10.0.0.1", "10.0.0.9")}, nil},
		{"beside it", edge, []Range{run("10.0.0.10", "10.0.0.20")}, nil},
		{"of another machine", Pool{"svc-2", "edge"}, []Range{run("10.0.0.1", "10.0.0.9")}, nil},
		{"the last of it too", edge, []Range{run("fd00::1", "fd00::1"), run("10.0.0.9", "10.0.0.20")}, []SharedRun{{1, lan, run("10.0.0.1", "10.0.0.9")}}},
		{"moved away", edge, []Range{run("10.0.1.9", "10.0.1.20")}, nil},
		{"around it", lan, []Range{run("10.0.0.0", "10.0.255.255")}, []SharedRun{{0, edge, run("10.0.1.9", "10.0.1.20")}}},
	} {
		if diff := cmp.Diff(c.want, p.Replace(c.pool, c.runs...), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("%s: %s", c.about, diff)
		}
	}
}

// Whoever names the address of a draw has what was drawn for that; another address of a pool that is made is nobody's yet.
func TestADrawAndWhatItIsForAreOneThing(t *testing.T) {
	t.Parallel()
	var p Pools
	at := netip.MustParseAddr
	pool := Pool{"svc-1", "lan"}
	p.Make(pool, func(a netip.Addr) bool { return a != at("10.0.0.9") })
	p.Draw(at("10.0.0.1"))
	for address, want := range map[string]bool{"10.0.0.1": false, "10.0.0.2": true, "10.0.0.9": false} {
		if found, there := p.FindMade(at(address)); there != want || there && found != pool {
			t.Errorf("%s: %v %v", address, found, there)
		}
	}
	if !p.IsDrawn(at("10.0.0.1")) || p.IsDrawn(at("10.0.0.2")) {
		t.Error("what is drawn is wrong")
	}
}
