package robustness

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
)

// most is how much memory a run may take, in MiB: what a machine answers is bounded.
const most = 1024

// checkResult says what is wrong with how a run ended, whoever has what.
func (w *world) checkResult(r round, o outcome) []violation {
	var wrong []violation
	if strings.Contains(o.Result.Output, secret) {
		wrong = append(wrong, violation{"no secret is told", "what state " + o.Operation.State + " prints", around(o.Result.Output, secret)})
	}
	if o.Result.Memory > most {
		wrong = append(wrong, violation{"what a machine answers is bounded", "memory", fmt.Sprintf("%d MiB", o.Result.Memory)})
	}
	if strings.Contains(o.Result.Output, "panic: ") || strings.Contains(o.Result.Output, "Provider produced inconsistent") {
		wrong = append(wrong, violation{"the provider keeps to the protocol", o.Operation.State, o.Message})
	}
	if o.Result.Status != 0 && !o.Result.Killed {
		w.figures.Refused++
	}
	if r.Quiet && o.Result.Status != 0 {
		wrong = append(wrong, violation{"a run without faults ends well", runThing(o), o.Message})
	}
	if o.Result.Late {
		wrong = append(wrong, violation{"nobody waits longer than was written", "state " + o.Operation.State, o.Operation.String()})
	}
	return wrong
}

// runThing names what a run fails at, so that one fault is told once.
func runThing(o outcome) string {
	head, _, _ := strings.Cut(strings.TrimPrefix(o.Message, "Error: "), " with virtcluster")
	return "a run: " + head[:min(len(head), 80)]
}

func around(text, word string) string {
	i := strings.Index(text, word)
	return text[max(0, i-150):min(len(text), i+60)]
}

// calm has every state apply what nobody else has, and plan: after that a plan is empty, nothing failed, and no secret lies about.
func (w *world) calm(ctx context.Context) error {
	for _, b := range slices.Clone(w.belongings) {
		if b.Kind == "stop" {
			if err := b.do(ctx, "remove"); err != nil {
				return fmt.Errorf("start %v again: %w", b.Values, err)
			}
			w.done(b, "remove")
		}
	}
	r := round{Quiet: true}
	var configs model
	configs.facts = maps.Clone(w.model.facts)
	held := map[string]bool{}
	for _, s := range w.states {
		for _, r := range s.keepNeeded() {
			for _, c := range claimsOf(r.Type, r.Attributes) {
				held[c.Thing] = true
			}
		}
	}
	for _, s := range w.states {
		config := w.model.satisfiable(s.name, configs.withoutTaken(s.name, s.keepNeeded()), held)
		has, err := s.has()
		if err != nil {
			return err
		}
		config = config.sayMoves(has).withoutOwn(has).keepRanges(has)
		// What two states want and none has goes to the first.
		for _, each := range config {
			for _, c := range claimsOf(each.Type, each.Attributes) {
				if _, ok := configs.facts[c.Thing]; !ok {
					configs.facts[c.Thing] = fact{Owner: s.name, Of: each.address()}
				}
			}
		}
		r.Operations = append(r.Operations, operation{State: s.name, Action: "apply", Config: config})
	}
	if err := w.play(ctx, r); err != nil {
		return err
	}
	if len(w.model.vague) > 0 {
		return nil // it was told
	}
	return w.examineCalm(ctx)
}

// keepNeeded returns the state's configuration, with the networks and pools that it has: others may need what was to go.
func (s *state) keepNeeded() configuration {
	all := slices.Clone(s.config)
	has, _ := s.has()
	for _, b := range has {
		if r, ok := s.wrote[b.Address]; ok && slices.Contains([]string{"network", "storage_pool", "ovn_network"}, b.Type) && !slices.ContainsFunc(all, func(other resource) bool {
			return other.Type == r.Type && claimsOf(other.Type, other.Attributes)[0].Thing == claimsOf(r.Type, r.Attributes)[0].Thing
		}) {
			all = append(all, r)
		}
	}
	return all
}

