package crud_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

func TestCreateReadsBackAndSetsTheID(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	resp, err := server.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: "toy_box", PriorState: null(t), Config: value(t, nil, "a", 3), PlannedState: value(t, tftypes.UnknownValue, "a", 3),
	})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatalf("%v %s", err, text(resp.Diagnostics))
	}
	if got := state(t, resp.NewState)["id"]; !got.Equal(tftypes.NewValue(tftypes.String, "shelf#a")) || s.boxes["a"] != 3 {
		t.Errorf("id %s, boxes %v", got, s.boxes)
	}
}

func TestAChangeThatSucceedsMayWarn(t *testing.T) {
	t.Parallel()
	_, server := serve(t)
	for name, prior := range map[string]*tfprotov6.DynamicValue{"create": null(t), "update": value(t, "shelf#a", "a", 3)} {
		t.Run(name, func(t *testing.T) {
			resp, err := server.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
				TypeName: "toy_box", PriorState: prior, Config: value(t, nil, "a", 100), PlannedState: value(t, tftypes.UnknownValue, "a", 100),
			})
			if err != nil || len(resp.Diagnostics) != 1 || resp.Diagnostics[0].Severity != tfprotov6.DiagnosticSeverityWarning ||
				text(resp.Diagnostics) != "Large: it will not fit through the door (at AttributeName(\"size\"))\n" {
				t.Fatalf("%v %s", err, text(resp.Diagnostics))
			}
			if got := state(t, resp.NewState)["size"]; !got.Equal(tftypes.NewValue(tftypes.Number, 100)) {
				t.Errorf("size is %s", got)
			}
		})
	}
}

func TestReadDropsOnlyWhatIsProvenAbsent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault error
		gone  bool
	}{
		"absent":          {fault: nil, gone: true},
		"lost connection": {fault: errors.New("connection reset"), gone: false},
	} {
		t.Run(name, func(t *testing.T) {
			s, server := serve(t)
			s.fault = c.fault
			resp, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: "toy_box", CurrentState: value(t, "shelf#a", "a", 3)})
			if err != nil {
				t.Fatal(err)
			}
			if gone := state(t, resp.NewState) == nil; gone != c.gone {
				t.Errorf("gone: %v", gone)
			}
			if c.fault != nil && !strings.Contains(text(resp.Diagnostics), `Cannot read box "a": connection reset`) {
				t.Errorf("diagnostics: %s", text(resp.Diagnostics))
			}
		})
	}
}

func TestDriftShowsAsWhatTheSystemHas(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	s.boxes["a"] = 9
	resp, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: "toy_box", CurrentState: value(t, "shelf#a", "a", 3)})
	if err != nil {
		t.Fatal(err)
	}
	if got := state(t, resp.NewState)["size"]; !got.Equal(tftypes.NewValue(tftypes.Number, 9)) {
		t.Errorf("size is %s", got)
	}
}

func TestImportTakesTheIDAndRefusesAnother(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	s.boxes["a"] = 3
	resp, err := server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: "toy_box", ID: "shelf#a"})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatalf("%v %s", err, text(resp.Diagnostics))
	}
	if got := state(t, resp.ImportedResources[0].State)["name"]; !got.Equal(tftypes.NewValue(tftypes.String, "a")) {
		t.Errorf("name is %s", got)
	}
	resp, err = server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: "toy_box", ID: "a"})
	if err != nil || !strings.Contains(text(resp.Diagnostics), "write shelf#NAME") {
		t.Errorf("%v %s", err, text(resp.Diagnostics))
	}
}

