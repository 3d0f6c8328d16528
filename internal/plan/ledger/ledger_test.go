package ledger_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan/ledger"
)

func on(id, place string) plan.Holder {
	return plan.Holder{ID: id, Self: id, Name: id, Places: []string{place}}
}

func device(name string) plan.Use { return plan.Use{Kind: plan.Device, Value: name} }

// step is what a resource registers, and who is in its way.
type step struct {
	holder plan.Holder
	use    plan.Use
	want   []string
}

func run(t *testing.T, steps ...step) {
	t.Helper()
	var l ledger.Ledger
	for i, s := range steps {
		var got []string
		for _, c := range l.Register(s.holder, []plan.Use{s.use}) {
			got = append(got, c.They.Name)
		}
		if len(got) != len(s.want) || len(got) > 0 && got[0] != s.want[0] {
			t.Errorf("step %d, %s: %v instead of %v", i+1, s.holder.ID, got, s.want)
		}
	}
}

func TestWhatTwoResourcesUseCollides(t *testing.T) {
	t.Parallel()
	gone := on("a", "x")
	gone.Doing = plan.Removes
	both := on("b", "x")
	both.Places = []string{"y", "x"}
	for name, steps := range map[string][]step{
		"whoever is second sees the first":    {{on("a", "x"), device("eth0"), nil}, {on("b", "x"), device("eth0"), []string{"a"}}},
		"one that is planned twice":           {{on("a", "x"), device("eth0"), nil}, {on("a", "x"), device("eth0"), nil}},
		"another value":                       {{on("a", "x"), device("eth0"), nil}, {on("b", "x"), device("eth1"), nil}},
		"another machine":                     {{on("a", "x"), device("eth0"), nil}, {on("b", "y"), device("eth0"), nil}},
		"one of two names of a machine":       {{on("a", "x"), device("eth0"), nil}, {both, device("eth0"), []string{"a"}}},
		"one that moved out of the way":       {{on("a", "x"), device("eth0"), nil}, {on("a", "x"), device("eth1"), nil}, {on("b", "x"), device("eth0"), nil}},
		"two that swap":                       {{on("a", "x"), device("eth1"), nil}, {on("b", "x"), device("eth0"), nil}, {on("a", "x"), device("eth1"), nil}},
		"one that goes is in nobody's way":    {{gone, device("eth0"), nil}, {on("b", "x"), device("eth0"), nil}},
		"nobody is in the way of one that is": {{on("b", "x"), device("eth0"), nil}, {gone, device("eth0"), nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, steps...)
		})
	}
}

func TestWhatIsAwaitedIsFoundWhenItComes(t *testing.T) {
	t.Parallel()
	var l ledger.Ledger
	awaited := plan.Use{Kind: plan.Device, On: "x", Value: "eth0"}
	if l.Await(t.Context(), awaited, time.Millisecond) {
		t.Error("something that nobody has is found")
	}
	time.AfterFunc(5*time.Millisecond, func() { l.Register(on("a", "x"), []plan.Use{device("eth0")}) })
	if !l.Await(t.Context(), awaited, time.Minute) {
		t.Error("what came is not found")
	}
	if _, found := l.Find(device("eth0")); found {
		t.Error("something of no machine is found")
	}
}

func TestSpansOverlapWhereAnAddressIsInBoth(t *testing.T) {
	t.Parallel()
	span := func(first, last string) plan.Span {
		return plan.Span{First: netip.MustParseAddr(first), Last: netip.MustParseAddr(last)}
	}
	run1 := span("10.0.0.5", "10.0.0.9")
	for _, c := range []struct {
		other plan.Span
		want  bool
	}{
		{span("10.0.0.9", "10.0.0.12"), true}, {span("10.0.0.1", "10.0.0.5"), true}, {span("10.0.0.1", "10.0.0.20"), true},
		{span("10.0.0.10", "10.0.0.12"), false}, {span("fd00::5", "fd00::9"), false}, {plan.Span{}, false}, {plan.Span{Last: netip.MustParseAddr("10.0.0.7")}, false},
	} {
		t.Run(c.other.First.String(), func(t *testing.T) {
			t.Parallel()
			if got := run1.Overlaps(c.other); got != c.want {
				t.Errorf("%s and %s: %t", run1, c.other, got)
			}
		})
	}
}
