package provision

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// recordPath is where a machine keeps what it was like before.
const recordPath = "/var/lib/virtcluster/service-node.json"

// Record says, for each service that was prepared, what its unit was like before. It stays on the machine,
// so that it outlives the state file and is shared by all configurations that use the machine.
type Record struct {
	Before map[string]UnitState `json:"before"`
	// Users are the service nodes, by the id of their owner's mark, that have services prepared: the last one that leaves a
	// service gives it back.
	Users map[string]User `json:"users,omitempty"`
	// Replaced says what the unit of each package was like that had to go for a service.
	Replaced map[string]UnitState `json:"replaced,omitempty"`
	// Ending are services that are being installed, and whose package brings a unit that is to be ended then.
	Ending []string `json:"ending,omitempty"`
}

// User is one resource that uses the machine, perhaps of another state.
type User struct {
	Workspace string `json:"workspace"`
	// Creating is that of the owner's mark.
	Creating string   `json:"creating,omitempty"`
	Services []string `json:"services"`
	// KeepsPackages is set where packages must not be installed: an import has nothing else to ask.
	KeepsPackages bool `json:"keeps_packages,omitempty"`
}

// ownerMark is whose the note is that a record has under an id.
func (u User) ownerMark(id string) owner.Mark {
	return owner.Mark{ID: id, Workspace: u.Workspace, Creating: u.Creating}
}

// Installs says whether packages may be installed, by what is recorded: no where every service node says so.
func (r Record) Installs() bool {
	for _, u := range r.Users {
		if !u.KeepsPackages {
			return true
		}
	}
	return len(r.Users) == 0
}

// cloneRecord is a record that can be changed without changing this one.
func (r Record) cloneRecord() Record {
	next := Record{Before: map[string]UnitState{}, Users: map[string]User{}, Replaced: map[string]UnitState{}, Ending: slices.Clone(r.Ending)}
	maps.Copy(next.Before, r.Before)
	maps.Copy(next.Users, r.Users)
	maps.Copy(next.Replaced, r.Replaced)
	return next
}

// isSame says whether two records say the same.
func (r Record) isSame(other Record) bool {
	return maps.Equal(r.Before, other.Before) && maps.Equal(r.Replaced, other.Replaced) && slices.Equal(r.Ending, other.Ending) && maps.EqualFunc(r.Users, other.Users, func(a, b User) bool {
		return a.Workspace == b.Workspace && a.Creating == b.Creating && a.KeepsPackages == b.KeepsPackages && slices.Equal(a.Services, b.Services)
	})
}

// Claim is what a service node knows itself by: an owner.Claim.
type Claim interface {
	Mark() owner.Mark
	Owns(found owner.Mark) bool
	Anonymous() bool
	Run() *owner.Run
}

// addUser notes that a service node, by its claim, uses services, and whether packages are to be kept as they are. What was noted of it before,
// under whatever id, stays noted until it is given back: a run that was killed may have made ready what nobody wants any more.
func (r Record) addUser(c Claim, services []string, keepsPackages bool) {
	all := slices.Concat(services, r.removeUser(c))
	slices.Sort(all)
	m := c.Mark()
	if len(all) > 0 {
		r.Users[m.ID] = User{Workspace: m.Workspace, Creating: m.Creating, Services: slices.Compact(all), KeepsPackages: keepsPackages}
	}
}

// removeUser takes a service node out, by its claim, and returns the services that it used.
func (r Record) removeUser(c Claim) []string {
	var services []string
	for _, id := range r.listOwnUsers(c) {
		services = append(services, r.Users[id].Services...)
		delete(r.Users, id)
	}
	return services
}

// listOwnUsers returns the ids of what is noted of a service node: by its own id, by one that it took over, and what killed runs of its
// workspace left behind. A claim that was lost, as where a provider was killed in an update (Terraform keeps no private state then), after
// `terraform state rm` and an import, or of a tainted one, is that of the only service node of its workspace: where several are, as those
// of several provider blocks, nobody knows which.
func (r Record) listOwnUsers(c Claim) []string {
	var own, finished []string
	for _, id := range slices.Sorted(maps.Keys(r.Users)) {
		mark := r.Users[id].ownerMark(id)
		switch {
		case id == c.Mark().ID, c.Run().LeftBehind(mark), !c.Anonymous() && c.Owns(mark):
			own = append(own, id)
		case c.Anonymous() && mark.Workspace == c.Mark().Workspace:
			finished = append(finished, id)
		}
	}
	if len(finished) == 1 {
		own = append(own, finished...)
	}
	return own
}

// findClaim returns the claim of the only service node of a claim's workspace where the claim was lost or imported just now, and the claim
// as it is otherwise. It goes on under the id that the machine has noted: a new one would be unknown to a state that is restored from a copy,
// and the old one would stay noted as somebody else's.
func (r Record) findClaim(c owner.Claim) owner.Claim {
	if own := r.listOwnUsers(c); c.Anonymous() && len(own) == 1 && r.Users[own[0]].Creating == "" {
		return c.Of(r.Users[own[0]].ownerMark(own[0]))
	}
	return c
}

// finishUser notes that a service node is not being made any more, and says whether that changes the record.
func (r Record) finishUser(m owner.Mark) bool {
	u, there := r.Users[m.ID]
	if !there || u.Creating == "" {
		return false
	}
	u.Creating = ""
	r.Users[m.ID] = u
	return true
}

// otherUsers lists who else uses a service, as messages name them, and says whether one of them is of this workspace and unknown to this run:
// made by another provider block, or by a run that was killed before its state was written. Which of the two it is nobody can tell.
func (r Record) otherUsers(c Claim, service string) (found []string, unknown bool) {
	for _, id := range slices.Sorted(maps.Keys(r.Users)) {
		if id != c.Mark().ID && slices.Contains(r.Users[id].Services, service) {
			found = append(found, "owner "+id)
			unknown = unknown || c.Run().IsUnknown(r.Users[id].ownerMark(id))
		}
	}
	return found, unknown
}

func parseRecord(text []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s: %w", recordPath, err)
	}
	return r, nil
}

// writeRecord writes the record; an empty one is removed.
func (r Record) writeRecord(ctx context.Context, h host.Host) error {
	if len(r.Before) == 0 && len(r.Users) == 0 {
		return h.Remove(ctx, recordPath)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return h.Write(ctx, host.File{Path: recordPath, Content: append(text, '\n')})
}
