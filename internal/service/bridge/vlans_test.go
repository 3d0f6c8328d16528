package bridge

import (
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// TestOnlyAKernelThatIsKnownToHaveNoVLANsIsRefused runs vlans.sh.
func TestOnlyAKernelThatIsKnownToHaveNoVLANsIsRefused(t *testing.T) {
	t.Parallel()
	const inside = `[ "$2" = true ] || { shift; exec "$@"; }`
	for name, c := range map[string]struct{ unshare, ip, says string }{
		"it has them":                    {inside, `[ "$1" != -details ] || echo '2: probe: <UP> bridge vlan_filtering 1 vlan_protocol 802.1Q'`, ""},
		"it has none":                    {inside, `[ "$1" != -details ] || echo '2: probe: <UP> bridge vlan_filtering 0'`, "none\n"},
		"it has no bridges":              {inside, "exit 2", "none\n"},
		"it has no namespaces of theirs": {"exit 1", "exit 2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end := hosttest.Script{Text: vlanScript, Programs: map[string]string{"unshare": c.unshare, "ip": c.ip}}.Run(t)
			if end.Status != 0 || end.Stdout != c.says {
				t.Errorf("%+v", end)
			}
		})
	}
}
