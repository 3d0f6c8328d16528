package machine_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// TestAccAnySecurityRulesAreReadBack has libvirt keep the filters of whatever rules an interface can have, and reads the same rules.
func TestAccAnySecurityRulesAreReadBack(t *testing.T) {
	acctest.InSandbox(t)
	c, err := hypervisor.New("qemu:///system", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	const node, mac, sets = "anyrules", "52:54:00:77:00:09", 500
	t.Cleanup(func() {
		if err := machine.DropRules(context.Background(), c, node, mac); err != nil {
			t.Error(err)
		}
	})
	for range sets {
		rules := rapid.Custom(machine.DrawRules).Example(int(rapid.Uint32().Example()))
		got, err := machine.KeepRules(t.Context(), c, node, mac, rules)
		if diff := cmp.Diff(rules, got); err != nil || diff != "" {
			t.Fatalf("%v: %+v: read back:\n%s", err, rules, diff)
		}
	}
}
