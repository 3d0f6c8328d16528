package robustness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// world is the sandbox's machines, who works on them, and what the model knows of it.
type world struct {
	rng        *rand.Rand
	states     []*state
	model      *model
	belongings []belonging
	baseline   observation
	history    *history
	// killed and faulty are how many of hundred runs are killed, and of hundred rounds have a fault.
	killed, faulty int
	// favoured is how many times as often a kind is drawn whose need a configuration meets.
	favoured int
	// usual is how long an apply takes here: kills and faults come within it.
	usual time.Duration
	// persons and renamed count, so that names are new.
	persons, renamed int
	// failpoints are the names of those of the provider, none where it was built without them.
	failpoints []string
	answers    map[string]func()
	// goingOn are units that destroys left running for what a person had, as they told.
	goingOn []belonging
	// booted are machines that were booted since the beginning.
	booted     map[string]bool
	known      map[string]bool
	violations []violation
	figures    figures
	say        func(format string, args ...any)
}

// figures are what a run tells of itself.
type figures struct {
	Operations, Kills, Faults, Person, Refused, Failed, Lost, Taken, Left, Other int
}

// newWorld prepares the sandbox: guests that answer, and clients on the LAN to which they answer by way of the machine that exposes
// them. The states are a and so on: Terraform with a second provider, OpenTofu, and one whose state is kept by HTTP.
func newWorld(ctx context.Context, t *testing.T, seed uint64, states int) (*world, error) {
	w := &world{rng: rand.New(rand.NewPCG(seed, 0)), model: newModel(), killed: number("ROBUSTNESS_KILLED", 30), faulty: number("ROBUSTNESS_FAULTY", 40), favoured: number("ROBUSTNESS_FAVOURED", 1), usual: 8 * time.Second,
		answers: map[string]func(){}, booted: map[string]bool{}, known: map[string]bool{}, say: t.Logf}
	for i, machine := range machines {
		other := machines[1-i]
		script := `mkdir -p /etc/systemd/network/10-eth0.network.d /srv
printf '[Route]\nDestination=%s/32\nGateway=%s\n' "$1" "$2" >/etc/systemd/network/10-eth0.network.d/client.conf
networkctl reload # or whoever does that next has eth0 configured anew, which takes away what a person added by hand
ip route replace "$1/32" via "$2"
systemctl reset-failed # what failed as the machine came up is not asked about
` + exportScript + "\n" + spareScript
		if out, err := acctest.Try(ctx, machine, "sh", "-c", script, "sh", clientOf(other), addressOf(1-i)); err != nil {
			return nil, fmt.Errorf("prepare %s: %w: %s", machine, err, out)
		}
		if out, err := acctest.Try(ctx, "lan-client", "ip", "addr", "replace", clientOf(machine)+"/24", "dev", "eth0"); err != nil {
			return nil, fmt.Errorf("prepare the client: %w: %s", err, out)
		}
		if err := w.answer(machine); err != nil {
			return nil, err
		}
	}
	if err := prepareFar(ctx, t); err != nil {
		return nil, err
	}
	stopKernel, err := serveKernel()
	if err != nil {
		return nil, err
	}
	t.Cleanup(stopKernel)
	t.Cleanup(func() {
		for _, stop := range w.answers {
			stop()
		}
	})
	programs := []string{"terraform", "tofu", "terraform", "tofu"}
	dir := t.TempDir()
	for i := range states {
		program, err := exec.LookPath(programs[i])
		if err != nil {
			if program, err = exec.LookPath(programs[(i+1)%2]); err != nil {
				return nil, err
			}
		}
		s, err := newState(ctx, i, program, dir, i == 2)
		if err != nil {
			return nil, err
		}
		w.states = append(w.states, s)
	}
	return w, w.begin(ctx)
}

// begin remembers what is there now as nobody's to change.
func (w *world) begin(ctx context.Context) error {
	seen, err := w.look(ctx)
	if err != nil {
		return err
	}
	w.baseline = seen
	for thing, value := range seen {
		if value != "" && !strings.Contains(thing, " raw ") {
			w.model.facts[thing] = fact{anyone, "what was there", []string{value}}
		}
	}
	return nil
}

// answer has a service node answer as a guest, also after it was rebooted.
func (w *world) answer(machine string) error {
	if !slices.Contains(machines, machine) {
		return nil
	}
	if stop := w.answers[machine]; stop != nil {
		stop()
		delete(w.answers, machine)
	}
	stop, err := answer(machine)
	if err == nil {
		w.answers[machine] = stop
	}
	return err
}

func (w *world) state(name string) *state {
	return w.states[slices.IndexFunc(w.states, func(s *state) bool { return s.name == name })]
}

// outcome is what came of one operation.
type outcome struct {
	Operation operation `json:"operation"`
	Result    *result   `json:"result,omitempty"`
	Err       string    `json:"err,omitempty"`
	Message   string    `json:"message,omitempty"`
	Warned    string    `json:"warned,omitempty"`
	was, has  []believed
}

