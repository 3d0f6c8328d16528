package crud_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// ownedBoxStore is a boxStore whose boxes carry their owners' marks.
type ownedBoxStore struct {
	boxStore
	claim owner.Claim
}

func (s *ownedBoxStore) Claim() owner.Claim { return s.claim }

func (s *ownedBoxStore) FinishMark(context.Context) error {
	if s.stiff != nil {
		return s.stiff
	}
	s.marks[s.name] = s.marks[s.name].Finished()
	s.claim = s.claim.Finished()
	return nil
}

func (s *ownedBoxStore) foreign(allowed func(owner.Mark) bool) error {
	mark, there := s.marks[s.name]
	if !there || allowed(mark) {
		return nil
	}
	return s.claim.NewForeignError("box "+s.name, "the shelf", "shelf#"+s.name, mark)
}

func (s *ownedBoxStore) Get(ctx context.Context) (box, error) {
	if err := s.foreign(s.claim.Owns); err != nil {
		return box{}, err
	}
	s.claim = s.claim.Found(s.marks[s.name])
	return s.boxStore.Get(ctx)
}

func (s *ownedBoxStore) put(ctx context.Context, b box, allowed func(owner.Mark) bool) (box, error) {
	if err := s.foreign(allowed); err != nil {
		return b, err
	}
	s.marks[s.name] = s.claim.Mark()
	s.claim = s.claim.Written()
	if s.late != nil {
		return b, s.late
	}
	if s.made != nil {
		defer s.made()
	}
	return s.boxStore.Create(ctx, b)
}

func (s *ownedBoxStore) Create(ctx context.Context, b box) (box, error) {
	return s.put(ctx, b, s.claim.MayTake)
}

func (s *ownedBoxStore) Update(ctx context.Context, _, b box) (box, error) {
	return s.put(ctx, b, s.claim.Owns)
}

func (s *ownedBoxStore) Delete(ctx context.Context) error {
	if err := s.foreign(s.claim.Owns); err != nil {
		return err
	}
	return s.boxStore.Delete(ctx)
}

func (s *ownedBoxStore) MayCreate(context.Context) error { return s.foreign(s.claim.MayTake) }

var (
	_ crud.Owned     = (*ownedBoxStore)(nil)
	_ crud.Previewer = (*ownedBoxStore)(nil)
)

// ended is the word of a run that is over.
func ended() string {
	return owner.BeginRun().Word()
}

func read(t *testing.T, server tfprotov6.ProviderServer, state *tfprotov6.DynamicValue, private []byte) *tfprotov6.ReadResourceResponse {
	t.Helper()
	resp, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: "toy_box", CurrentState: state, Private: private})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// What failed once the mark was written is there: the state keeps it, with its claim, and nobody else may take it.
func TestACreateThatFailsAfterTheMarkStaysInTheState(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	s.marks, s.late = map[string]owner.Mark{}, errors.New("the lid fell off")
	created := apply(t, server, null(t), value(t, tftypes.UnknownValue, "a", 3), nil)
	said := text(created.Diagnostics)
	if kept := state(t, created.NewState); kept == nil || !kept["id"].Equal(tftypes.NewValue(tftypes.String, "shelf#a")) || !strings.Contains(said, "the lid fell off") {
		t.Fatalf("the state has %v, and it says %s", kept, said)
	}
	if mark := s.marks["a"]; mark.Creating != "" || !strings.Contains(string(created.Private), "owner") {
		t.Errorf("the mark is %v, private state %s", mark, created.Private)
	}
	s.late = errors.New("before anything was made")
	s.marks = map[string]owner.Mark{"b": {ID: "theirs", Workspace: "elsewhere"}}
	refused := apply(t, server, null(t), value(t, tftypes.UnknownValue, "b", 3), nil)
	if state(t, refused.NewState) != nil {
		t.Errorf("what was refused is in the state: %s", text(refused.Diagnostics))
	}
}

