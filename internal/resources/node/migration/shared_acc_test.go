package migration_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccVolumeThatAGuestOfAnotherHypervisorHas removes a volume and an image that two hypervisors have in one storage, while guests, and what lies upon
// them, are on the one that the state does not name.
func TestAccVolumeThatAGuestOfAnotherHypervisorHas(t *testing.T) {
	acctest.BothCLIs(t)
	stageMigration(t)
	sharePool(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(migrantProvider() + fmt.Sprintf(`
resource "virtcluster_volume" "v" {
  name       = "acc-common.qcow2"
  hypervisor = "one"
  pool       = "migrants"
  size_gib   = 1
}
resource "virtcluster_image" "i" {
  name       = "acc-common-image.qcow2"
  hypervisor = "one"
  pool       = "migrants"
  source     = %q
}
`, os.Getenv("SANDBOX_TINY_IMAGE")))
	acctest.On(t, "hv-2", "sh", "-ec", `virsh -q pool-refresh migrants; mkdir -p /var/lib/libvirt/elsewhere
virsh -q pool-define-as elsewhere dir --target /var/lib/libvirt/elsewhere; virsh -q pool-start elsewhere`)
	t.Cleanup(func() {
		if out, err := acctest.Try(context.WithoutCancel(t.Context()), "hv-2", "sh", "-c",
			`virsh -q undefine acc-stranger 2>/dev/null; virsh -q pool-destroy elsewhere; virsh -q pool-undefine elsewhere; rm -r /var/lib/libvirt/elsewhere`); err != nil {
			t.Errorf("clean up hv-2: %v: %s", err, out)
		}
	})
	const domain = `<domain type='qemu'><name>acc-stranger</name><memory unit='MiB'>64</memory><os><type arch='x86_64' machine='q35'>hvm</type></os>
<devices><disk type='file'><driver name='qemu' type='qcow2'/><source file='%s/%s'/><target dev='vda' bus='virtio'/></disk></devices></domain>`
	for _, name := range []string{"acc-common.qcow2", "acc-common-image.qcow2"} {
		t.Run(name, func(t *testing.T) {
			s := s.For(t)
			there := func() {
				t.Helper()
				if names := acctest.On(t, "hv-1", "ls", "-A", migrants); strings.Count(names, name) != 2 {
					t.Errorf("hv-1 has %s", names)
				}
			}
			acctest.On(t, "hv-2", "sh", "-ec", "echo \"$1\" >/run/stranger.xml; virsh -q define /run/stranger.xml", "sh", fmt.Sprintf(domain, migrants, name))
			s.Refused([]string{"is used by", `the domain "acc-stranger" of hypervisor ` + acctest.HypervisorURI("hv-2")}, "destroy", "-auto-approve", "-target="+addressOf(name))
			there()
			acctest.On(t, "hv-2", "sh", "-ec", `virsh -q undefine acc-stranger; qemu-img create -q -f qcow2 -F qcow2 -b "$1" /var/lib/libvirt/elsewhere/upon.qcow2`, "sh", migrants+"/"+name)
			s.Refused([]string{"its overlay /var/lib/libvirt/elsewhere/upon.qcow2 of hypervisor"}, "destroy", "-auto-approve", "-target="+addressOf(name))
			there()
			acctest.On(t, "hv-2", "rm", "/var/lib/libvirt/elsewhere/upon.qcow2")
		})
	}
	s.Settled()
	s.Run("destroy", "-auto-approve")
	wantNothing(t, "hv-1")
}

// addressOf is that of the resource of a volume's name.
func addressOf(name string) string {
	if strings.Contains(name, "image") {
		return "virtcluster_image.i"
	}
	return "virtcluster_volume.v"
}
