package hostsfile

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// manageScript prints the file that says last whether cloud-init manages /etc/hosts, and what that says.
//
//go:embed manage.sh
var manageScript string

// rewritesHosts says whether a value of manage_etc_hosts has cloud-init write the whole file from a template at each start. By "localhost" it
// changes the line of the machine's own name, and leaves the others as they are.
func rewritesHosts(value string) bool {
	value, _, _ = strings.Cut(value, "#")
	value = strings.ToLower(strings.Trim(strings.TrimSpace(value), `"'`))
	return slices.Contains([]string{"true", "yes", "on", "1", "template"}, value)
}

// Warn says that cloud-init writes the file anew at each start of the machine. What cannot be asked now is not warned of.
func (s *Store) Warn(ctx context.Context) []service.Problem {
	out, err := s.Host.Run(ctx, host.RepeatableScript("ask whether cloud-init manages "+Path, manageScript, ""))
	if err != nil {
		return nil
	}
	file, value, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if !rewritesHosts(value) {
		return nil
	}
	return []service.Problem{service.Warningf([]any{"host"}, "cloud-init writes "+Path+" anew",
		"%s", fmt.Sprintf("manage_etc_hosts in %s of %s has cloud-init write the file from its template at each start, and the block is gone then until the next apply: have it say manage_etc_hosts: false, or write that into /etc/cloud/cloud.cfg.d/99-hosts.cfg where the machine's user data does not say otherwise", file, s.Host))}
}
