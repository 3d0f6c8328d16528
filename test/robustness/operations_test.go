package robustness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// operation is one step of a history: of a state, of a person, or a fault.
type operation struct {
	State  string        `json:"state,omitempty"`
	Action string        `json:"action,omitempty"` // apply, target, replace, import, older, destroy
	Config configuration `json:"config,omitempty"`
	// Address is the resource that the action is about.
	Address string     `json:"address,omitempty"`
	Kill    *kill      `json:"kill,omitempty"`
	Person  *belonging `json:"person,omitempty"`
	Verb    string     `json:"verb,omitempty"` // add or remove
	// Beside says that the person acts while the states are at work, and not before.
	Beside bool   `json:"beside,omitempty"`
	Fault  *fault `json:"fault,omitempty"`
}

// round is what happens at the same time.
type round struct {
	Operations []operation `json:"operations"`
	// Quiet rounds have neither faults nor persons: every state applies what it can have, and plans nothing afterwards.
	Quiet bool `json:"quiet,omitempty"`
}

func (o operation) String() string {
	switch {
	case o.Person != nil:
		return fmt.Sprintf("person %s %s %s %v on %s", o.Verb, o.Person.Kind, o.Person.Name, o.Person.Values, o.Person.Machine)
	case o.Fault != nil:
		values := strings.Join(o.Fault.Values, " ")
		return fmt.Sprintf("fault %s %.40s on %s after %s", o.Fault.Kind, values, o.Fault.Machine, o.Fault.After)
	}
	text := fmt.Sprintf("state %s %s %s", o.State, o.Action, o.Address)
	var all []string
	for _, r := range o.Config {
		all = append(all, r.Type+"."+r.Key)
	}
	text += " {" + strings.Join(all, ", ") + "}"
	if o.Kill != nil && o.Kill.Failpoint != "" {
		text += " killed at " + o.Kill.Failpoint
	} else if o.Kill != nil {
		text += fmt.Sprintf(" killed by %s after %s (provider: %t)", o.Kill.Signal, o.Kill.After.Round(time.Millisecond), o.Kill.Provider)
	}
	return text
}

// perform does what a state does in an operation, and says how it ended. Everything but an apply of all is followed by nothing: what
// it leaves is for the next one to mend.
func (s *state) perform(ctx context.Context, o operation) (result, error) {
	if o.Action != "destroy" {
		if err := s.write(o.Config); err != nil {
			return result{}, err
		}
	}
	flags := []string{"-no-color", "-input=false"}
	apply := append([]string{"apply", "-auto-approve"}, flags...)
	switch o.Action {
	case "target", "replace":
		return s.run(ctx, o.Kill, append(apply, "-"+o.Action+"="+o.Address)...), nil
	case "destroy":
		destroy := append(append([]string{"destroy", "-auto-approve"}, flags...), "-parallelism=20")
		r := s.run(ctx, o.Kill, destroy...)
		if r.Status == 0 && s.forgetful && strings.Contains(r.flat(), "is of this very state") {
			var err error
			if r, err = s.leaveForgotten(ctx, destroy); err != nil {
				return r, err
			}
		}
		if r.Status != 0 {
			return r, nil
		}
		return r, s.write(nil)
	case "import":
		return s.reimport(ctx, o.Address)
	case "older":
		return s.forget(ctx, o.Config, apply)
	}
	return s.run(ctx, o.Kill, append(apply, "-parallelism=20")...), nil
}

// leaveForgotten does what a destroy asks for that tells of a service node which is in no state: it imports the machines and destroys them.
func (s *state) leaveForgotten(ctx context.Context, destroy []string) (result, error) {
	if err := s.write(nil); err != nil {
		return result{}, err
	}
	for i, machine := range machines {
		if _, ok := s.services[machine]; ok {
			s.run(ctx, nil, "import", "-no-color", "-input=false", "virtcluster_service_node."+machine, "ssh://root@"+addressOf(i))
		}
	}
	return s.run(ctx, nil, destroy...), nil
}

// reimport takes a resource out of the state and imports it again. What could not be imported is put back.
func (s *state) reimport(ctx context.Context, address string) (result, error) {
	has, err := s.has()
	if err != nil {
		return result{}, err
	}
	i := slices.IndexFunc(has, func(b believed) bool { return b.Address == address })
	if i < 0 {
		return result{Argv: []string{"import", "nothing"}}, nil
	}
	before, err := os.ReadFile(s.file())
	if err != nil {
		return result{}, err
	}
	if r := s.run(ctx, nil, "state", "rm", address); r.Status != 0 {
		return r, nil
	}
	r := s.run(ctx, nil, "import", "-no-color", "-input=false", address, importID(has[i]))
	if r.Status != 0 {
		return r, s.restore(before)
	}
	return r, nil
}

