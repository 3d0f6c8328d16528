package hostattr

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

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
			got := Unseen(path.Root("host"), `route "10.0.0.0/8"`, c.err)
			at, placed := got.(diag.DiagnosticWithPath)
			if got.Severity() != c.want || !placed || !at.Path().Equal(path.Root("host")) || got.Detail() != c.err.Error() {
				t.Errorf("%s: %+v", got.Severity(), got)
			}
		})
	}
}
