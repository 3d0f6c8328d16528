package storage

import (
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

func TestAPoolWhoseVolumesAreNotListedSaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind   string
		active bool
		want   string
	}{
		"a started directory":        {"dir", true, ""},
		"a started mount":            {"netfs", true, ""},
		"a stopped directory":        {"dir", false, "virsh pool-start it"},
		"a started volume group":     {"logical", true, `type "logical"`},
		"a stopped target of iSCSI":  {"iscsi", false, `type "iscsi"`},
		"a kind that is not managed": {"gluster", true, `type "gluster"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			why := whyUnlisted(&hypervisor.Pool{XML: libvirtxml.StoragePool{Name: "it", Type: c.kind}, Active: c.active})
			if (why == "") != (c.want == "") || !strings.Contains(why, c.want) {
				t.Errorf("it says %q, not %q", why, c.want)
			}
		})
	}
}
