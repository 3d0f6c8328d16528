// Package owner says whose a thing on a shared machine is. What a resource makes carries a Mark; what a state knows of its own
// is a Claim. Nothing that carries another's mark, or none, is taken, changed or removed.
package owner

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/cli"
)

// idLength gives an id 80 random bits: short enough for a comment, too many to meet by chance.
const idLength = 16

// Mark is what stands on the machine beside a thing that a resource made. The zero Mark is nobody's: a person wrote the thing.
type Mark struct {
	// ID is the resource's own, made when it was created.
	ID string
	// Workspace is where the resource was last written from; see Workspace.
	Workspace string
}

const (
	idWord        = "owner="
	workspaceWord = "workspace="
)

// String is the mark as two words for a comment: "owner=… workspace=…"; "" for the zero Mark.
func (m Mark) String() string {
	var words []string
	if m.ID != "" {
		words = append(words, idWord+m.ID)
	}
	if m.Workspace != "" {
		words = append(words, workspaceWord+m.Workspace)
	}
	return strings.Join(words, " ")
}

// Parse finds the mark among the words of a text; the zero Mark where there is none.
func Parse(text string) Mark {
	var m Mark
	for word := range strings.FieldsSeq(text) {
		if id, ok := strings.CutPrefix(word, idWord); ok {
			m.ID = id
		}
		if workspace, ok := strings.CutPrefix(word, workspaceWord); ok {
			m.Workspace = workspace
		}
	}
	return m
}

// Cut returns a text without the words of its mark, and the mark.
func Cut(text string) (rest string, m Mark) {
	var words []string
	for word := range strings.FieldsSeq(text) {
		if !strings.HasPrefix(word, idWord) && !strings.HasPrefix(word, workspaceWord) {
			words = append(words, word)
		}
	}
	return strings.Join(words, " "), Parse(text)
}

// Claim is what a state knows of who owns a resource's things. Make one with New, Restore, Adopt or OfWorkspace.
type Claim struct {
	id        string
	workspace string
	// takes is the owner that an import takes over knowingly: nil where nothing was imported, "" for a person's.
	takes *string
	// former are the owners of what this resource replaces, "" for a person's that was imported.
	former []string
	// replaces says that there is such a thing.
	replaces bool
	// adopting is set until a resource was read for the first time after an import, or after an upgrade from a version
	// without marks: then whatever is found is its own.
	adopting bool
	// forgotten is set where the state of a resource that exists keeps no claim: what its workspace left behind is its own.
	forgotten bool
}

// made are the ids that this run gave out: what carries one of them was not left behind by a killed run.
var made sync.Map

// BeginRun says that a server begins: what was made before was made by another run. Terraform has a process for each, and tests
// have one for many.
func BeginRun() { made.Clear() }

// New returns the claim of a resource that is about to be created.
func New() Claim {
	id := strings.ToLower(rand.Text()[:idLength])
	made.Store(id, true)
	return Claim{id: id, workspace: Workspace()}
}

// Adopt returns the claim of a resource that its state has no claim of: it was imported just now, or written by a version of
// the provider that left no marks.
func Adopt() Claim {
	c := New()
	c.adopting = true
	return c
}

// OfWorkspace returns the claim for the destroy of a resource that its state has no claim of. It owns what carries a mark of this
// workspace that an earlier run wrote, and neither what another workspace wrote nor what carries no mark.
func OfWorkspace() Claim {
	c := New()
	c.forgotten = true
	return c
}

// record is a claim as the state keeps it.
type record struct {
	ID    string  `json:"id"`
	Takes *string `json:"takes,omitempty"`
}

// Restore reads a claim that a state kept; no text is a claim that Adopts.
func Restore(text []byte) (Claim, error) {
	if len(text) == 0 {
		return Adopt(), nil
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return Claim{}, fmt.Errorf("understand the state's claim: %w", err)
	}
	return Claim{id: r.ID, workspace: Workspace(), takes: r.Takes}, nil
}

// Record is the claim for the state to keep.
func (c Claim) Record() []byte {
	text, err := json.Marshal(record{ID: c.id, Takes: c.takes})
	if err != nil {
		panic(err) // two strings always marshal
	}
	return text
}