// A mark that could not be finished is a warning, and the next read finishes it.
func TestAMarkThatStaysUnfinishedIsFinishedByTheNextRead(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	s.marks, s.stiff = map[string]owner.Mark{}, errors.New("the pen is dry")
	created := apply(t, server, null(t), value(t, tftypes.UnknownValue, "a", 3), nil)
	if said := text(created.Diagnostics); len(created.Diagnostics) != 1 || !strings.Contains(said, "stays marked as unfinished: ") || !strings.Contains(said, "the pen is dry") {
		t.Fatalf("it says %s", said)
	}
	if s.marks["a"].Creating == "" {
		t.Fatal("it is finished")
	}
	s.stiff = nil
	if again := read(t, server, created.NewState, created.Private); len(again.Diagnostics) > 0 || s.marks["a"].Creating != "" {
		t.Errorf("after a read the mark is %v: %s", s.marks["a"], text(again.Diagnostics))
	}
}

// Of this workspace and finished is no proof of being left behind: another provider block's, or a lost state's, looks the same.
func TestWhatIsFinishedIsNotTakenUnlessThisRunRemovesIt(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	s.marks = map[string]owner.Mark{"a": {ID: "other", Workspace: owner.Workspace()}}
	s.boxes["a"] = 7
	mine := []byte(`{"owner":"eyJpZCI6Im90aGVyIn0="}`) // {"id":"other"}
	limit := owner.AwaitApply
	owner.AwaitApply = 10 * time.Millisecond
	t.Cleanup(func() { owner.AwaitApply = limit })
	refused := apply(t, server, null(t), value(t, tftypes.UnknownValue, "a", 3), nil)
	if said := text(refused.Diagnostics); s.boxes["a"] != 7 || !strings.Contains(said, `import it as "shelf#a"`) {
		t.Fatalf("box %d, and it says %s", s.boxes["a"], said)
	}
	// Its resource has another address now: Terraform creates and destroys at once.
	read(t, server, value(t, "shelf#a", "a", 7), mine)
	created := apply(t, server, null(t), value(t, tftypes.UnknownValue, "a", 3), nil)
	removed := apply(t, server, value(t, "shelf#a", "a", 7), null(t), mine)
	if len(created.Diagnostics) > 0 || len(removed.Diagnostics) > 0 || s.boxes["a"] != 3 {
		t.Errorf("box %d; the one says %s, the other %s", s.boxes["a"], text(created.Diagnostics), text(removed.Diagnostics))
	}
}

// apply changes the box "a": nil is none.
func apply(t *testing.T, server tfprotov6.ProviderServer, prior, planned *tfprotov6.DynamicValue, private []byte) *tfprotov6.ApplyResourceChangeResponse {
	t.Helper()
	resp, err := server.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: "toy_box", PriorState: prior, Config: planned, PlannedState: planned, PlannedPrivate: private,
	})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestAnothersThingIsNeitherTakenNorChangedNorRemoved(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	s.marks = map[string]owner.Mark{"a": {ID: "theirs", Workspace: "elsewhere"}}
	s.boxes["a"] = 7
	created := apply(t, server, null(t), value(t, tftypes.UnknownValue, "a", 3), nil)
	if state(t, created.NewState) != nil || !strings.Contains(text(created.Diagnostics), `import it as "shelf#a"`) {
		t.Errorf("create: %s", text(created.Diagnostics))
	}
	mine := []byte(`{"owner":"eyJpZCI6Im1pbmUifQ=="}`) // {"id":"mine"}
	updated := apply(t, server, value(t, "shelf#a", "a", 3), value(t, "shelf#a", "a", 4), mine)
	if !strings.Contains(text(updated.Diagnostics), "belongs to another state") {
		t.Errorf("update: %s", text(updated.Diagnostics))
	}
	deleted := apply(t, server, value(t, "shelf#a", "a", 3), null(t), mine)
	if len(deleted.Diagnostics) != 1 || deleted.Diagnostics[0].Severity != tfprotov6.DiagnosticSeverityWarning || !strings.Contains(text(deleted.Diagnostics), "stays") {
		t.Errorf("delete: %s", text(deleted.Diagnostics))
	}
	read, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: "toy_box", CurrentState: value(t, "shelf#a", "a", 3), Private: mine})
	if err != nil || state(t, read.NewState) == nil || !strings.Contains(text(read.Diagnostics), "not this resource's any more") {
		t.Errorf("read: %v %s", err, text(read.Diagnostics))
	}
	if s.boxes["a"] != 7 {
		t.Errorf("the other's box became %d", s.boxes["a"])
	}
}