// restore puts a state back that was there before: a later one of the same lineage takes it for what it is. It knows nothing of what was
// made meanwhile.
func (s *state) restore(text []byte) error {
	s.forgetful = true
	return os.WriteFile(s.file(), text, 0o600)
}

// refusal finds which resource was refused as it is there already, and what import takes for it.
var refusal = regexp.MustCompile("with (virtcluster_[^,]+), on .*?(?:import it as \"|terraform import ADDRESS )([^\"` ]+)")

// findRefused returns by its address what import takes for each resource that a run refused as it is there already, but for what another state
// has.
func (r result) findRefused() map[string]string {
	found := map[string]string{}
	for each := range strings.SplitSeq(r.flat(), "Error: ") {
		if m := refusal.FindStringSubmatch(each); m != nil && !strings.Contains(each, "belongs to another state") {
			found[m[1]] = m[2]
		}
	}
	return found
}

// importRefused does what a run's refusals ask for where a state is forgetful: it imports what was made and is not in it. It says whether
// there was any.
func (s *state) importRefused(ctx context.Context, r result) bool {
	found := r.findRefused()
	for address, id := range found {
		s.run(ctx, nil, "state", "rm", address)
		s.run(ctx, nil, "import", "-no-color", "-input=false", address, id)
	}
	return len(found) > 0
}

// ofGonePool finds the volume that a run could not remove as somebody removed its pool: where the run before was killed, only a person can tell
// that the volume is gone too.
var ofGonePool = regexp.MustCompile(`Cannot delete volume "([^"]+)" the storage pool "[^"]+" is gone`)

// leaveGone does what a run's refusals ask for where a state is forgetful: it takes volumes out of it whose pool is gone. It says whether there was any.
// What it leaves that is there still, the next look finds.
func (s *state) leaveGone(ctx context.Context, r result) bool {
	has, _ := s.has()
	left := false
	for _, found := range ofGonePool.FindAllStringSubmatch(r.flat(), -1) {
		for _, b := range has {
			if b.Type == "volume" && importID(b) == found[1] {
				left = s.run(ctx, nil, "state", "rm", b.Address).Status == 0 || left
			}
		}
	}
	return left
}

// forget has a run work with the state file of before the last change, as one that was restored from a copy. What it cannot take for
// its own it refuses, or warns of where it is what replaced its own; then the newer file is found again. What neither the copy nor the
// configuration has, nobody would ever take away.
func (s *state) forget(ctx context.Context, config configuration, apply []string) (result, error) {
	newer, err := os.ReadFile(s.file())
	older, err2 := os.ReadFile(s.file() + ".before")
	has, err3 := parseState(newer)
	had, err4 := parseState(older)
	lost := func(b believed) bool {
		return config.find(b.Address) < 0 && !slices.ContainsFunc(had, func(old believed) bool { return old.Address == b.Address })
	}
	if errors.Join(err, err2, err3, err4) != nil || slices.ContainsFunc(has, lost) {
		return result{Argv: []string{"older", "nothing"}}, nil //nolint:nilerr // a state that was not changed yet has no older one
	}
	if err := s.restore(older); err != nil {
		return result{}, err
	}
	r := s.run(ctx, nil, apply...)
	if r.Status != 0 || strings.Contains(r.flat(), "is not this resource's any more") {
		return r, s.restore(newer)
	}
	return r, nil
}

// importID is what import takes for a resource.
func importID(b believed) string {
	a := attributes(b.Attributes)
	switch b.Type {
	case "node":
		return strings.TrimPrefix(a.text("hypervisor")+"/"+a.text("name"), "/")
	case "network", "storage_pool":
		return a.text("name")
	case "volume", "image":
		return a.text("pool") + "/" + a.text("name")
	case "pod_network":
		parts := []string{a.text("cidr"), a.text("host_prefix")}
		for name, address := range object(a["nodes"]) {
			parts = append(parts, fmt.Sprintf("%s=%s=%s", name, address, object(a["pod_cidrs"])[name]))
		}
		return strings.Join(parts, ",")
	case "dhcp_reservation":
		return a.text("network") + "/" + a.text("mac")
	case "vip":
		var members []string
		for _, name := range slices.Sorted(maps.Keys(object(a["instances"]))) {
			members = append(members, name+"="+attributes(object(object(a["instances"])[name])).text("service_node"))
		}
		return strings.Join(members, ",") + "#" + a.text("name")
	}
	return a.text("id")
}

