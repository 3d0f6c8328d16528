package hypervisor

import (
	"reflect"
	"strings"
	"testing"
)

func TestWhatAMachineDoesWithABlockDevice(t *testing.T) {
	const partitioned = `{"blockdevices": [{"name":"/dev/sdb", "type":"disk", "fstype":null, "mountpoint":null, "children": [
		{"name":"/dev/sdb1", "type":"part", "fstype":"ext4", "mountpoint":"/srv"},
		{"name":"/dev/sdb2", "type":"part", "fstype":"swap", "mountpoint":"[SWAP]"},
		{"name":"/dev/sdb3", "type":"part", "fstype":"LVM2_member", "mountpoint":null, "children": [{"name":"/dev/mapper/vg-lv", "type":"lvm", "fstype":"xfs", "mountpoint":"/data"}]}]}]}`
	for name, c := range map[string]struct {
		out  string
		want BlockDevice
		err  string
	}{
		"one that is free":         {`{"blockdevices": [{"name":"/dev/sdc", "type":"disk", "fstype":null, "mountpoint":null}]}`, BlockDevice{Path: "/dev/sdc"}, ""},
		"what a guest left on one": {`{"blockdevices": [{"name":"/dev/sdc", "type":"disk", "fstype":"ext4", "mountpoint":null}]}`, BlockDevice{Path: "/dev/sdc", Holds: "ext4"}, ""},
		"one that is mounted":      {`{"blockdevices": [{"name":"/dev/loop7", "type":"loop", "fstype":"ext4", "mountpoint":"/mnt"}]}`, BlockDevice{Path: "/dev/loop7", Users: []string{"/dev/loop7 is mounted at /mnt"}, Holds: "ext4"}, ""},
		"the parts of one": {partitioned, BlockDevice{Path: "/dev/sdb", Users: []string{
			"/dev/sdb1 is mounted at /srv", "/dev/sdb2 is swap", "/dev/mapper/vg-lv is made of it (lvm)", "/dev/mapper/vg-lv is mounted at /data",
		}}, ""},
		"another form": {`NAME`, BlockDevice{}, "cannot understand lsblk"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseBlockDevices([]byte(c.out))
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || err == nil && !reflect.DeepEqual(got, []BlockDevice{c.want}) {
				t.Errorf("it is %+v, %v", got, err)
			}
		})
	}
}
