package machine

import (
	"errors"
	"strconv"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// Outdated is the state of a machine that runs as it was before a change of its configuration, as the run that changed it ended before it restarted the
// machine: the next apply does.
const Outdated = "outdated"

// errOutdated is why a machine is restarted that has the configuration that it shall have.
var errOutdated = errors.New("what runs is as it was before a change that ended before the restart")

// isOutdated says whether a domain's configuration was replaced for a restart that has not come.
func (k *Mark) isOutdated(d *hypervisor.Domain) bool {
	return k.Outdated != "" && k.Outdated == numberRun(d)
}

// numberRun returns the number that libvirt gave a domain at its start; "" for one that does not run.
func numberRun(d *hypervisor.Domain) string {
	if d.Live == nil || d.Live.ID == nil {
		return ""
	}
	return strconv.Itoa(*d.Live.ID)
}
