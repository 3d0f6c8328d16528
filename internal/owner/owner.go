// Package owner says whose a thing on a shared machine is. What a resource makes carries a Mark; what a state knows of its own
// is a Claim. Nothing that carries another's mark, or none, is taken, changed or removed.
package owner

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// idLength gives an id 80 random bits: short enough for a comment, too many to meet by chance.
const idLength = 16

// Mark is what stands on the machine beside a thing that a resource made. The zero Mark is nobody's: a person wrote the thing.
type Mark struct {
	// ID is the resource's own, made when it was created.
	ID string
	// Workspace is where the resource was last written from; see Workspace.
	Workspace string
	// Creating is the run that makes the thing (Run), until its create has ended; "" from then on. Nothing else says that a run which
	// was killed left the thing behind.
	Creating string
}

const (
	idWord        = "owner="
	workspaceWord = "workspace="
	creatingWord  = "creating="
)

// String is the mark as words for a comment: "owner=… workspace=…", and "creating=…" behind them; "" for the zero Mark.
func (m Mark) String() string {
	var words []string
	if m.ID != "" {
		words = append(words, idWord+m.ID)
	}
	if m.Workspace != "" {
		words = append(words, workspaceWord+m.Workspace)
	}
	if m.Creating != "" {
		words = append(words, creatingWord+m.Creating)
	}
	return strings.Join(words, " ")
}

// Finished is the mark once its create has ended.
func (m Mark) Finished() Mark { return Mark{ID: m.ID, Workspace: m.Workspace} }

// IsHere says whether the mark is one of this run's state.
func (m Mark) IsHere() bool { return isOfWorkspace(m) }

// Whose says for people whose a thing with the mark is: "of another state (owner …)".
func (m Mark) Whose() string {
	switch {
	case m.ID == "":
		return "which this provider did not write"
	case m.IsHere():
		return fmt.Sprintf("of this state (owner %s)", m.ID)
	}
	return fmt.Sprintf("of another state (owner %s)", m.ID)
}

// Parse finds the mark among the words of a text; the zero Mark where there is none.
func Parse(text string) Mark {
	_, m := Cut(text)
	return m
}

// Cut returns a text without the words of its mark, and the mark.
func Cut(text string) (rest string, m Mark) {
	var words []string
	for word := range strings.FieldsSeq(text) {
		name := word[:strings.Index(word, "=")+1]
		switch value := word[len(name):]; name {
		case idWord:
			m.ID = value
		case workspaceWord:
			m.Workspace = value
		case creatingWord:
			m.Creating = value
		default:
			words = append(words, word)
		}
	}
	return strings.Join(words, " "), m
}

// Claim is what a state knows of who owns a resource's things. A Run makes one: New, Restore, Adopt or OfWorkspace.
type Claim struct {
	run       *Run
	id        string
	workspace string
	// takes is the owner that an import takes over knowingly: nil where nothing was imported, "" for a person's.
	takes *string
	// former are the owners of what this resource replaces, "" for a person's that was imported.
	former []string
	// replaces says that there is such a thing, and inPlace that it has the place that this resource has.
	replaces, inPlace bool
	// found is the mark of what an import found.
	found Mark
	// adopting is set until a resource was read for the first time after an import: then whatever is found is its own.
	adopting bool
	// forgotten is set where the state of a resource that exists keeps no claim: what an earlier run of its workspace made is its own.
	forgotten bool
	// creating is the run whose mark says that it is at work: set from New until Finished, and where a thing was found so.
	creating string
	// planning says that the claim asks for a plan, which is told of what the state has bit by bit.
	planning bool
	// written says that the claim's mark stands on the machine since this claim was made.
	written bool
}

// New returns the claim of a resource that is about to be created.
func (r *Run) New() Claim {
	id := strings.ToLower(rand.Text()[:idLength])
	if r != nil {
		r.made.Store(id, true)
	}
	return Claim{run: r, id: id, workspace: Workspace(), creating: r.Word()}
}

// Adopt returns the claim of a resource that was imported just now.
func (r *Run) Adopt() Claim {
	c := r.New().Finished()
	c.adopting = true
	return c
}

// OfWorkspace returns the claim of a resource that its state keeps none of, and that was not imported: the state of a tainted resource
// that is replaced, and of one whose update was killed, keeps none. That the state has the resource, and that the thing carries a mark of
// this workspace which an earlier run wrote, is the proof: it owns neither what another workspace wrote nor what carries no mark, nor what
// another provider of this run is making.
func (r *Run) OfWorkspace() Claim {
	c := r.New().Finished()
	c.forgotten = true
	return c
}

// Of returns the claim of what carries a mark: for what a killed run left behind, which is to be removed with all that belongs to it.
func (c Claim) Of(m Mark) Claim { return Claim{run: c.run, id: m.ID, workspace: Workspace()} }

// record is a claim as the state keeps it.
type record struct {
	ID    string  `json:"id"`
	Takes *string `json:"takes,omitempty"`
}

