package crud

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

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
