package keepalived

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// world is what a rollout does to machines, as VRRP would have it.
type world struct {
	running map[string]Instance
	owner   string
}

// take makes a step and says what is wrong with the world after it; "" is nothing.
func (w *world) take(s Step) string {
	before, ran := w.running[s.ID]
	if s.Instance == nil {
		delete(w.running, s.ID)
	} else {
		w.running[s.ID] = *s.Instance
	}
	switch {
	case w.owner == "" && s.Instance != nil && s.Instance.Priority == priorityOwner:
		w.owner = s.ID
	case s.ID == w.owner && s.Instance == nil:
		w.owner = w.successor()
	case s.ID == w.owner && ran && !survivesReload(before, *s.Instance) && s.Instance.Priority != priorityOwner:
		return "the owner's instance starts anew and waits for three advertisements"
	}
	if s.Owner != "" && s.Owner != w.owner {
		return fmt.Sprintf("waits for %s while %q owns", s.Owner, w.owner)
	}
	return w.wrong()
}

// successor is who takes over from an owner that gave up, and must do it at once.
func (w *world) successor() string {
	for id, in := range w.running {
		if in.Priority == heir {
			return id
		}
	}
	return ""
}

// wrong looks for what would make two owners, or move the addresses by a preemption.
func (w *world) wrong() string {
	owner, owned := w.running[w.owner]
	for a, x := range w.running {
		for b, y := range w.running {
			if a == b {
				continue
			}
			if !areCompatible(x, y) {
				return fmt.Sprintf("%s and %s do not understand each other:\n%s\n%s", a, b, x.Render(), y.Render())
			}
			if x.Unicast && !slices.Contains(x.Peers, y.Source) {
				return fmt.Sprintf("%s does not know %s", a, b)
			}
		}
		if owned && a != w.owner && !x.NoPreempt && x.Priority > owner.Priority {
			return fmt.Sprintf("%s preempts %s", a, w.owner)
		}
	}
	return ""
}

// drawVIP makes VIPs that share machines and some of their values.
func drawVIP(t *rapid.T) VIP {
	v := sample()
	v.Track, v.Members = nil, nil
	v.Name = rapid.SampledFrom([]string{"api", "renamed"}).Draw(t, "name")
	v.RouterID = rapid.SampledFrom([]int{7, 8}).Draw(t, "id")
	v.AuthPass = rapid.SampledFrom([]string{"one", "two", ""}).Draw(t, "password")
	v.Unicast = rapid.Bool().Draw(t, "unicast")
	v.Preempt = rapid.Bool().Draw(t, "preempt")
	v.Addresses = prefixes(rapid.SampledFrom([]string{"10.0.100.250/24", "10.0.100.251/24"}).Draw(t, "address"))
	if rapid.Bool().Draw(t, "second address") {
		v.Addresses = append(v.Addresses, prefixes("10.0.100.249/24")...)
	}
	ids := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 1, 4, rapid.ID).Draw(t, "members")
	for _, id := range ids {
		v.Members = append(v.Members, Member{
			ID: id, Interface: rapid.SampledFrom([]string{"eth0", "eth0", "eth1"}).Draw(t, "interface"), State: "BACKUP",
			Address:  netip.AddrFrom4([4]byte{10, 0, 100, id[0]}),
			Priority: rapid.IntRange(1, 254).Draw(t, "priority"),
		})
	}
	return v
}

func describe(steps []Step) string {
	var out strings.Builder
	for _, s := range steps {
		if s.Instance == nil {
			fmt.Fprintf(&out, "%s: drop (owner %q)\n", s.ID, s.Owner)
		} else {
			fmt.Fprintf(&out, "%s: set (owner %q)\n%s", s.ID, s.Owner, s.Instance.Render())
		}
	}
	return out.String()
}

