package crud

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

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
