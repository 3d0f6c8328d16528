package hostsfile

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// manageScript prints the file that says last whether cloud-init manages /etc/hosts, and what that says, where cloud-init is there and
// runs at each start. What an instance was given counts before what its image says. Argument: the root of the file system, "" for the
// machine's.
const manageScript = `[ -e "$1/usr/bin/cloud-init" ] && [ ! -e "$1/etc/cloud/cloud-init.disabled" ] || exit 0
for file in "$1/etc/cloud/cloud.cfg" "$1"/etc/cloud/cloud.cfg.d/*.cfg "$1/var/lib/cloud/instance/vendor-cloud-config.txt" "$1/var/lib/cloud/instance/cloud-config.txt"; do
  value=$(sed -n 's/^manage_etc_hosts:[[:space:]]*//p' "$file" 2>/dev/null | tail -n 1)
  [ -z "$value" ] || printf '%s\n%s\n' "${file#"$1"}" "$value"
done | tail -n 2`

// rewritesHosts says whether a value of manage_etc_hosts has cloud-init write the whole file from a template at each start. By "localhost" it
// changes the line of the machine's own name, and leaves the others as they are.
func rewritesHosts(value string) bool {
	value, _, _ = strings.Cut(value, "#")
	value = strings.ToLower(strings.Trim(strings.TrimSpace(value), `"'`))
	return slices.Contains([]string{"true", "yes", "on", "1", "template"}, value)
}

// Warn says that cloud-init writes the file anew at each start of the machine. What cannot be asked now is not warned of.
func (s *Store) Warn(ctx context.Context) []service.Problem {
	cmd := host.Script("ask whether cloud-init manages "+Path, manageScript, "")
	cmd.Repeatable = true
	out, err := s.Host.Run(ctx, cmd)
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