// drawState draws what a state does next.
func (w *world) drawState(s *state) operation {
	o := operation{State: s.name, Action: "apply", Config: slices.Clone(s.config)}
	for i := range o.Config {
		o.Config[i].From = ""
	}
	// What a killed run left is for the next one to take over: who wanted it still does.
	if w.model.vague[s.name] {
		return w.mayKill(o)
	}
	// What others have is refused; sooner or later somebody takes it out of the configuration.
	if w.rng.IntN(10) < 6 {
		o.Config = w.model.withoutTaken(s.name, o.Config)
	}
	choice := w.rng.IntN(100)
	snapshot := slices.IndexFunc(o.Config, func(r resource) bool { return r.Type == "snapshot" })
	switch {
	// Few configurations have a snapshot, and few changes of one go back to it.
	case snapshot >= 0 && w.rng.IntN(4) == 0:
		w.changeOne(s, &o, o.Config[snapshot])
	case len(o.Config) < 3 || choice < 40:
		for range 1 + w.rng.IntN(3) {
			w.drawMore(s, &o)
		}
		if w.rng.IntN(8) > 0 {
			o.Config = w.model.satisfiable(s.name, o.Config, nil)
		}
	case choice < 58:
		w.drawChange(s, &o)
	case choice < 72:
		gone := o.Config[w.rng.IntN(len(o.Config))].address()
		o.Config = o.Config.without(func(r resource) bool { return r.address() == gone })
	case choice < 78:
		w.drawRename(&o)
	case choice < 93:
		// An older state has every create wait for a removal until it is refused, for half a minute, so that it is drawn less than the others.
		o.Action = []string{"target", "replace", "import", "target", "replace", "import", "target", "replace", "older"}[w.rng.IntN(9)]
		o.Address = o.Config[w.rng.IntN(len(o.Config))].address()
		if o.Action == "older" {
			o.Address = ""
		}
	case choice < 96:
		o.Action, o.Config = "destroy", nil
	}
	if len(o.Config) > 8 {
		o.Config = o.Config.without(func(resource) bool { return w.rng.IntN(3) == 0 })
	}
	if o.Address != "" && o.Config.find(o.Address) < 0 {
		o.Action, o.Address = "apply", ""
	}
	return w.mayKill(o)
}

// mayKill has some operations killed, at a moment within what an apply takes.
func (w *world) mayKill(o operation) operation {
	if w.rng.IntN(100) < w.killed && o.Action != "import" && o.Action != "older" {
		if len(w.failpoints) > 0 && w.rng.IntN(2) == 0 {
			o.Kill = &kill{Failpoint: w.failpoints[w.rng.IntN(len(w.failpoints))]}
			return o
		}
		most := max(w.usual, 2*time.Second)
		o.Kill = &kill{After: time.Duration(w.rng.Int64N(int64(most))), Signal: []syscall.Signal{syscall.SIGINT, syscall.SIGKILL, syscall.SIGKILL}[w.rng.IntN(3)], Provider: w.rng.IntN(2) == 0}
	}
	return o
}

// drawMore adds a resource to a configuration. Now and then it is one that is there already, by the state's other provider.
func (w *world) drawMore(s *state, o *operation) {
	if len(o.Config) > 0 && w.rng.IntN(50) == 0 {
		twin := o.Config[w.rng.IntN(len(o.Config))]
		twin.Key, twin.Alias, twin.From = "twin__"+twin.Key, !twin.Alias, ""
		// Of a network of pods nothing is anywhere but in the state: two processes cannot see that they have the same.
		if o.Config.find(twin.address()) < 0 && twin.Type != "pod_network" {
			o.Config = append(o.Config, twin)
		}
		return
	}
	for range 10 {
		k, ok := draw(w.rng, kinds, func(k kind) (string, int) { return k.name, k.weight * w.favour(k, o.Config) })
		if !ok {
			return
		}
		a := k.draw(drawer{w.rng, s.number, o.Config, nil})
		if a == nil {
			continue
		}
		r := resource{Type: k.name, Attributes: a}
		r.Key = keyOf(r)
		// A network of pods under another key is one that two processes cannot see that they have the same of.
		again := func(other resource) bool {
			return k.name == "pod_network" && other.Type == k.name && other.Attributes["cidr"] == a["cidr"]
		}
		if o.Config.find(r.address()) >= 0 || slices.ContainsFunc(o.Config, again) {
			continue
		}
		// On the hypervisor, what a plan makes for another resource is known to the provider that makes both.
		r.Alias = s.number == 1 && !slices.Contains([]string{"network", "dhcp_reservation", "storage_pool", "volume", "image", "node", "snapshot", "backup"}, k.name) && w.rng.IntN(2) == 0
		o.Config = append(o.Config, r)
		return
	}
}

