package crud_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// newCrate is a crate's state, or its configuration.
func newCrate(t *testing.T, on string, size int) *tfprotov6.DynamicValue {
	t.Helper()
	v, err := tfprotov6.NewDynamicValue(crateType, tftypes.NewValue(crateType, map[string]tftypes.Value{
		"id": tftypes.NewValue(tftypes.String, "a"), "name": tftypes.NewValue(tftypes.String, "a"),
		"hypervisor": tftypes.NewValue(tftypes.String, on), "size": tftypes.NewValue(tftypes.Number, size),
	}))
	if err != nil {
		t.Fatal(err)
	}
	return &v
}

func noCrate(t *testing.T) *tfprotov6.DynamicValue {
	t.Helper()
	v, err := tfprotov6.NewDynamicValue(crateType, tftypes.NewValue(crateType, nil))
	if err != nil {
		t.Fatal(err)
	}
	return &v
}

// twoShelves are hypervisors of which the second one is lost.
func twoShelves(abandon func(string) error) crates {
	return crates{
		toy: toy{&shelf{boxes: map[string]int64{"kvm1/a": 3}}}, hypervisors: map[string]string{"kvm1": "test:///default", "kvm2": "test:///default"},
		lost: map[string]bool{"kvm2": true}, abandon: abandon,
	}
}

func TestWhatIsKnownOfALostHypervisorStays(t *testing.T) {
	t.Parallel()
	resp, err := serveCrates(t, twoShelves(nil), true).ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: "toy_crate", CurrentState: newCrate(t, "kvm2", 3)})
	if err != nil {
		t.Fatal(err)
	}
	if gone, err := resp.NewState.IsNull(); err != nil || gone {
		t.Errorf("it is gone from the state: %v", err)
	}
	if got := text(resp.Diagnostics); len(resp.Diagnostics) != 1 || resp.Diagnostics[0].Severity != tfprotov6.DiagnosticSeverityWarning || !strings.Contains(got, `Cannot look at crate "a": hypervisor "kvm2" is lost`) {
		t.Errorf("said: %s", got)
	}
}

func TestNothingIsMadeNorChangedOnALostHypervisor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prior, planned *tfprotov6.DynamicValue
		want           string
	}{
		"made":         {noCrate(t), newCrate(t, "kvm2", 3), "Lost hypervisor"},
		"changed":      {newCrate(t, "kvm2", 3), newCrate(t, "kvm2", 4), "Lost hypervisor"},
		"moved to it":  {newCrate(t, "kvm1", 3), newCrate(t, "kvm2", 3), "Lost hypervisor"},
		"stays":        {newCrate(t, "kvm2", 3), newCrate(t, "kvm2", 3), ""},
		"goes from it": {newCrate(t, "kvm2", 3), newCrate(t, "kvm1", 3), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, err := serveCrates(t, twoShelves(nil), true).PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
				TypeName: "toy_crate", PriorState: c.prior, Config: c.planned, ProposedNewState: c.planned,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := text(resp.Diagnostics); c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("said: %s", got)
			}
		})
	}
}

func TestWhatGoesFromALostHypervisorIsLetGoOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault error
		gone  bool
		want  string
	}{
		"with what it has elsewhere":  {nil, true, `crate "a" is let go of: hypervisor "kvm2" is lost`},
		"what it has elsewhere stays": {errors.New("no route"), false, `Cannot delete crate "a": no route`},
		"where it has nothing at all": {nil, true, `crate "a" is let go of`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told []string
			p := twoShelves(func(name string) error { told = append(told, name); return c.fault })
			if strings.Contains(name, "nothing") {
				p.abandon = nil
			}
			resp, err := serveCrates(t, p, true).ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
				TypeName: "toy_crate", PriorState: newCrate(t, "kvm2", 3), Config: noCrate(t), PlannedState: noCrate(t),
			})
			if err != nil {
				t.Fatal(err)
			}
			gone, err := resp.NewState.IsNull()
			if err != nil || gone != c.gone || !strings.Contains(text(resp.Diagnostics), c.want) || p.abandon != nil && len(told) != 1 {
				t.Errorf("gone: %v, told %v, %v, said: %s", gone, told, err, text(resp.Diagnostics))
			}
		})
	}
}