// Restore reads a claim that a state kept.
func (r *Run) Restore(text []byte) (Claim, error) {
	var kept record
	if err := json.Unmarshal(text, &kept); err != nil {
		return Claim{}, fmt.Errorf("understand the state's claim: %w", err)
	}
	return Claim{run: r, id: kept.ID, workspace: Workspace(), takes: kept.Takes}, nil
}

// Record is the claim for the state to keep.
func (c Claim) Record() []byte {
	text, err := json.Marshal(record{ID: c.id, Takes: c.takes})
	if err != nil {
		panic(err) // two strings always marshal
	}
	return text
}

// Succeed returns the claim of what replaces a resource: it may take over what carries the old one's mark, and what an import took over with
// another mark, or none, where inPlace says that the resource stays where it is: elsewhere such a thing is not the one that was imported.
func (c Claim) Succeed(inPlace bool) Claim {
	next := c.run.New()
	next.replaces, next.inPlace = true, inPlace
	if !c.adopting {
		next.former = append(next.former, c.id)
	}
	if c.takes != nil && inPlace {
		next.former = append(next.former, *c.takes)
	}
	return next
}

// TakeOver returns the claim that owns what carries a mark too, until its own is written: for what is proven to be left of a thing that is gone.
func (c Claim) TakeOver(left Mark) Claim {
	c.former = append(slices.Clone(c.former), left.ID)
	return c
}

// Replaces says whether the claim succeeds another one: what is replaced may be there still.
func (c Claim) Replaces() bool { return c.replaces }

// ReplacesInPlace says whether what is replaced has the resource's own place: what is there without a mark may be that.
func (c Claim) ReplacesInPlace() bool { return c.inPlace }

// Run returns the run that the claim was made in.
func (c Claim) Run() *Run { return c.run }

// Anonymous says that nothing carries the claim's id, nor keeps it: it was made by Adopt or OfWorkspace, and nothing was read or
// written with it.
func (c Claim) Anonymous() bool { return c.adopting || c.forgotten }

// Mark is what to write beside what the resource makes or changes.
func (c Claim) Mark() Mark { return Mark{ID: c.id, Workspace: c.workspace, Creating: c.creating} }

// Finished returns the claim once its create has ended: what it writes from then on is finished, and nobody else's to take.
func (c Claim) Finished() Claim {
	c.creating = ""
	return c
}

// IsFinished says whether what the claim wrote, or found of its own, is finished.
func (c Claim) IsFinished() bool { return c.creating == "" }

// Owns says whether what carries the mark is the resource's own: it made it, or an import took it over.
func (c Claim) Owns(found Mark) bool {
	switch {
	case c.adopting, found.ID != "" && found.ID == c.id, c.takes != nil && found.ID == *c.takes:
		return true
	case slices.Contains(c.former, found.ID):
		return true
	}
	return c.forgotten && isOfWorkspace(found) && !c.run.isMade(found) && (found.Creating == "" || c.run.hasEnded(found.Creating))
}

// MayTake says whether a create may take over what carries the mark: what is its own, what a killed run of the same workspace left
// behind before the state knew of it, and what this run removes or replaces.
func (c Claim) MayTake(found Mark) bool {
	return c.Owns(found) || c.run.LeftBehind(found) || c.run.IsInState(found) || c.planning && c.run.IsUnknown(found)
}

// Planning returns the claim for a plan: it may take what another resource of this state may turn out to have. Whether that one goes in
// the same run the apply knows.
func (c Claim) Planning() Claim {
	c.planning = true
	return c
}

// LeftBehind says whether a run of this workspace began to make what carries the mark and was ended before it had finished: no state
// knows of it. What is finished is never so, whoever made it.
func (r *Run) LeftBehind(found Mark) bool {
	return isOfWorkspace(found) && found.Creating != "" && !r.isMade(found) && r.hasEnded(found.Creating)
}

// IsUnknown says whether what carries the mark was finished in this workspace, and this run has not seen yet which resource has it.
func (r *Run) IsUnknown(found Mark) bool {
	return isOfWorkspace(found) && found.Creating == "" && !r.isMade(found) && !r.IsInState(found)
}

// MayBeInState says whether this run's state has what carries the mark, as far as is known before all of it was read.
func (r *Run) MayBeInState(found Mark) bool { return r.IsUnknown(found) || r.IsInState(found) }

func isOfWorkspace(found Mark) bool {
	return found.ID != "" && found.Workspace != "" && found.Workspace == Workspace()
}

// isMade says whether this run made what carries the mark.
func (r *Run) isMade(found Mark) bool {
	if r == nil {
		return false
	}
	_, here := r.made.Load(found.ID)
	return here
}

// NoteInState notes that this run's state has what the claim owns. While it applies, only what is changed or
// removed is told to a provider.
func (c Claim) NoteInState() {
	if c.run == nil {
		return
	}
	c.run.inState.Store(c.id, true)
	if c.takes != nil && *c.takes != "" {
		c.run.inState.Store(*c.takes, true)
	}
}