// favour returns how many times as often as others a kind is drawn: what needs something that few configurations have would hardly ever be. Nor would
// it be changed (drawChange).
func (w *world) favour(k kind, c configuration) int {
	has := func(name string) bool {
		return slices.ContainsFunc(c, func(r resource) bool { return r.Type == name })
	}
	if k.needs == "" || !has(k.needs) || has(k.name) {
		return 1
	}
	return max(1, w.favoured)
}

// draw draws one of several by their weights, among those whose names are not left out; false where none is.
func draw[T any](rng *rand.Rand, all []T, of func(T) (name string, weight int)) (T, bool) {
	total := 0
	for _, each := range all {
		if name, weight := of(each); only.MatchString(name) {
			total += weight
		}
	}
	if total > 0 {
		n := rng.IntN(total)
		for _, each := range all {
			if name, weight := of(each); only.MatchString(name) {
				if n -= weight; n < 0 {
					return each, true
				}
			}
		}
	}
	var none T
	return none, false
}

// drawChange draws the attributes of a resource anew, but for those that make it what it is.
func (w *world) drawChange(s *state, o *operation) {
	r, ok := draw(w.rng, o.Config, func(r resource) (string, int) {
		if kindNamed(r.Type).needs != "" {
			return r.Type, max(1, w.favoured)
		}
		return r.Type, 1
	})
	if ok {
		w.changeOne(s, o, r)
	}
}

// changeOne draws the attributes of one resource of a configuration anew.
func (w *world) changeOne(s *state, o *operation, r resource) {
	i, k := o.Config.find(r.address()), kindNamed(r.Type)
	a := k.draw(drawer{w.rng, s.number, o.Config, r.Attributes})
	if a == nil {
		return
	}
	for _, name := range k.identity {
		if v, ok := r.Attributes[name]; ok {
			a[name] = v
		} else {
			delete(a, name)
		}
	}
	if block := attributes(r.Attributes).text("name"); r.Type == "hosts_file" {
		a["entries"] = map[string]any{addressOfBlock(w.rng, w.state(o.State).number, int(block[1]-'0')): []string{fmt.Sprintf("x%d.%s.example", w.rng.IntN(4), o.State)}}
	}
	if r.Type == "exposed_service" {
		a["targets"], a["configure_address"] = r.Attributes["targets"], r.Attributes["configure_address"]
		if a["configure_address"] == nil {
			delete(a, "configure_address")
			a["ports"] = map[string]any{"s": map[string]any{"target_port": targetPort, "port": 30000 + w.rng.IntN(4)}}
		} else {
			a["ports"] = map[string]any{"s": map[string]any{"target_port": targetPort, "port": 7001 + w.rng.IntN(3)}}
		}
	}
	if r.Type == "floating_address" {
		delete(a, "address")
		if a["pool"] == nil {
			a["address"] = drawOnLAN(w.rng)
		}
	}
	if r.Type == "network" || r.Type == "dhcp_reservation" {
		for _, name := range []string{"cidr", "network"} {
			if v, ok := r.Attributes[name]; ok {
				a[name] = v
			}
		}
		if r.Type == "dhcp_reservation" {
			a["ip"] = fmt.Sprintf("10.63.%s.%d", strings.TrimPrefix(networkNamed(attributes(a).text("network")), "n"), 10+w.rng.IntN(5))
		}
	}
	r.Attributes = a
	o.Config[i] = r
}

