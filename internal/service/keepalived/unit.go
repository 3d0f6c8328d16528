package keepalived

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// UnitPath is the drop-in for keepalived's systemd unit, and releasePath what it runs after keepalived: the
// drop-in stays the same when addresses change, as systemd reads all units again for a changed one.
const (
	UnitPath    = "/etc/systemd/system/keepalived.service.d/virtcluster.conf"
	releasePath = "/etc/keepalived/virtcluster-release"
)

// forgetScript has systemd forget a drop-in that is gone.
//
//go:embed forget.sh
var forgetScript string

// ForgetUnit removes what a drop-in leaves that was taken from a keepalived that does not run, which nothing activates.
func ForgetUnit(ctx context.Context, h host.Host) error {
	return runScript(ctx, h, host.Script("forget keepalived's drop-in", forgetScript, UnitPath))
}

// modeMark begins the line of the release script that keeps keepalived.conf's permissions from before the provider.
const modeMark = "# mode of keepalived.conf before: "

const unit = `# Written by Terraform (virtcluster): a killed keepalived leaves its addresses behind, and the next
# machine takes them too. A new one gives them back as it starts. One that starts while the machine's own
# addresses are being configured may never learn of them, so it waits until they are there.
[Unit]
StartLimitIntervalSec=0

[Service]
Restart=always
RestartSec=100ms
ExecStartPre=-/bin/sh -c 'for ip in $$(sed -n "s/^[[:space:]]*unicast_src_ip[[:space:]]*//p" ` + Path + ` | sort -u); do n=0; until ip -o address show to "$$ip" | grep -q . || [ $$n -ge 100 ]; do n=$$((n + 1)); sleep 0.1; done; done'
ExecStopPost=-/bin/sh ` + releasePath + `
`

// deriveUnit keeps two owners from an address when keepalived is killed: then nothing of it is left to give
// the addresses back, and the other machine takes them all the same. A new keepalived gives them back as it
// starts, so it is started at once; and where it cannot start, systemd takes them away.
func deriveUnit(t transaction.Tree, c config, before fs.FileMode) {
	var lines []string
	for _, k := range c.chunks {
		if k.node.firstWord() != "vrrp_instance" || k.vipOf() == "" {
			continue
		}
		in, err := c.readInstance(k)
		if err != nil {
			continue
		}
		for _, a := range in.All() {
			lines = append(lines, fmt.Sprintf("ip address delete %s dev %s 2>/dev/null", a, in.Interface))
		}
	}
	if len(lines) == 0 {
		delete(t, UnitPath)
		delete(t, releasePath)
		return
	}
	kept := ""
	if before != 0 {
		kept = fmt.Sprintf("%s%o\n", modeMark, before)
	}
	slices.Sort(lines)
	script := "# Written by Terraform (virtcluster): what systemd runs when keepalived has ended, however that was.\n" + kept +
		strings.Join(slices.Compact(lines), "\n") + "\n"
	t.Put(UnitPath, []byte(unit), 0o644, "", "")
	t.Put(releasePath, []byte(script), 0o644, "", "")
}
