package machine

import (
	"errors"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

// Outdated is the state of a machine that runs as it was before a change of its configuration, as the run that changed it ended before it restarted the
// machine: the next apply does.
const Outdated = "outdated"

// errOutdated is why a machine is restarted that has the configuration that it shall have.
var errOutdated = errors.New("what runs is as it was before a change that ended before the restart")

// isOutdated says whether a domain's configuration was replaced for a restart that has not come: what runs has not the revision of the configuration.
func isOutdated(d *hypervisor.Domain) bool {
	want := metadata.ReadRevision(d.Config)
	return d.Active() && want != "" && metadata.ReadRevision(d.Live) != want
}