func TestPlanRefusesAtTheAttributeAndWaitsOnUnknowns(t *testing.T) {
	t.Parallel()
	_, server := serve(t)
	plan := func(size any) string {
		resp, err := server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
			TypeName: "toy_box", PriorState: null(t), Config: value(t, nil, "a", size), ProposedNewState: value(t, nil, "a", size),
		})
		if err != nil {
			t.Fatal(err)
		}
		return text(resp.Diagnostics)
	}
	if got := plan(-1); !strings.Contains(got, `Invalid size: write a size from 0 on (at AttributeName("size"))`) {
		t.Errorf("diagnostics: %s", got)
	}
	if got := plan(tftypes.UnknownValue); got != "" {
		t.Errorf("an unknown size: %s", got)
	}
}

// TestAPlanLooksAtTheMachineOfWhatIsNew has a machine refuse an object, not answer, and have one already.
func TestAPlanLooksAtTheMachineOfWhatIsNew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		full     error
		isThere  bool
		severity tfprotov6.DiagnosticSeverity
		says     string
	}{
		"there is room":       {nil, false, tfprotov6.DiagnosticSeverityInvalid, ""},
		"it is full":          {service.At([]any{"size"}, errors.New("no room")), false, tfprotov6.DiagnosticSeverityError, "no room (at AttributeName(\"size\"))"},
		"it does not answer":  {errors.New("no route"), false, tfprotov6.DiagnosticSeverityWarning, "no route (at AttributeName(\"name\"))"},
		"another one is full": {service.At([]any{"size"}, errors.New("no room")), true, tfprotov6.DiagnosticSeverityInvalid, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, server := serve(t)
			s.full = c.full
			prior, planned := null(t), value(t, tftypes.UnknownValue, "a", 1)
			if c.isThere {
				prior, planned = value(t, "shelf#a", "a", 2), value(t, "shelf#a", "a", 1)
			}
			resp, err := server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: "toy_box", PriorState: prior, ProposedNewState: planned, Config: value(t, nil, "a", 1)})
			if err != nil {
				t.Fatal(err)
			}
			if len(resp.Diagnostics) == 0 && c.says == "" {
				return
			}
			if len(resp.Diagnostics) != 1 || resp.Diagnostics[0].Severity != c.severity || !strings.Contains(text(resp.Diagnostics), c.says) {
				t.Errorf("%s", text(resp.Diagnostics))
			}
		})
	}
}

func TestFailedCreateLeavesNoState(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	s.fault = errors.New("shelf full")
	resp, err := server.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: "toy_box", PriorState: null(t), Config: value(t, nil, "a", 3), PlannedState: value(t, tftypes.UnknownValue, "a", 3),
	})
	if err != nil || state(t, resp.NewState) != nil || !strings.Contains(text(resp.Diagnostics), `Cannot create box "a": shelf full`) {
		t.Errorf("%v %s", err, text(resp.Diagnostics))
	}
}

func TestDeleteOfAnAbsentObjectIsNoError(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	s.fault = crud.ErrAbsent
	resp, err := server.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: "toy_box", PriorState: value(t, "shelf#a", "a", 3), Config: null(t), PlannedState: null(t),
	})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Errorf("%v %s", err, text(resp.Diagnostics))
	}
}

func TestWhatIsPlannedIsTriedUntilTheRunAppliesIt(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	plan := func(name string) {
		resp, err := server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
			TypeName: "toy_box", PriorState: null(t), Config: value(t, nil, name, 3), ProposedNewState: value(t, tftypes.UnknownValue, name, 3),
		})
		if err != nil || len(resp.Diagnostics) > 0 {
			t.Fatalf("%v %s", err, text(resp.Diagnostics))
		}
	}
	plan("a")
	plan("b")
	if s.tried != 2 {
		t.Fatalf("two plans were tried %d times", s.tried)
	}
	resp, err := server.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: "toy_box", PriorState: null(t), Config: value(t, nil, "a", 3), PlannedState: value(t, tftypes.UnknownValue, "a", 3),
	})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatalf("%v %s", err, text(resp.Diagnostics))
	}
	if plan("c"); s.tried != 2 {
		t.Error("what is applied at once is tried before, which its commit does too")
	}
}
