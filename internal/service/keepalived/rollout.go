package keepalived

import (
	"maps"
	"slices"
)

// Step is one change of one machine's configuration in a rollout.
type Step struct {
	// ID is the member's machine.
	ID string
	// Instance is what it shall be; nil takes it away. Was is the name that it has now, "" for none. Returns is what the name of one that is
	// taken away will be when a later step brings it back, "" where none does.
	Instance *Instance
	Was      string
	Returns  string
	// Companions are instances of the same sync group that change along with it, and Leave those that go.
	Companions []Instance
	Leave      []string
	// Owner must hold the addresses before the next step is taken; "" waits for nothing.
	Owner string
}

// The priorities that a rollout uses and a configuration does not.
const (
	// heir takes over in 8 ms when the owner gives up: the wait is (256 - priority)/256 of an advertisement.
	heir = 254
	// second is the most that another member may have while an heir waits: 16 ms later.
	second = 250
	// priorityOwner becomes master as it starts, without a wait (RFC 3768 section 6.4.1). Only for an owner whose
	// peers are silent.
	priorityOwner = 255
)

// Situation is what the machines are found in.
type Situation struct {
	// Live is what each reachable machine serves of the VIP; one without an instance is not in it.
	Live map[string]Instance
	// Owner is the machine that holds the addresses; "" is nobody.
	Owner string
	// Bonus is what tracking adds to a machine's priority at present; Unfit keeps it from being chosen.
	Bonus map[string]int
	// Companions are the other instances of the VIP's sync group on each machine.
	Companions map[string][]Instance
}

// Rollout lists the steps from what the machines serve to what they shall serve, in an order in which exactly
// one machine holds the addresses at every moment, however long a step takes and whichever is the last one:
//
//   - what is said on the wire (id, password, interval, addresses, unicast or not) changes while only the
//     owner speaks: the others are taken out before and put back afterwards;
//   - a new member is known to all before it starts, a removed one stops before it is forgotten;
//   - the addresses move by the owner giving up while its heir waits, never by a preemption, in which both
//     hold them for a moment.
//
// A sync group moves as one: a member of it alone would not be let go, and one that joins in another state
// than the rest throws the rest back.
func Rollout(target VIP, now Situation) []Step {
	r := &rollout{target: target, Situation: now, current: maps.Clone(now.Live), owner: now.Owner, pending: map[string][]Instance{}}
	if r.current == nil {
		r.current = map[string]Instance{}
	}
	if _, ok := r.current[r.owner]; !ok {
		r.owner = ""
	}
	if r.owner == "" {
		r.foundVIP()
	} else {
		r.changeMembers()
	}
	for _, id := range slices.Sorted(maps.Keys(r.pending)) {
		if len(r.pending[id]) > 0 { // the instance itself is gone from there
			r.steps = append(r.steps, Step{ID: id, Companions: r.pending[id]})
		}
	}
	return r.steps
}

// Unfit is the bonus of a machine that cannot hold the addresses now: what it tracks has failed.
const Unfit = -1000

type rollout struct {
	target VIP
	Situation
	current map[string]Instance
	owner   string
	steps   []Step
	// pending are companions that a machine gets with its next step.
	pending map[string][]Instance
}

// foundVIP starts from machines of which none holds the addresses: the one that shall hold them goes first.
func (r *rollout) foundVIP() {
	for _, id := range r.otherMachines("") {
		r.dropInstance(id, "") // so that the first one cannot meet another that is about to become master
	}
	for i, id := range r.byRank() {
		if i > 0 {
			r.addStep(id, r.finalInstance(id), "")
			continue
		}
		r.startAsMaster(id)
	}
}

// startAsMaster makes a machine the owner at once, whose peers are silent.
func (r *rollout) startAsMaster(id string) {
	in := r.finalInstance(id)
	in.Priority, in.State, in.NoPreempt, in.PreemptDelay, in.SyncGroup = priorityOwner, "MASTER", false, 0, ""
	// Weights could not change this priority, and keepalived refuses them.
	in.Track = slices.DeleteFunc(slices.Clone(in.Track), func(t Track) bool { return t.Weight != 0 })
	r.addStep(id, in, id)
	r.addStep(id, r.finalInstance(id), id)
}

func (r *rollout) changeMembers() {
	if heir := r.bestBut(r.owner); heir != "" && r.ownerMustLeave() {
		r.handToHeir(heir)
	}
	for _, id := range r.otherMachines(r.owner) {
		if !r.isMember(id) {
			r.dropInstance(id, "")
		}
	}
	hold := r.holdNeeded()
	if r.isMember(r.owner) {
		if now, then := r.current[r.owner], r.finalInstance(r.owner); areCompatible(now, then) && survivesReload(now, then) {
			r.rollMembers(hold)
		} else {
			r.quiesceWire()
		}
	}
	for _, id := range r.memberIDs() {
		if _, running := r.current[id]; !running {
			r.addStep(id, r.transitionalInstance(id, hold), "")
		}
	}
	if next := r.expectedOwner(); r.isMember(r.owner) && next != r.owner {
		former := r.owner
		r.handOver(next)
		r.addStep(next, r.finalInstance(next), next)
		r.addStep(former, r.finalInstance(former), "")
	}
	if !r.isMember(r.owner) {
		r.dropInstance(r.owner, "") // it was the last one
	}
	for _, id := range r.memberIDs() {
		r.addStep(id, r.finalInstance(id), "")
	}
}