// play does a round, brings the model up to date and checks what is there.
func (w *world) play(ctx context.Context, r round) error {
	outcomes := make([]outcome, len(r.Operations))
	for i, o := range r.Operations {
		w.say("%s", o)
		outcomes[i].Operation = o
	}
	var first, second sync.WaitGroup
	broken := make(chan error, len(outcomes)) // a fault that does not happen proves nothing
	for i := range outcomes {
		if o := &outcomes[i]; o.Operation.Person != nil && !o.Operation.Beside {
			o.note(o.Operation.Person.do(ctx, o.Operation.Verb))
		}
	}
	for i := range outcomes {
		o := &outcomes[i]
		switch {
		case o.Operation.Person != nil && o.Operation.Beside:
			first.Go(func() {
				time.Sleep(w.usual / 3)
				o.note(o.Operation.Person.do(ctx, o.Operation.Verb))
			})
		case o.Operation.Fault != nil:
			second.Go(func() {
				time.Sleep(o.Operation.Fault.After)
				err := o.Operation.Fault.begin(ctx)
				o.note(err)
				if err != nil && !errors.Is(err, errSenseless) {
					broken <- fmt.Errorf("begin fault %s: %w", o.Operation.Fault.Kind, err)
				}
			})
		case o.Operation.State != "":
			first.Go(func() { w.work(ctx, o, r.Quiet) })
		}
	}
	first.Wait()
	second.Wait()
	select {
	case err := <-broken:
		return err
	default:
	}
	for i := range outcomes {
		if told := outcomes[i].Result; told != nil {
			w.goingOn = append(w.goingOn, told.findGoingOn()...)
		}
		if f := outcomes[i].Operation.Fault; f != nil {
			if err := f.end(ctx); err != nil && outcomes[i].Err == "" {
				return fmt.Errorf("end fault %s: %w", f.Kind, err)
			}
			if f.reboots() {
				w.rebooted(f.Machine)
				forgetVolatile(ctx, f.Machine, outcomes)
				if err := w.answer(f.Machine); err != nil {
					return err
				}
			}
		}
	}
	wrong := w.learn(r, outcomes)
	seen, found, err := w.examine(ctx, wrong)
	w.history.add(r, outcomes, seen, found)
	return err
}

func (o *outcome) note(err error) {
	if err != nil {
		o.Err = err.Error()
	}
}

// work has a state do its operation. When all is quiet, a person does for a forgetful state what its refusals ask for.
func (w *world) work(ctx context.Context, o *outcome, quiet bool) {
	s := w.state(o.Operation.State)
	o.was, _ = s.has()
	before, _ := os.ReadFile(s.file())
	r, err := s.perform(ctx, o.Operation)
	if k := o.Operation.Kill; k != nil && r.Killed && k.Signal == syscall.SIGKILL && !k.Provider {
		s.forgetful = true
	}
	for range 3 {
		if err != nil || !quiet || !s.forgetful || r.Status == 0 || !s.importRefused(ctx, r) && !s.leaveGone(ctx, r) {
			break
		}
		r, err = s.perform(ctx, o.Operation)
	}
	o.note(err)
	s.unsettled = err != nil || r.Status != 0
	o.Result = &r
	if r.Status != 0 {
		o.Message = r.message()
	}
	// What a removal leaves it says.
	if flat := r.flat(); r.Status == 0 {
		if at := strings.Index(flat, "Warning: Not all of"); at >= 0 {
			o.Warned = flat[at:min(len(flat), at+700)]
		}
	}
	o.has, err = s.has()
	if err != nil && before != nil {
		// A program that is killed while it writes its state leaves half of it: people restore the copy.
		o.note(errors.Join(err, s.restore(before)))
		o.has = o.was
	}
	if before != nil && o.Operation.Action != "older" {
		_ = os.WriteFile(s.file()+".before", before, 0o600)
	}
}

// forgetVolatile takes away what a person added in a machine's memory in the very round in which it was rebooted: it may have been before.
func forgetVolatile(ctx context.Context, machine string, outcomes []outcome) {
	for i := range outcomes {
		o := &outcomes[i]
		if b := o.Operation.Person; b != nil && o.Operation.Verb == "add" && o.Err == "" && b.Machine == machine && habitOf(b.Kind).volatile {
			_ = b.do(ctx, "remove")
			o.Err = "the machine was rebooted"
		}
	}
}

// rebooted drops from the model what was only in a machine's memory.
func (w *world) rebooted(machine string) {
	w.booted[machine] = true
	for _, b := range slices.Clone(w.belongings) {
		if b.Machine == machine && (habitOf(b.Kind).volatile || b.Kind == "stop") {
			w.done(b, "remove")
		}
	}
	for _, unit := range stoppable {
		delete(w.model.stopped, machine+" "+unit)
	}
}