// satisfiable returns the configuration without what needs something of others that nobody has. What a killed run of the state may have made
// stays where the other one holds what it needs in its next configuration: without it nobody would know of it any more.
func (m *model) satisfiable(state string, c configuration, held map[string]bool) configuration {
	drawn := map[string]int{}
	return c.without(func(r resource) bool {
		if drawn[fmt.Sprint(r.Attributes["pool"])]++; m.exceedsPool(state, c, r, drawn) {
			return true
		}
		for name, thing := range map[string]string{"network": "hypervisor network ", "pool": "hypervisor pool "} {
			text, ok := r.Attributes[name].(string)
			if !ok || strings.HasPrefix(text, "$") || !slices.Contains([]string{"dhcp_reservation", "volume", "image"}, r.Type) {
				continue
			}
			f, there := m.facts[thing+text]
			// One's own is referred to, so that it goes last; one that its owner may take away is not counted on.
			if !there || f.Owner == state || m.vague[f.Owner] && !(held[thing+text] && m.mayHave(state, r)) {
				return true
			}
		}
		return false
	})
}

// mayHave says whether a run of the state that was killed may have made the resource.
func (m *model) mayHave(state string, r resource) bool {
	return m.vague[state] && slices.ContainsFunc(claimsOf(r.Type, r.Attributes), func(c claim) bool { return m.facts[c.Thing].Owner == state })
}

// exceedsPool says whether a resource draws from a pool of the configuration when others have its addresses, or so many resources before it drew
// that none is left. drawn counts by what they write for the pool.
func (m *model) exceedsPool(state string, c configuration, r resource, drawn map[string]int) bool {
	text := fmt.Sprint(r.Attributes["pool"])
	at := c.find(strings.TrimSuffix(strings.TrimPrefix(text, "${"), ".id}"))
	if at < 0 || c[at].Type != "address_pool" {
		return false
	}
	room := 0
	for _, each := range list(c[at].Attributes["ranges"]) {
		run, err := addresspool.ParseRange(fmt.Sprint(each))
		if err != nil {
			continue
		}
		for ip := run.From(); run.Contains(ip); ip = ip.Next() {
			if f, taken := m.facts["lan address "+ip.String()]; !taken || f.Owner == state {
				room++
			}
		}
	}
	return drawn[text] > room
}

// A state's credentials are in no file of a machine; what a daemon has to know is in none that others can read.
const secretScript = `find /etc /var/lib/virtcluster /var/log /run /tmp /root /home -xdev -type f -perm "$2" -size -2M -exec grep -lF -e "$1" {} + 2>/dev/null
journalctl --quiet --no-pager --output=cat 2>/dev/null | grep -F -m1 -e "$1"; :`

// examineCalm plans, and looks for secrets and failed units.
func (w *world) examineCalm(ctx context.Context) error {
	var mu sync.Mutex
	var wrong []violation
	var group sync.WaitGroup
	tell := func(v violation) {
		mu.Lock()
		defer mu.Unlock()
		wrong = append(wrong, v)
	}
	for _, s := range w.states {
		group.Go(func() {
			p := s.run(ctx, nil, "plan", "-no-color", "-input=false", "-detailed-exitcode")
			if p.Status != 0 {
				tell(violation{"a plan after an apply is empty", changedThing(p.Output), planned(p.Output)})
			}
		})
	}
	for _, machine := range append(farMachines(), machines...) {
		group.Go(func() {
			for word, mode := range map[string]string{secret: "-000", secret[:8]: "-004"} {
				out, err := acctest.Try(ctx, machine, "sh", "-c", secretScript, "sh", word, mode)
				if err == nil && out != "" {
					tell(violation{"no secret is told", machine, out[:min(len(out), 300)]})
				}
			}
		})
		group.Go(func() {
			if out, err := acctest.Try(ctx, machine, "sh", "-c", "systemctl list-units --state=failed --plain --no-legend | awk '$1 !~ /^(user|session-|systemd-ask-password)/ { print $1 }'"); err == nil && out != "" {
				tell(violation{"no unit fails", machine + " " + out, out})
			}
		})
	}
	group.Wait()
	for _, v := range w.fresh(wrong) {
		w.count(v)
		w.history.note(v)
	}
	return nil
}

// planned is what a plan says is to be done.
func planned(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "# virtcluster") || strings.HasPrefix(trimmed, "~") || strings.HasPrefix(trimmed, "+") || strings.HasPrefix(trimmed, "- ") && !strings.Contains(trimmed, " in /run/") || strings.Contains(trimmed, "Error") {
			lines = append(lines, trimmed)
		}
	}
	out := strings.Join(lines, " ")
	return out[:min(len(out), 500)]
}

// changedThing is the type of the first resource that a plan changes.
func changedThing(text string) string {
	_, rest, ok := strings.Cut(text, "# virtcluster_")
	if !ok {
		return "a plan"
	}
	kind, _, _ := strings.Cut(rest, ".")
	return "a plan: " + kind
}

