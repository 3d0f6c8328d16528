package crud

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

func TestAFailureSaysWhereItBelongs(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		err              error
		at, wantedDetail string
	}{
		"nowhere":             {refused, "", "refused"},
		"at an attribute":     {service.At([]any{"memory_mib"}, refused), "memory_mib", "refused"},
		"inside an attribute": {service.At([]any{"disks", service.Key("a"), "pool"}, refused), `disks["a"].pool`, `disks["a"].pool: refused`},
		"in a list, wrapped":  {fmt.Errorf("change it: %w", service.At([]any{"members", 1}, refused)), "members[1]", "members[1]: change it: refused"},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewFailure("update", `node "n"`, c.err)
			at := ""
			if placed, ok := d.(diag.DiagnosticWithPath); ok {
				at = placed.Path().String()
			}
			if at != c.at || d.Detail() != c.wantedDetail || d.Summary() != `Cannot update node "n"` {
				t.Errorf("%q at %q: %s", d.Summary(), at, d.Detail())
			}
		})
	}
	if service.At([]any{"x"}, nil) != nil {
		t.Error("no error became one")
	}
}

// A machine that may come to be in the same apply is no error in a plan; one that is there and that nobody knows is.
func TestAPlanRefusesAMachineWhoseHostKeyIsNotKnown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want diag.Severity
	}{
		"unreachable":   {errors.New("no route to host"), diag.SeverityWarning},
		"not known":     {fmt.Errorf("read: %w", &sshhost.HostKeyError{Host: "root@10.0.0.7", Got: "SHA256:x"}), diag.SeverityError},
		"another's key": {&sshhost.HostKeyError{Host: "root@10.0.0.7", Got: "SHA256:x", Want: []string{"SHA256:y"}}, diag.SeverityWarning},
	} {
		t.Run(name, func(t *testing.T) {
			got := NewUnseen(path.Root("host"), `route "10.0.0.0/8"`, c.err)
			at, placed := got.(diag.DiagnosticWithPath)
			if got.Severity() != c.want || !placed || !at.Path().Equal(path.Root("host")) || got.Detail() != c.err.Error() {
				t.Errorf("%s: %+v", got.Severity(), got)
			}
		})
	}
}

// A problem of what is below a value that is not known, or that has something unknown in it, is one of later.
func TestAProblemOfWhatIsNotKnownIsDropped(t *testing.T) {
	t.Parallel()
	s := newHouseSchema()
	of := s.Type().TerraformType(t.Context()).(tftypes.Object)
	rooms := of.AttributeTypes["rooms"].(tftypes.Map)
	house := func(room, name tftypes.Value) tfsdk.Plan {
		all := map[string]tftypes.Value{}
		for key, kind := range of.AttributeTypes {
			all[key] = tftypes.NewValue(kind, nil)
		}
		all["rooms"], all["name"] = tftypes.NewValue(rooms, map[string]tftypes.Value{"a": room}), name
		return tfsdk.Plan{Schema: s, Raw: tftypes.NewValue(of, all)}
	}
	beds := func(n any) tftypes.Value {
		return tftypes.NewValue(rooms.ElementType, map[string]tftypes.Value{"beds": tftypes.NewValue(tftypes.Number, n)})
	}
	known := tftypes.NewValue(tftypes.String, "x")
	for name, c := range map[string]struct {
		plan tfsdk.Plan
		want int
	}{
		"an unknown object":            {house(tftypes.NewValue(rooms.ElementType, tftypes.UnknownValue), known), 0},
		"an unknown attribute":         {house(beds(tftypes.UnknownValue), known), 0},
		"a known one":                  {house(beds(1), known), 1},
		"a null object":                {house(tftypes.NewValue(rooms.ElementType, nil), known), 1},
		"one for which another is not": {house(beds(1), tftypes.NewValue(tftypes.String, tftypes.UnknownValue)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := service.Problemf([]any{"rooms", service.Key("a"), "beds"}, "No bed", "write one")
			p.Known = []string{"name"}
			if got := Problems(t.Context(), c.plan, []service.Problem{p}); len(got) != c.want {
				t.Errorf("told are %v", got)
			}
		})
	}
}