func TestAnImportTakesOverKnowingly(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	s.marks = map[string]owner.Mark{"a": {ID: "theirs", Workspace: "elsewhere"}}
	s.boxes["a"] = 7
	imported, err := server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: "toy_box", ID: "shelf#a"})
	if err != nil || len(imported.ImportedResources) != 1 {
		t.Fatalf("import: %v %s", err, text(imported.Diagnostics))
	}
	read := read(t, server, value(t, "shelf#a", "a", 7), imported.ImportedResources[0].Private)
	if state(t, read.NewState) == nil || len(read.Diagnostics) > 0 {
		t.Fatalf("read after an import: %s", text(read.Diagnostics))
	}
	updated := apply(t, server, value(t, "shelf#a", "a", 7), value(t, "shelf#a", "a", 8), read.Private)
	if len(updated.Diagnostics) > 0 || s.boxes["a"] != 8 || s.marks["a"].ID == "theirs" {
		t.Errorf("the change after it: %s; owner %v", text(updated.Diagnostics), s.marks["a"])
	}
	deleted := apply(t, server, value(t, "shelf#a", "a", 8), null(t), updated.Private)
	if _, there := s.boxes["a"]; there || len(deleted.Diagnostics) > 0 {
		t.Errorf("its destroy: %s", text(deleted.Diagnostics))
	}
}

func TestACreatedThingStaysItsOwn(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	s.marks = map[string]owner.Mark{}
	created := apply(t, server, null(t), value(t, tftypes.UnknownValue, "a", 3), nil)
	if len(created.Diagnostics) > 0 || s.marks["a"].ID == "" || s.marks["a"].Creating != "" {
		t.Fatalf("create: %s; mark %v", text(created.Diagnostics), s.marks["a"])
	}
	read, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: "toy_box", CurrentState: created.NewState, Private: created.Private})
	if err != nil || state(t, read.NewState) == nil {
		t.Fatalf("read: %v %s", err, text(read.Diagnostics))
	}
	if deleted := apply(t, server, read.NewState, null(t), read.Private); len(deleted.Diagnostics) > 0 {
		t.Errorf("destroy: %s", text(deleted.Diagnostics))
	}
}

// A provider that is killed in an update leaves the resource in the state without anything of what is kept beside its attributes. What its
// workspace wrote is its own then, and nothing else is.
func TestWithoutAClaimOnlyWhatItsWorkspaceWroteIsItsOwn(t *testing.T) {
	t.Parallel()
	for whose, mark := range map[string]owner.Mark{"a person's": {}, "another state's": {ID: "theirs", Workspace: "elsewhere"}} {
		t.Run(whose, func(t *testing.T) {
			s, server := serve(t)
			s.marks, s.boxes["a"] = map[string]owner.Mark{"a": mark}, 7
			again := read(t, server, value(t, "shelf#a", "a", 3), nil)
			if state(t, again.NewState) == nil || !strings.Contains(text(again.Diagnostics), "not this resource's any more") {
				t.Errorf("read: %s", text(again.Diagnostics))
			}
			if updated := apply(t, server, value(t, "shelf#a", "a", 3), value(t, "shelf#a", "a", 4), again.Private); len(updated.Diagnostics) == 0 || s.boxes["a"] != 7 {
				t.Errorf("box %d after an update: %s", s.boxes["a"], text(updated.Diagnostics))
			}
		})
	}
	s, server := serve(t)
	s.marks, s.boxes["a"] = map[string]owner.Mark{"a": {ID: "mine", Workspace: owner.Workspace()}}, 7
	again := read(t, server, value(t, "shelf#a", "a", 3), nil)
	if len(again.Diagnostics) > 0 || !strings.Contains(string(again.Private), "owner") {
		t.Errorf("read: %s; private state %s", text(again.Diagnostics), again.Private)
	}
	if updated := apply(t, server, again.NewState, value(t, "shelf#a", "a", 4), again.Private); len(updated.Diagnostics) > 0 || s.boxes["a"] != 4 || s.marks["a"].ID != "mine" {
		t.Errorf("box %d with %v after an update: %s", s.boxes["a"], s.marks["a"], text(updated.Diagnostics))
	}
}