func TestEveryRolloutKeepsExactlyOneOwner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := drawVIP(t), drawVIP(t)
		w := world{running: map[string]Instance{}}
		for _, m := range from.Members {
			w.running[m.ID] = from.Instance(m.ID)
		}
		ranked := (&rollout{target: from}).byRank()
		w.owner = ranked[0]
		if !from.Preempt {
			w.owner = rapid.SampledFrom(ranked).Draw(t, "owner")
		}
		steps := Rollout(to, Situation{Live: maps.Clone(w.running), Owner: w.owner})
		for i, s := range steps {
			if wrong := w.take(s); wrong != "" {
				t.Fatalf("after step %d: %s\n%s", i+1, wrong, describe(steps))
			}
			if w.owner == "" && len(w.running) > 0 {
				t.Fatalf("nobody owns after step %d\n%s", i+1, describe(steps))
			}
		}
		for _, m := range to.Members {
			if got, ok := w.running[m.ID]; !ok || !got.Equal(to.Instance(m.ID)) {
				t.Fatalf("%s ends as\n%s\n%s", m.ID, got.Render(), describe(steps))
			}
		}
		if len(w.running) != len(to.Members) {
			t.Fatalf("ends with %d instances\n%s", len(w.running), describe(steps))
		}
	})
}

func TestAnUnchangedVIPTakesNoStep(t *testing.T) {
	v := sample()
	live := map[string]Instance{"a": v.Instance("a"), "b": v.Instance("b")}
	if steps := Rollout(v, Situation{Live: live, Owner: "b"}); len(steps) != 0 {
		t.Fatalf("steps:\n%s", describe(steps))
	}
}

func TestASyncGroupMovesAsOne(t *testing.T) {
	v := sample()
	v.SyncGroup = "pair"
	other := grouped("all", 8)
	live := map[string]Instance{"a": v.Instance("a"), "b": v.Instance("b")}
	v.Members[1].Priority = 100
	steps := Rollout(v, Situation{Live: live, Owner: "a", Companions: map[string][]Instance{"a": {other.Instance("a")}, "b": {other.Instance("b")}}})
	for i, s := range steps {
		if s.Instance != nil {
			continue
		}
		if !slices.Equal(s.Leave, []string{"all"}) || s.ID != "a" {
			t.Fatalf("the owner gives up %v on %s", s.Leave, s.ID)
		}
		if raise := steps[i-1]; len(raise.Companions) != 1 || raise.Companions[0].Priority != heir {
			t.Fatalf("the heir waits with %+v", raise.Companions)
		}
	}
	back := map[string]bool{}
	for _, s := range steps[len(steps)-2:] {
		for _, c := range s.Companions {
			back[s.ID] = c.Equal(other.Instance(s.ID))
		}
	}
	if !back["a"] || !back["b"] {
		t.Fatalf("companions do not come back as they were: %v\n%s", back, describe(steps))
	}
}

func TestAMemberThatCannotServeIsNoHeir(t *testing.T) {
	v := sample()
	v.Members[0].Priority, v.Members[1].Priority = 200, 100
	v.Members = append(v.Members, Member{ID: "c", Interface: "eth0", Address: netip.MustParseAddr("10.0.100.103"), Priority: 150, State: "BACKUP"})
	live := map[string]Instance{"a": v.Instance("a"), "b": v.Instance("b"), "c": v.Instance("c")}
	v.Members = v.Members[1:]
	for _, s := range Rollout(v, Situation{Live: live, Owner: "a", Bonus: map[string]int{"c": Unfit}}) {
		if s.ID == "a" && s.Owner != "b" {
			t.Fatalf("the heir is %q", s.Owner)
		}
	}
}