// Succeed returns the claim of what replaces a resource: it may take over what the old one's claim owns.
func (c Claim) Succeed() Claim {
	next := New()
	next.replaces = true
	if !c.adopting {
		next.former = append(next.former, c.id)
	}
	if c.takes != nil {
		next.former = append(next.former, *c.takes)
	}
	return next
}

// Replaces says whether the claim succeeds another one: what is replaced may be there still, with a mark or without.
func (c Claim) Replaces() bool { return c.replaces }

// Anonymous says that nothing carries the claim's id, nor keeps it: it was made by Adopt or OfWorkspace, and nothing was read or
// written with it.
func (c Claim) Anonymous() bool { return c.adopting || c.forgotten }

// Mark is what to write beside what the resource makes or changes.
func (c Claim) Mark() Mark { return Mark{ID: c.id, Workspace: c.workspace} }

// Owns says whether what carries the mark is the resource's own: it made it, or an import took it over.
func (c Claim) Owns(found Mark) bool {
	switch {
	case c.adopting, found.ID != "" && found.ID == c.id, c.takes != nil && found.ID == *c.takes:
		return true
	case slices.Contains(c.former, found.ID):
		return true
	}
	return c.forgotten && LeftBehind(found)
}

// MayTake says whether a create may take over what carries the mark: what is its own, and what a killed run of the same
// workspace left behind before the state knew of it. Where some resources were chosen (-target), what looks left behind may be that of
// one that was not, and stays.
func (c Claim) MayTake(found Mark) bool {
	return c.Owns(found) || LeftBehind(found) && !cli.Chooses()
}

// LeftBehind says whether what carries the mark was made in this workspace, and not by this run: where no state knows of it, a
// killed run left it behind.
func LeftBehind(found Mark) bool {
	_, here := made.Load(found.ID)
	return !here && found.ID != "" && found.Workspace != "" && found.Workspace == Workspace()
}

// Leaves says whether what carries the mark is about to be removed too: the program destroys everything of the workspace that
// made it.
func Leaves(found Mark) bool {
	return found.ID != "" && found.Workspace != "" && found.Workspace == Workspace() && cli.DestroysAll()
}

// Found returns the claim after a thing that is its own was read: from then on nobody else's is.
func (c Claim) Found(found Mark) Claim {
	if !c.adopting {
		return c
	}
	c.adopting = false
	if found.ID != c.id {
		c.takes = &found.ID
	}
	return c
}

// Written returns the claim after its mark was written: what an import took over is its own now.
func (c Claim) Written() Claim {
	c.adopting, c.takes, c.former = false, nil, nil
	return c
}

// ForeignError says that a thing exists that is not the resource's own.
type ForeignError struct {
	// What and Place name it: `HAProxy backend "api"`, "/etc/haproxy/haproxy.cfg on 10.0.0.100".
	What, Place string
	// ImportID is what `terraform import` takes for it; "" where it cannot be imported.
	ImportID string
	// Owner is whose it is.
	Owner Mark
}

// Described says whether another resource of this very run made the thing: one that replaces it, or one that names it too.
func (e *ForeignError) Described() bool {
	_, here := made.Load(e.Owner.ID)
	return here
}

// Error says whose it is and the ways out.
func (e *ForeignError) Error() string {
	whose := "this provider did not write it"
	switch {
	case e.Described():
		whose = "another resource of this configuration made it: one thing is described twice"
	case LeftBehind(e.Owner) && cli.Chooses():
		return fmt.Sprintf("%s is in %s already, made by this state: by a resource that was not chosen, or by a run that was ended; plan without -target, which tells them apart", e.What, e.Place)
	case e.Owner.ID != "":
		whose = fmt.Sprintf("it belongs to another state (owner %s)", e.Owner.ID)
	}
	out := "choose another name, or remove it"
	if e.ImportID != "" {
		out = fmt.Sprintf("import it as %q to take it over knowingly, choose another name, or remove it", e.ImportID)
	}
	return fmt.Sprintf("%s is in %s already, and %s: %s", e.What, e.Place, whose, out)
}
