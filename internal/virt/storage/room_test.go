package storage

import (
	"fmt"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

func TestAVolumeLargerThanItsPoolIsWarnedOf(t *testing.T) {
	pool := &hypervisor.Pool{Active: true, XML: libvirtxml.StoragePool{Capacity: &libvirtxml.StoragePoolSize{Value: 100 * gib}}}
	for size, warned := range map[int64]bool{0: false, 100: false, 102: true, MaxSizeGiB: true} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			if problems := WarnIfLargerThanPool(pool, []any{"size_gib"}, size); (len(problems) == 1 && problems[0].Warning) != warned {
				t.Errorf("%d GiB: %v", size, problems)
			}
		})
	}
	pool.Active = false // libvirt has what it saw last
	if problems := WarnIfLargerThanPool(pool, []any{"size_gib"}, MaxSizeGiB); len(problems) > 0 {
		t.Errorf("of a stopped pool: %v", problems)
	}
}