// IsInState says whether this run's state has what carries the mark.
func (r *Run) IsInState(found Mark) bool {
	if r == nil {
		return false
	}
	_, there := r.inState.Load(found.ID)
	return there && found.ID != ""
}

// The bounds of AwaitInState: while planning, until most of the state was read, and while applying, until a removal or a change begins.
var (
	AwaitPlan  = 3 * time.Second
	AwaitApply = 30 * time.Second
)

// AwaitInState waits until this run's state turns out to have what carries the mark, where that can be: where it was finished in this
// workspace. It says whether the state has it.
func (r *Run) AwaitInState(ctx context.Context, found Mark, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for r.IsUnknown(found) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	return r.IsInState(found)
}

// Found returns the claim after a thing that is its own was read: from then on nobody else's is.
func (c Claim) Found(found Mark) Claim {
	if found.Creating != "" {
		c.creating = found.Creating
	}
	switch {
	case c.forgotten && found.ID != "":
		c.forgotten, c.id = false, found.ID
	case c.adopting:
		c.adopting, c.found = false, found
		if found.ID != c.id {
			c.takes = &found.ID
		}
	}
	return c
}

// TookFrom returns the mark of what an import has read; the zero Mark where that carries none.
func (c Claim) TookFrom() Mark { return c.found }

// Written returns the claim after its mark was written: what an import took over is its own now.
func (c Claim) Written() Claim {
	c.adopting, c.forgotten, c.takes, c.former, c.written = false, false, nil, nil, true
	return c
}

// IsWritten says whether the claim's mark was written: what a create made is there from then on, however the rest of it ends.
func (c Claim) IsWritten() bool { return c.written }

// creatingWords are how a mark says in a text that it is unfinished.
var creatingWords = regexp.MustCompile(` creating=[0-9a-z.]+`)

// CutCreating returns a text in which no mark says that it is unfinished: two that are alike then mean the same.
func CutCreating(text []byte) []byte { return creatingWords.ReplaceAll(text, nil) }

// FinishText returns a text, such as a configuration, in which the claim's own marks are finished.
func (c Claim) FinishText(text []byte) []byte {
	if !bytes.Contains(text, []byte(" "+creatingWord)) {
		return text
	}
	ids := []string{c.id}
	if c.takes != nil {
		ids = append(ids, *c.takes)
	}
	for _, id := range ids {
		if id == "" {
			continue
		}
		own := regexp.MustCompile(`(` + idWord + regexp.QuoteMeta(id) + `(?: ` + workspaceWord + `[0-9a-f]*)?)` + creatingWords.String())
		text = own.ReplaceAll(text, []byte("$1"))
	}
	return text
}

// ForeignError says that a thing exists that is not the resource's own.
type ForeignError struct {
	// What and Place name it: `HAProxy backend "api"`, "/etc/haproxy/haproxy.cfg on 10.0.0.100".
	What, Place string
	// ImportID is what `terraform import` takes for it; "" where it cannot be imported.
	ImportID string
	// Owner is whose it is.
	Owner Mark
	// run is the one that met it, nil where that cannot have made it.
	run *Run
}

// NewForeignError returns the error of a thing that was found not to be the claim's own: what and place name it, importID is what
// `terraform import` takes for it, "" where it cannot be imported.
func (c Claim) NewForeignError(what, place, importID string, found Mark) *ForeignError {
	return &ForeignError{What: what, Place: place, ImportID: importID, Owner: found, run: c.run}
}

// Described says whether another resource of this very run made the thing: one that replaces it, or one that names it too.
func (e *ForeignError) Described() bool { return e.run.isMade(e.Owner) }

// Error says whose it is and the ways out.
func (e *ForeignError) Error() string {
	whose := "this provider did not write it"
	switch {
	case e.Described():
		whose = "another resource of this configuration made it: one thing is described twice"
	case isOfWorkspace(e.Owner) && e.Owner.Creating != "":
		whose = fmt.Sprintf("another run of this workspace, or another provider block of this configuration, is making it (owner %s)", e.Owner.ID)
	case isOfWorkspace(e.Owner):
		whose = fmt.Sprintf("it was finished in this workspace by another resource, of another provider block, another address, or a state that was lost (owner %s)", e.Owner.ID)
	case e.Owner.ID != "":
		whose = fmt.Sprintf("it belongs to another state (owner %s)", e.Owner.ID)
	}
	out := "choose another name, or remove it"
	if e.ImportID != "" {
		out = fmt.Sprintf("import it as %q to take it over knowingly, choose another name, or remove it", e.ImportID)
	}
	if isOfWorkspace(e.Owner) && e.Owner.Creating == "" && !e.Described() {
		out += "; where a resource has another address in the configuration now, write a moved block, and where it is tainted, `terraform untaint` it and plan with -replace"
	}
	return fmt.Sprintf("%s is in %s already, and %s: %s", e.What, e.Place, whose, out)
}