// ownerMustLeave says whether the owner is removed, or moves to another interface or address of its own.
func (r *rollout) ownerMustLeave() bool {
	if !r.isMember(r.owner) {
		return true
	}
	now, then := r.current[r.owner], r.finalInstance(r.owner)
	return now.Interface != then.Interface || now.Source != then.Source
}

// handToHeir hands the addresses to a member while all still speak as before.
func (r *rollout) handToHeir(next string) {
	spoken := r.current[r.owner]
	in := r.finalInstance(next)
	in.RouterID, in.Version, in.AdvertInterval, in.AuthPass = spoken.RouterID, spoken.Version, spoken.AdvertInterval, spoken.AuthPass
	in.Addresses, in.MoreAddresses, in.Unicast, in.Peers = spoken.Addresses, spoken.MoreAddresses, spoken.Unicast, nil
	in = in.withoutPreemption()
	if now, running := r.current[next]; running && (now.Interface != in.Interface || now.Source != in.Source) {
		r.dropInstance(next, "") // as it is, it could not hear the owner
	}
	for _, id := range r.otherMachines(next) {
		peer := r.current[id]
		in.Peers = addAddress(in.Peers, peer.Source)
		if peer.Unicast && in.Unicast {
			peer.Peers = addAddress(peer.Peers, in.Source)
			r.addStep(id, peer, "")
		}
	}
	if !in.Unicast {
		in.Peers = nil
	}
	r.current[next] = r.addStep(next, in, "")
	r.handOver(next)
}

// handOver makes a member the owner: it waits with the highest priority, then the owner gives up.
func (r *rollout) handOver(next string) {
	in := r.current[next]
	in = in.withoutPreemption()
	in.Priority = heir
	for _, id := range r.otherMachines(next) {
		if rival := r.current[id]; id != r.owner && r.effectivePriority(id, rival.Priority) > second {
			rival.Priority -= r.effectivePriority(id, rival.Priority) - second
			r.addStep(id, rival, "")
		}
	}
	for _, c := range r.Companions[next] {
		c = c.withoutPreemption()
		c.Priority = heir
		r.pending[next] = append(r.pending[next], c)
	}
	r.addStep(next, in, "")
	r.dropInstance(r.owner, next)
	leave := &r.steps[len(r.steps)-1]
	for _, c := range r.Companions[r.owner] {
		leave.Leave = append(leave.Leave, c.Name)
	}
	// Each machine gets its companions back as they were, along with its own instance.
	r.pending[next], r.pending[r.owner] = r.Companions[next], r.Companions[r.owner]
	r.owner = next
}

// rollMembers changes members that understand each other before and after: first those that hold nothing.
func (r *rollout) rollMembers(hold bool) {
	for _, id := range r.otherMachines(r.owner) {
		if r.isMember(id) {
			if now, then := r.current[id], r.finalInstance(id); now.Interface != then.Interface || now.Source != then.Source || !areCompatible(now, then) {
				r.dropInstance(id, "") // comes back as a new one
				continue
			}
			r.addStep(id, r.transitionalInstance(id, hold), "")
		}
	}
	r.addStep(r.owner, r.transitionalInstance(r.owner, false), r.owner)
}

// quiesceWire changes what is said on the wire while nobody but the owner speaks.
func (r *rollout) quiesceWire() {
	for _, id := range r.otherMachines(r.owner) {
		r.dropInstance(id, "")
	}
	now, then := r.current[r.owner], r.finalInstance(r.owner)
	if !survivesReload(now, then) {
		r.startAsMaster(r.owner)
		return
	}
	r.addStep(r.owner, then, r.owner)
}

// withoutPreemption is the instance without a wish to preempt; keepalived takes neither MASTER nor a delay with that.
func (in Instance) withoutPreemption() Instance {
	in.State, in.NoPreempt, in.PreemptDelay = "BACKUP", true, 0
	return in
}

// holdNeeded says whether a member could outrank the owner on the way, and so must not preempt.
func (r *rollout) holdNeeded() bool {
	if !r.target.Preempt {
		return false
	}
	least := r.effectivePriority(r.owner, r.current[r.owner].Priority)
	if r.isMember(r.owner) {
		least = min(least, r.effectivePriority(r.owner, r.finalInstance(r.owner).Priority))
	}
	return slices.ContainsFunc(r.target.Members, func(m Member) bool {
		return m.ID != r.owner && r.effectivePriority(m.ID, m.Priority) > least
	})
}

// transitionalInstance is a member's final instance, on hold without a wish to preempt.
func (r *rollout) transitionalInstance(id string, hold bool) Instance {
	in := r.finalInstance(id)
	if hold {
		in = in.withoutPreemption()
	}
	return in
}

// addStep adds a step unless the machine serves that already, and returns what it serves then.
func (r *rollout) addStep(id string, in Instance, owner string) Instance {
	if now, ok := r.current[id]; ok && now.Equal(in) && len(r.pending[id]) == 0 {
		return in
	}
	r.steps = append(r.steps, Step{ID: id, Instance: &in, Was: r.current[id].Name, Companions: r.pending[id], Owner: owner})
	delete(r.pending, id)
	r.current[id] = in
	return in
}

func (r *rollout) dropInstance(id, owner string) {
	if now, ok := r.current[id]; ok {
		step := Step{ID: id, Was: now.Name, Owner: owner}
		if r.isMember(id) {
			step.Returns = r.target.Name
		}
		r.steps = append(r.steps, step)
		delete(r.current, id)
	}
}