// A program that was killed keeps nothing in its state: what it had made is unfinished, for its next run to take over.
func TestTheMarkOfACreateThatWasGivenUpStaysUnfinished(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	s.marks = map[string]owner.Mark{}
	ctx, cancel := context.WithCancel(t.Context())
	s.made = cancel
	planned := value(t, tftypes.UnknownValue, "a", 3)
	if _, err := server.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{TypeName: "toy_box", PriorState: null(t), Config: planned, PlannedState: planned}); err != nil {
		t.Fatal(err)
	}
	if s.boxes["a"] != 3 || s.marks["a"].Creating == "" {
		t.Errorf("box %d has the mark %v", s.boxes["a"], s.marks["a"])
	}
}

// A tainted resource comes to its replacement without anything of what was kept beside its attributes.
func TestWithoutAClaimADestroyRemovesOnlyWhatItsWorkspaceLeft(t *testing.T) {
	t.Parallel()
	for whose, mark := range map[string]owner.Mark{"a person's": {}, "another state's": {ID: "theirs", Workspace: "elsewhere"}} {
		t.Run(whose, func(t *testing.T) {
			s, server := serve(t)
			s.marks = map[string]owner.Mark{"a": mark}
			s.boxes["a"] = 7
			deleted := apply(t, server, value(t, "shelf#a", "a", 3), null(t), nil)
			if said := text(deleted.Diagnostics); s.boxes["a"] != 7 || len(deleted.Diagnostics) != 1 || !strings.Contains(said, `"a" stays`) || !strings.Contains(said, "tainted") {
				t.Errorf("box %d, and %q", s.boxes["a"], said)
			}
		})
	}
	s, server := serve(t)
	s.marks = map[string]owner.Mark{"a": {ID: "halfway", Workspace: owner.Workspace()}}
	s.boxes["a"] = 7
	deleted := apply(t, server, value(t, "shelf#a", "a", 3), null(t), nil)
	if _, there := s.boxes["a"]; there || len(deleted.Diagnostics) > 0 {
		t.Errorf("what a create of this workspace left behind: %s", text(deleted.Diagnostics))
	}
}

// planNew plans a box that is to be made, and returns what the plan says.
func planNew(t *testing.T, server tfprotov6.ProviderServer, name string, private []byte) string {
	t.Helper()
	resp, err := server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: "toy_box", PriorState: null(t), Config: value(t, nil, name, 3), ProposedNewState: value(t, tftypes.UnknownValue, name, 3), PriorPrivate: private,
	})
	if err != nil {
		t.Fatal(err)
	}
	return text(resp.Diagnostics)
}

// What is in the way of a create is said when planning; what a replacement replaces is not in its way, be it imported or its own.
func TestAPlanRefusesAnothersThingAndNotTheOneThatIsReplaced(t *testing.T) {
	t.Parallel()
	here, elsewhere := `["[\"a\"]"]`, `["[\"b\"]"]`
	for whose, c := range map[string]struct {
		mark                  owner.Mark
		private, placedBefore string
		refused               bool
	}{
		"a person's":                               {owner.Mark{}, "", "", true},
		"another state's":                          {owner.Mark{ID: "theirs", Workspace: "elsewhere"}, "", "", true},
		"what a killed run left":                   {owner.Mark{ID: "killed", Workspace: owner.Workspace(), Creating: ended()}, "", "", false},
		"what another run is making":               {owner.Mark{ID: "making", Workspace: owner.Workspace(), Creating: "somebody"}, "", "", true},
		"what is replaced":                         {owner.Mark{ID: "mine", Workspace: "elsewhere"}, `{"id":"mine"}`, here, false},
		"a person's that was imported":             {owner.Mark{}, `{"id":"mine","takes":""}`, here, false},
		"another's, and not replaced":              {owner.Mark{ID: "theirs", Workspace: "elsewhere"}, `{"id":"mine"}`, here, true},
		"a person's, and another one was imported": {owner.Mark{}, `{"id":"mine","takes":""}`, elsewhere, true},
	} {
		t.Run(whose, func(t *testing.T) {
			s, server := serve(t)
			s.marks, s.boxes["a"] = map[string]owner.Mark{"a": c.mark}, 7
			var private []byte
			if c.private != "" {
				private = fmt.Appendf(nil, `{"owner":%q,"place":%q}`, base64.StdEncoding.EncodeToString([]byte(c.private)), base64.StdEncoding.EncodeToString([]byte(c.placedBefore)))
			}
			if said := planNew(t, server, "a", private); strings.Contains(said, `import it as "shelf#a"`) != c.refused {
				t.Errorf("%s: %s", whose, said)
			}
		})
	}
}