// drawRename gives a resource that nothing refers to another key, with and without a word about it.
func (w *world) drawRename(o *operation) {
	i := w.rng.IntN(len(o.Config))
	r := o.Config[i]
	if slices.ContainsFunc(o.Config, func(other resource) bool { return slices.Contains(other.needs(), r.address()) }) {
		return
	}
	w.renamed++
	was := r.Key
	_, base, found := strings.Cut(r.Key, "__")
	if !found {
		base = r.Key
	}
	r.Key = fmt.Sprintf("k%d__%s", w.renamed, base)
	if w.rng.IntN(2) == 0 {
		r.From = was
	}
	o.Config[i] = r
}

// drawPerson draws what a person does.
func (w *world) drawPerson() (operation, bool) {
	if len(w.belongings) > 0 && w.rng.IntN(4) == 0 || len(w.belongings) > 8 {
		b := w.belongings[w.rng.IntN(len(w.belongings))]
		return operation{Person: &b, Verb: "remove"}, true
	}
	h, ok := draw(w.rng, habits, func(h habit) (string, int) { return h.kind, h.weight })
	if !ok {
		return operation{}, false
	}
	w.persons++
	b := belonging{Kind: h.kind, Name: fmt.Sprintf("person%d", w.persons), Machine: machines[w.rng.IntN(len(machines))]}
	if h.far {
		b.Machine = persons
	}
	if b.Values = h.draw(w, b.Machine); b.Values == nil {
		return operation{}, false
	}
	// A person does not take what somebody has.
	for _, c := range b.claims() {
		if _, ok := w.model.facts[c.Thing]; ok {
			return operation{}, false
		}
	}
	return operation{Person: &b, Verb: "add"}, true
}

func (w *world) drawFault() (operation, bool) {
	m, ok := draw(w.rng, mishaps, func(m mishap) (string, int) { return m.kind, m.weight })
	if !ok {
		return operation{}, false
	}
	after := time.Duration(w.rng.Int64N(int64(max(w.usual, 2*time.Second))))
	all := append(farMachines(), machines...)
	return operation{Fault: &fault{Kind: m.kind, Machine: all[w.rng.IntN(len(all))], Values: m.draw(w), After: after}}, true
}

// drawRound draws what happens next: each state does something, and perhaps a person, and perhaps something breaks.
func (w *world) drawRound() round {
	var r round
	if w.rng.IntN(10) < 6 {
		if o, ok := w.drawPerson(); ok {
			r.Operations = append(r.Operations, o)
		}
	}
	for _, s := range w.states {
		if w.rng.IntN(10) < 8 {
			r.Operations = append(r.Operations, w.drawState(s))
		}
	}
	if w.rng.IntN(100) < w.faulty {
		if o, ok := w.drawFault(); ok {
			r.Operations = append(r.Operations, o)
		}
	}
	for i, o := range r.Operations {
		if o.Person != nil && w.rng.IntN(2) == 0 {
			r.Operations[i].Beside = w.apart(o, r)
		}
	}
	return r
}

// apart says whether nobody else in a round wants what a person makes, so that both may work at the same time.
func (w *world) apart(person operation, r round) bool {
	if !slices.Contains([]string{"hosts", "file", "zone", "haproxy", "route"}, person.Person.Kind) {
		return false
	}
	for _, o := range r.Operations {
		for _, each := range o.Config {
			for _, c := range claimsOf(each.Type, each.Attributes) {
				if slices.ContainsFunc(person.Person.claims(), func(own claim) bool { return own.Thing == c.Thing }) {
					return false
				}
			}
		}
	}
	return true
}

func TestFindRefused(t *testing.T) {
	r := result{Output: "╷\n│ Error: Cannot create x\n│ \n│   with virtcluster_hosts_file.svc-2_h1,\n│   on main.tf.json line 59, in resource.virtcluster_hosts_file.svc-2_h1:\n│   59:    },\n│ \n" +
		"│ block \"h1\" is in /etc/hosts already: import it as\n│ \"ssh://root@10.0.0.1#h1\" to take it\n╵\n╷\n│ Error: Name taken\n│ \n│   with virtcluster_node.m1,\n│   on main.tf.json line 65:\n│ \n" +
		"│ take it over with `terraform import\n│ ADDRESS 7711f71e`\n╵\n╷\n│ Error: Other\n│ \n│   with virtcluster_vip.v,\n│   on x\n╵\n"}
	if got := r.findRefused(); len(got) != 2 || got["virtcluster_hosts_file.svc-2_h1"] != "ssh://root@10.0.0.1#h1" || got["virtcluster_node.m1"] != "7711f71e" {
		t.Errorf("found %v", got)
	}
}