// What a person wrote into the instances stays with each of them, also where the rollout takes a member out and puts it back.
func TestARolloutKeepsWhatAPersonWrote(t *testing.T) {
	t.Parallel()
	was := sample()
	was.Track = []Track{{Name: "eth9", Interface: "eth9", Weight: 5}}
	trees, live := map[string]transaction.Tree{}, map[string]Instance{}
	for _, m := range was.Members {
		tree := transaction.Tree{}
		if err := Set(tree, was.Instance(m.ID)); err != nil {
			t.Fatal(err)
		}
		address := was.Addresses[0].String()
		text := strings.Replace(string(tree[Path].Content), address, address+" label eth0:x", 1)
		text = strings.Replace(text, "    interface ", "    notify_master /x\n    interface ", 1)
		text = strings.Replace(text, "eth9 weight 5", "eth9 weight 5 reverse", 1)
		tree.Put(Path, []byte(text), mode, "", "")
		in, err := Find(tree, was.Name)
		if err != nil {
			t.Fatal(err)
		}
		trees[m.ID], live[m.ID] = tree, in
	}
	for name, change := range map[string]func(*VIP){
		"interval": func(v *VIP) { v.AdvertInterval = 3 },
		"renamed":  func(v *VIP) { v.Name = "renamed" },
	} {
		want := was
		change(&want)
		steps := Rollout(want, Situation{Live: maps.Clone(live), Owner: was.Members[0].ID})
		for killed := range len(steps) + 1 {
			t.Run(fmt.Sprintf("%s, killed after %d steps", name, killed), func(t *testing.T) {
				after := map[string]transaction.Tree{}
				for id, tree := range trees {
					after[id] = tree.Clone()
				}
				applySteps(t, after, steps[:killed])
				applySteps(t, after, Rollout(want, readSituation(after, was.Members[0].ID, was.Name, want.Name)))
				for id, tree := range after {
					text := string(tree[Path].Content)
					turned := strings.Count(text, "eth9 weight 5 reverse") == 1 || killed > 0 && killed < len(steps)
					if !turned || strings.Count(text, "notify_master /x") != 1 || strings.Count(text, "label eth0:x") != 1 || !strings.Contains(text, want.Name) || strings.Contains(text, asideMark) {
						t.Errorf("%s has\n%s", id, text)
					}
					if err := Drop(tree, want.Name); err != nil || len(tree) != 0 {
						t.Errorf("a destroy leaves %v, %v", tree, err)
					}
				}
			})
		}
	}
}

// A machine whose only instance is taken out, with what a person wrote into it set aside, runs no keepalived for that moment.
func TestAMachineOfNothingButWhatIsSetAsideRunsNone(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{}
	if err := Set(tree, sample().Instance("a")); err != nil {
		t.Fatal(err)
	}
	tree.Put(Path, []byte(strings.Replace(string(tree[Path].Content), "    interface ", "    notify_master /x\n    interface ", 1)), mode, "", "")
	next := tree.Clone()
	if err := suspendInstance(next, sample().Name, sample().Name); err != nil || !strings.Contains(string(next[Path].Content), asideMark) {
		t.Fatalf("%v\n%s", err, next[Path].Content)
	}
	h := hosttest.New()
	if err := (Daemon{}).Check(t.Context(), h, "/stage", next); err != nil || len(h.Log()) > 0 {
		t.Errorf("the checker is asked %q, %v", h.Log(), err)
	}
}

// applySteps makes steps of a rollout on machines.
func applySteps(t *testing.T, machines map[string]transaction.Tree, steps []Step) {
	t.Helper()
	for _, s := range steps {
		if err := s.Apply(machines[s.ID], func(string, owner.Mark) bool { return true }); err != nil {
			t.Fatal(err)
		}
	}
}

// readSituation is what an apply finds on machines, of which one holds the addresses if it serves the instance under one of the names.
func readSituation(machines map[string]transaction.Tree, holder string, names ...string) Situation {
	now := Situation{Live: map[string]Instance{}}
	for id, tree := range machines {
		for _, name := range names {
			if in, err := Find(tree, name); err == nil {
				now.Live[id] = in
			}
		}
	}
	if _, serves := now.Live[holder]; serves {
		now.Owner = holder
	}
	return now
}
