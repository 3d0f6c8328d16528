package keepalived

import (
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// UnitPath is the drop-in for keepalived's systemd unit.
const UnitPath = "/etc/systemd/system/keepalived.service.d/virtcluster.conf"

// deriveUnit keeps two owners from an address when keepalived is killed: then nothing of it is left to give
// the addresses back, and the other machine takes them all the same. A new keepalived gives them back as it
// starts, so it is started at once; and where it cannot start, systemd takes them away.
func deriveUnit(t transaction.Tree, c config) {
	var lines []string
	for _, k := range c.chunks {
		if k.node.keyword() != "vrrp_instance" || k.vipOf() == "" {
			continue
		}
		in, err := c.instance(k.node)
		if err != nil {
			continue
		}
		for _, a := range in.All() {
			lines = append(lines, fmt.Sprintf(`ExecStopPost=-/bin/sh -c "ip address delete %s dev %s 2>/dev/null || true"`, a, in.Interface))
		}
	}
	if len(lines) == 0 {
		delete(t, UnitPath)
		return
	}
	slices.Sort(lines)
	unit := "# Written by Terraform (virtcluster): a killed keepalived leaves its addresses behind, and the next\n" +
		"# machine takes them too. A new one gives them back as it starts.\n" +
		"[Unit]\nStartLimitIntervalSec=0\n\n[Service]\nRestart=always\nRestartSec=100ms\n" + strings.Join(slices.Compact(lines), "\n") + "\n"
	t.Put(UnitPath, []byte(unit), 0o644, "", "")
}