// learn brings the model up to date. Who removed something comes before who has it now.
func (w *world) learn(r round, outcomes []outcome) []violation {
	var wrong []violation
	for _, o := range outcomes {
		w.figures.Operations++
		switch {
		case o.Operation.Person != nil:
			w.figures.Person++
			if o.Err == "" {
				wrong = append(wrong, w.done(*o.Operation.Person, o.Operation.Verb)...)
			}
		case o.Operation.Fault != nil:
			w.figures.Faults++
		case o.Result != nil && o.Result.Killed:
			w.figures.Kills++
		}
		if o.Result != nil {
			wrong = append(wrong, w.checkResult(r, o)...)
		}
	}
	faulty := slices.ContainsFunc(r.Operations, func(o operation) bool { return o.Fault != nil })
	var known, unknown []outcome
	lacking := map[string][]string{}
	for _, o := range outcomes {
		switch {
		case w.knows(o, faulty):
			known = append(known, o)
			if o.Result.Status != 0 || o.Operation.Action != "apply" && o.Operation.Action != "destroy" { // what brings all back
				lacking[o.Operation.State] = w.model.listLacking(o.Operation.State)
			}
			w.model.drop(o.Operation.State)
		case o.Operation.State != "":
			unknown = append(unknown, o)
		}
	}
	for _, o := range unknown {
		w.model.blur(o.Operation.State, o.was, o.has, o.Operation.Config)
	}
	for _, o := range known {
		settle := w.model.settle
		if o.Result.Status != 0 {
			settle = w.model.settleFailed
		}
		wrong = append(wrong, settle(o.Operation.State, o.has)...)
		w.model.allowLacking(lacking[o.Operation.State])
		if o.Operation.Action == "apply" && o.Result.Status == 0 && o.Result.Took > time.Second {
			w.usual = (3*w.usual + o.Result.Took) / 4
		}
	}
	return wrong
}

// knows says whether what a state's run left is what its state file says: it applied or destroyed all, or nothing went wrong before it
// and in it but that it was refused.
func (w *world) knows(o outcome, faulty bool) bool {
	if o.Operation.State == "" || o.Err != "" {
		return false
	}
	if w.model.vague[o.Operation.State] {
		return o.Result.Status == 0 && (o.Operation.Action == "apply" || o.Operation.Action == "destroy")
	}
	return o.Result.Status == 0 || !faulty && !o.Result.Killed && !o.Result.Late
}

// patience is how long what is served may take to be there again, on a busy machine: only what is wrong takes as long.
const patience = 2 * time.Minute

// examine looks until nothing is wrong, or for as long as patience lasts, and counts what is.
func (w *world) examine(ctx context.Context, wrong []violation) (seen observation, all []violation, err error) {
	var there []violation
	for began := time.Now(); ; time.Sleep(time.Second) {
		if seen, err = w.look(ctx); err != nil {
			return nil, nil, err
		}
		if there = w.fresh(w.model.check(seen)); len(there) == 0 || time.Since(began) > patience {
			break
		}
	}
	w.pin(seen)
	all = append(w.fresh(wrong), there...)
	for _, v := range all {
		w.count(v)
		w.model.accept(v, seen)
	}
	return seen, all, nil
}

// fresh returns the violations that were not told yet. What is wrong with a known thing is accepted.
func (w *world) fresh(all []violation) []violation {
	return slices.DeleteFunc(slices.Clone(all), func(v violation) bool { return w.known[v.Rule+v.Thing] })
}

// pin keeps what a person's things are like from the first look on: byte for byte.
func (w *world) pin(seen observation) {
	for thing, f := range w.model.facts {
		if f.Owner == person && len(f.Values) == 0 && seen[thing] != "" {
			f.Values = []string{seen[thing]}
			w.model.facts[thing] = f
		}
	}
}

func (w *world) count(v violation) {
	w.known[v.Rule+v.Thing] = true
	w.violations = append(w.violations, v)
	w.say("VIOLATION %s", v)
	switch {
	case strings.HasPrefix(v.Rule, "what "):
		w.figures.Lost++
	case strings.HasPrefix(v.Rule, "one thing"):
		w.figures.Taken++
	case strings.HasPrefix(v.Rule, "nothing is there"):
		w.figures.Left++
	default:
		w.figures.Other++
	}
}

func (f figures) String() string {
	return fmt.Sprintf("%d operations (%d of a person, %d faults, %d kills; %d runs refused or failed): %d lost, %d taken, %d left, %d other",
		f.Operations, f.Person, f.Faults, f.Kills, f.Refused, f.Lost, f.Taken, f.Left, f.Other)
}

// keep writes a file beside the run's history.
func (h *history) keep(name string, text []byte) {
	if h != nil && h.dir != "" {
		_ = os.WriteFile(filepath.Join(h.dir, name), text, 0o644)
	}
}