// servedBy is the daemon that serves what a person has.
var servedBy = map[string]string{"zone": "named", "haproxy": "haproxy", "instance": "keepalived", "export": "nfs-server"}

// goesOn finds a daemon that a destroy leaves running for what a person has, by the address of its machine and its unit.
var goesOn = regexp.MustCompile("on root@([0-9.]+) goes on, although it did not run before .*?`systemctl disable --now ([^` ]+)`")

// findGoingOn returns the units that a run says it leaves running.
func (r result) findGoingOn() (all []belonging) {
	for _, found := range goesOn.FindAllStringSubmatch(r.flat(), -1) {
		for i, machine := range machines {
			if addressOf(i) == found[1] {
				all = append(all, belonging{Kind: "unit", Machine: machine, Values: []string{found[2]}})
			}
		}
	}
	return all
}

func TestFindGoingOn(t *testing.T) {
	r := result{Output: "│ Warning: Some services go on\n│ \n│ nfs on root@10.0.100.102 goes on, although it did not run before the provider\n│ came: others have written /etc/exports since. Where nothing there needs it, run\n│ `systemctl disable --now nfs-server` there.\n"}
	if got := r.findGoingOn(); len(got) != 1 || got[0].Machine != "svc-2" || got[0].Values[0] != "nfs-server" {
		t.Errorf("found %v", got)
	}
}

// finish destroys every state, and takes away what a person has: the machines are as they were. What a person has of a state's pools and
// networks may keep these from being destroyed the first time.
func (w *world) finish(ctx context.Context) error {
	for _, quiet := range []bool{false, true} {
		r := round{Quiet: quiet}
		for _, s := range w.states {
			if has, err := s.has(); err != nil || len(has) > 0 || len(s.services) > 0 {
				r.Operations = append(r.Operations, operation{State: s.name, Action: "destroy"})
			}
		}
		if len(r.Operations) > 0 {
			if err := w.play(ctx, r); err != nil {
				return err
			}
		}
		for _, b := range slices.Backward(slices.Clone(w.belongings)) {
			if onHypervisor := b.Kind == "volume" || b.Kind == "domain" || b.Kind == "port"; quiet || onHypervisor {
				if err := b.do(ctx, "remove"); err != nil {
					w.say("remove %s of a person: %v", b.Name, err)
				}
				w.done(b, "remove")
				if unit := servedBy[b.Kind]; unit != "" {
					// A daemon that served a person's part went on, as the destroy told; now nobody needs it.
					w.goingOn = append(w.goingOn, belonging{Kind: "unit", Machine: b.Machine, Values: []string{unit}})
				}
			}
		}
	}
	for _, unit := range w.goingOn {
		_ = unit.do(ctx, "remove")
	}
	for machine := range w.booted {
		// What the distribution's own file says was loaded at boot, for the sake of exposures. The provider stops no unit that empties all
		// tables when it stops; here nothing else is in them.
		const script = `[ "$(nft list tables)" != "table inet filter" ] || systemctl is-enabled --quiet nftables || systemctl stop nftables`
		if out, err := acctest.Try(ctx, machine, "sh", "-c", script); err != nil {
			return fmt.Errorf("stop nftables on %s: %w: %s", machine, err, out)
		}
	}
	return w.compareWithBeginning(ctx)
}

// compareWithBeginning says where the machines are not as they were: bytes, modes, rules and units.
func (w *world) compareWithBeginning(ctx context.Context) error {
	seen, err := w.look(ctx)
	if err != nil {
		return err
	}
	things := slices.Sorted(maps.Keys(seen))
	for thing := range w.baseline {
		if _, ok := seen[thing]; !ok {
			things = append(things, thing)
		}
	}
	for _, thing := range things {
		if was, is := w.baseline[thing], seen[thing]; was != is && strings.Contains(thing, " raw ") {
			detail := fmt.Sprintf("it was %.150q and is %.150q", was, is)
			if machine, file, ok := strings.Cut(thing, " raw /"); ok && is != "" {
				text, _ := acctest.Try(ctx, machine, "head", "-c", "700", "/"+file)
				detail += ": " + text
			}
			v := violation{"a machine is in the end as it was", thing, detail}
			if len(w.fresh([]violation{v})) > 0 {
				w.count(v)
				w.history.note(v)
			}
		}
	}
	return nil
}