// What replaces an import knows by the place that the read after it kept whether an unmarked thing is the one that was imported.
func TestAReplacementOfAnImportTakesNoOtherUnmarkedThing(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	s.marks, s.boxes = map[string]owner.Mark{"a": {}, "b": {}}, map[string]int64{"a": 7, "b": 8}
	imported, err := server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: "toy_box", ID: "shelf#a"})
	if err != nil || len(imported.ImportedResources) != 1 {
		t.Fatalf("import: %v %s", err, text(imported.Diagnostics))
	}
	kept := read(t, server, value(t, "shelf#a", "a", 7), imported.ImportedResources[0].Private).Private
	if said := planNew(t, server, "b", kept); !strings.Contains(said, "this provider did not write it") {
		t.Errorf("elsewhere it says %q", said)
	}
	if said := planNew(t, server, "a", kept); said != "" {
		t.Errorf("in its place it says %q", said)
	}
}

// An import of what could not be read yet has nothing to plan with: all would differ, and be made anew with what it holds lost.
func TestWhatIsImportedAndNotReadIsNotPlanned(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	s.marks, s.boxes["a"] = map[string]owner.Mark{"a": {}}, 7
	imported, err := server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: "toy_box", ID: "shelf#a"})
	if err != nil || len(imported.ImportedResources) != 1 {
		t.Fatalf("import: %v %s", err, text(imported.Diagnostics))
	}
	plan := func(state *tfprotov6.DynamicValue, private []byte) string {
		t.Helper()
		wanted := value(t, "shelf#a", "a", 7)
		resp, err := server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
			TypeName: "toy_box", PriorState: state, Config: wanted, ProposedNewState: wanted, PriorPrivate: private,
		})
		if err != nil {
			t.Fatal(err)
		}
		return text(resp.Diagnostics)
	}
	unread, private := imported.ImportedResources[0].State, imported.ImportedResources[0].Private
	for why, fault := range map[string]error{"a machine that is not known": fleet.ErrUnknown, "a store that is stopped": &service.UnseenError{Why: "stopped"}} {
		t.Run(why, func(t *testing.T) {
			s.fault = fault
			again := read(t, server, unread, private)
			if said := plan(again.NewState, again.Private); !strings.Contains(said, "Cannot plan what an import hands over") {
				t.Errorf("it says %s", said)
			}
		})
	}
	s.fault = nil
	again := read(t, server, unread, private)
	if said := plan(again.NewState, again.Private); said != "" {
		t.Errorf("after it was read: %s", said)
	}
}

// Whoever is making what is imported goes on with it: an import changes nothing, not even the word that a mark is unfinished.
func TestAnImportDoesNotFinishAMark(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	unfinished := owner.Mark{ID: "theirs", Workspace: "elsewhere", Creating: "somebody"}
	s.marks, s.boxes["a"] = map[string]owner.Mark{"a": unfinished}, 7
	imported, err := server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: "toy_box", ID: "shelf#a"})
	if err != nil || len(imported.ImportedResources) != 1 {
		t.Fatalf("import: %v %s", err, text(imported.Diagnostics))
	}
	again := read(t, server, value(t, "shelf#a", "a", 7), imported.ImportedResources[0].Private)
	if len(again.Diagnostics) > 0 || s.marks["a"] != unfinished {
		t.Errorf("after the read of an import the mark is %v: %s", s.marks["a"], text(again.Diagnostics))
	}
}
