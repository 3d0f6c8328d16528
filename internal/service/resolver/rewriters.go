package resolver

import (
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// dhclient is the client of ISC's, by its program's name.
const dhclient = "dhclient"

// hookFile is run by dhclient's script before it does anything (dhclient-script(8)). Its name is one that run-parts(8) takes.
const hookFile = "/etc/dhcp/dhclient-enter-hooks.d/virtcluster-resolver"

// renderHook is the hook that has dhclient's script leave /etc/resolv.conf as it is.
func (r Resolver) renderHook(mark owner.Mark) string {
	return r.formatHead(mark) + "# A lease does not change " + resolvConf + " while this file is here: its name servers are configured.\nmake_resolv_conf() { :; }\n"
}

// rewriters are what writes a plain /etc/resolv.conf anew with each lease.
type rewriters struct {
	// clients are DHCP clients that do so, by their programs' names.
	clients []string
	// takesHook says that dhclient's script runs what is beside hookFile; hook is what that says, "" where there is none.
	takesHook bool
	hook      string
}

// needsHook says whether dhclient would write the file, and a hook keeps it from that.
func (w rewriters) needsHook() bool { return w.takesHook && slices.Contains(w.clients, dhclient) }

// wayOut is what a person can do about each client that nothing of this provider's keeps from writing the file.
var wayOut = map[string]string{
	dhclient: "have its script leave the file alone, by a make_resolv_conf of its enter hooks that does nothing (dhclient-script(8)), or install systemd-resolved",
	"dhcpcd": "write \"nohook resolv.conf\" into /etc/dhcpcd.conf and restart it, or install systemd-resolved",
	"udhcpc": "set RESOLV_CONF=no in /etc/udhcpc/udhcpc.conf, where its script reads that, or install systemd-resolved",
}

// Warn names what writes a plain /etc/resolv.conf beside this provider.
func (kind) Warn(f found, want Resolver) []service.Problem {
	active := want.Backend
	if active == Auto || active == "" {
		active = f.writingBackend()
	}
	if active != File {
		return nil
	}
	var problems []service.Problem
	for _, client := range f.clients {
		if client == dhclient && f.takesHook {
			continue
		}
		problems = append(problems, service.Warningf([]any{"backend"}, "Something else writes /etc/resolv.conf",
			"%s writes it anew with each lease, and the machine asks other name servers then until the next apply: %s", client, wayOut[client]))
	}
	return problems
}
