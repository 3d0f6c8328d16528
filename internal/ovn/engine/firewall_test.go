package engine

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

func TestWhatMachinesAreToLetThrough(t *testing.T) {
	t.Parallel()
	e := three()
	if got := e.listChassisRules("kvm1"); !slices.Equal(got, []string{"udp 6081 172.16.0.12"}) {
		t.Errorf("a chassis: %q", got)
	}
	if got := lab().listCentralRules(lab().Address); !slices.Equal(got, []string{"tcp 6642 any"}) {
		t.Errorf("a lone database: %q", got)
	}
	got := e.listCentralRules(netip.MustParseAddr("10.0.0.12"))
	if len(got) != 9 || !slices.Contains(got, "tcp 6643 10.0.0.11") || !slices.Contains(got, "tcp 16642 10.0.0.13") || strings.Contains(strings.Join(got, "\n"), "10.0.0.12") {
		t.Errorf("one of three: %q", got)
	}
}

// firewalldSays is a firewalld with these zones, which has 172.16.0.11 on a device of the zone trusted.
func firewalldSays(zones string) map[string]string {
	return map[string]string{
		"ip":           "echo '3: br-phy    inet 172.16.0.11/24 scope global br-phy'",
		"ufw":          "exit 1",
		"firewall-cmd": `case $* in *--list-all-zones*) cat <<'Z'` + "\n" + zones + "\nZ\n" + `;; *--get-zone-of-interface=br-phy*) echo internal ;; *--get-default-zone*) echo public ;; esac`,
	}
}

const ownRule = `rule priority="-6081" family="ipv4" source address="172.16.0.12" port port="6081" protocol="udp" accept`

func TestFirewalldIsToldByMarkedRules(t *testing.T) {
	t.Parallel()
	// A person's rule, one of the other role, and one of ours that is not wanted any more.
	const zones = `internal (active)
  ports: 6081/udp
  rich rules:
	rule family="ipv4" source address="172.16.0.13" port port="6081" protocol="udp" accept
	rule priority="-6642" port port="6642" protocol="tcp" accept
public
  rich rules:
	rule priority="-6081" family="ipv4" source address="172.16.0.99" port port="6081" protocol="udp" accept`
	args := []string{"put", "chassis", "172.16.0.11", "udp 6081 172.16.0.12"}
	end := hosttest.Script{Text: firewallScript, Args: args, Programs: firewalldSays(zones)}.Run(t)
	changes := slices.DeleteFunc(slices.Clone(end.Calls), func(call string) bool { return !strings.Contains(call, "-rich-rule") })
	want := []string{
		`firewall-cmd --zone=public --remove-rich-rule=rule priority="-6081" family="ipv4" source address="172.16.0.99" port port="6081" protocol="udp" accept`,
		"firewall-cmd --zone=internal --add-rich-rule=" + ownRule,
		`firewall-cmd --permanent --zone=public --remove-rich-rule=rule priority="-6081" family="ipv4" source address="172.16.0.99" port port="6081" protocol="udp" accept`,
		"firewall-cmd --permanent --zone=internal --add-rich-rule=" + ownRule,
	}
	if end.Status != 0 || !slices.Equal(changes, want) {
		t.Errorf("status %d: %s, changed %q", end.Status, end.Stderr, changes)
	}
	end = hosttest.Script{Text: firewallScript, Args: args, Programs: firewalldSays("internal (active)\n  rich rules:\n\t" + ownRule)}.Run(t)
	if strings.Contains(strings.Join(end.Calls, "\n"), "-rich-rule") {
		t.Errorf("what is there is changed: %q", end.Calls)
	}
	args[0] = "shut"
	if end = (hosttest.Script{Text: firewallScript, Args: args, Programs: firewalldSays(zones)}).Run(t); end.Stdout != "firewalld "+ownRule+"\n" {
		t.Errorf("it lacks %q", end.Stdout)
	}
}

func TestUfwIsToldByCommentedRules(t *testing.T) {
	t.Parallel()
	says := func(status string) map[string]string {
		return map[string]string{"firewall-cmd": "exit 252", "firewall-offline-cmd": "", "ufw": `case $* in status) echo "Status: ` + status + `" ;; "show added") cat <<'R'
Added user rules (see 'ufw status' for running firewall):
ufw allow 22/tcp
ufw allow from 172.16.0.13 to any port 6081 proto udp
ufw allow from 172.16.0.99 to any port 6081 proto udp comment 'virtcluster-ovn-chassis'
ufw allow 6642/tcp comment 'virtcluster-ovn-central'
R
;; esac`}
	}
	args := []string{"put", "chassis", "172.16.0.11", "udp 6081 172.16.0.12", "udp 6081 172.16.0.13"}
	for status, want := range map[string][]string{
		"active": {
			"ufw --force delete allow from 172.16.0.99 to any port 6081 proto udp",
			"ufw allow from 172.16.0.12 to any port 6081 proto udp comment virtcluster-ovn-chassis",
		},
		"inactive": {"ufw --force delete allow from 172.16.0.99 to any port 6081 proto udp"},
	} {
		t.Run(status, func(t *testing.T) {
			end := hosttest.Script{Text: firewallScript, Args: args, Programs: says(status)}.Run(t)
			changes := slices.DeleteFunc(slices.Clone(end.Calls), func(call string) bool { return !strings.Contains(call, " allow ") })
			if end.Status != 0 || !slices.Equal(changes, want) {
				t.Errorf("status %d: %s, changed %q", end.Status, end.Stderr, changes)
			}
		})
	}
	args[0] = "shut"
	if end := (hosttest.Script{Text: firewallScript, Args: args, Programs: says("active")}).Run(t); end.Stdout != "ufw allow from 172.16.0.12 to any port 6081 proto udp\n" {
		t.Errorf("it lacks %q", end.Stdout)
	}
}

func TestAMachineWithoutAFirewallIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"put", "shut"} {
		t.Run(what, func(t *testing.T) {
			end := hosttest.Script{Text: firewallScript, Args: []string{what, "chassis", "172.16.0.11", "udp 6081 172.16.0.12"}, Programs: map[string]string{"firewall-cmd": "exit 252", "firewall-offline-cmd": "", "ufw": "echo 'Status: inactive'"}}.Run(t)
			if end.Status != 0 || end.Stdout != "" || strings.Contains(strings.Join(end.Calls, "\n"), "add") && strings.Contains(strings.Join(end.Calls, "\n"), "rich") {
				t.Errorf("status %d: %s, %q, called %q", end.Status, end.Stderr, end.Stdout, end.Calls)
			}
		})
	}
}
