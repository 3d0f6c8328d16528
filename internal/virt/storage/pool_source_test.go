package storage

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// sourced are pools of each kind but a directory, with what libvirt is told of them (https://libvirt.org/storage.html).
var sourced = map[string]struct {
	pool Pool
	xml  string
}{
	NetFS: {
		Pool{Type: NetFS, Name: "p", Path: "/mnt/p/", Source: &PoolSource{Hosts: []string{"10.0.0.5"}, Path: "/srv/images", Format: "nfs"}},
		`<pool type="netfs"><name>p</name><target><path>/mnt/p</path></target><source><dir path="/srv/images"></dir><host name="10.0.0.5"></host><format type="nfs"></format></source></pool>`,
	},
	Logical: {
		Pool{Type: Logical, Name: "p", Path: "/dev/vg0", Source: &PoolSource{Name: "vg0"}},
		`<pool type="logical"><name>p</name><target><path>/dev/vg0</path></target><source><name>vg0</name><format type="lvm2"></format></source></pool>`,
	},
	ISCSI: {
		Pool{Type: ISCSI, Name: "p", Path: "/dev/disk/by-path", Source: &PoolSource{Hosts: []string{"san.example:3261"}, Target: "iqn.2013-06.com.example:a", Username: "u", Secret: "2ec115d7-3a88-3ceb-bc12-0ac909a6fd87"}},
		`<pool type="iscsi"><name>p</name><target><path>/dev/disk/by-path</path></target><source><host name="san.example" port="3261"></host><device path="iqn.2013-06.com.example:a"></device>` +
			`<auth type="chap" username="u"><secret uuid="2ec115d7-3a88-3ceb-bc12-0ac909a6fd87"></secret></auth></source></pool>`,
	},
	RBD: {
		Pool{Type: RBD, Name: "p", Source: &PoolSource{Hosts: []string{"10.0.0.6", "[fd00::6]:6789"}, Name: "rbd", Username: "u", Secret: "2ec115d7-3a88-3ceb-bc12-0ac909a6fd87"}},
		`<pool type="rbd"><name>p</name><source><name>rbd</name><host name="10.0.0.6"></host><host name="fd00::6" port="6789"></host>` +
			`<auth type="ceph" username="u"><secret uuid="2ec115d7-3a88-3ceb-bc12-0ac909a6fd87"></secret></auth></source></pool>`,
	},
	ZFS: {
		Pool{Type: ZFS, Name: "p", Path: "/dev/zvol/tank/vm", Source: &PoolSource{Name: "tank/vm"}},
		`<pool type="zfs"><name>p</name><target><path>/dev/zvol/tank/vm</path></target><source><name>tank/vm</name></source></pool>`,
	},
}

func TestLibvirtIsToldWhatAPoolIsMadeFrom(t *testing.T) {
	t.Parallel()
	for kind, c := range sourced {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if problems := c.pool.Validate(); len(problems) > 0 {
				t.Errorf("it is refused: %v", problems)
			}
			text, err := c.pool.newDefinition().Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), ""); strings.ReplaceAll(got, "  ", "") != c.xml {
				t.Errorf("it is told\n%s\nand not\n%s", strings.ReplaceAll(got, "  ", ""), c.xml)
			}
			var is libvirtxml.StoragePool
			if err := is.Unmarshal(text); err != nil {
				t.Fatal(err)
			}
			if got := readSource(&is); !reflect.DeepEqual(got, c.pool.Source) {
				t.Errorf("it is read as %+v", got)
			}
			if path := c.pool.DefaultPath(); path != "" && !SamePath(path, c.pool.Path) {
				t.Errorf("without a path it is in %s", path)
			}
			for other, o := range sourced {
				if isMadeFrom(c.pool, o.pool) != (kind == other) || excludeEachOther(c.pool, o.pool) != (kind == other) {
					t.Errorf("it is made from the source of a %s pool: %v", other, kind != other)
				}
			}
		})
	}
}

func TestWhatLibvirtFillsInIsNoSource(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ xml, want string }{
		"a directory":                   {`<pool type="dir"><name>p</name><source><vendor name="virtcluster x"/></source></pool>`, "<nil>"},
		"a group that is not named":     {`<pool type="logical"><name>vg1</name><source><device path="/dev/sdb"/></source></pool>`, "&{[]   vg1     }"},
		"the port of a target":          {`<pool type="iscsi"><name>p</name><source><host name="h" port="3260"/><device path="iqn.a:b"/></source></pool>`, "&{[h]   iqn.a:b    }"},
		"another port of a target":      {`<pool type="iscsi"><name>p</name><source><host name="h" port="3261"/><device path="iqn.a:b"/></source></pool>`, "&{[h:3261]   iqn.a:b    }"},
		"a format that libvirt guesses": {`<pool type="netfs"><name>p</name><source><host name="h"/><dir path="/d"/><format type="auto"/></source></pool>`, "&{[h] /d      }"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var is libvirtxml.StoragePool
			if err := is.Unmarshal(c.xml); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(strings.Fields(fmt.Sprint(readSource(&is))), " "); got != strings.Join(strings.Fields(c.want), " ") {
				t.Errorf("its source is %s", got)
			}
		})
	}
}

func TestASourceThatIsNoneOfThePoolsKindIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pool Pool
		want string
	}{
		"a directory from a host":    {Pool{Type: PoolType, Path: "/p", Source: &PoolSource{Hosts: []string{"h"}}}, "[source hosts]: Not for this type of pool"},
		"no volume group":            {Pool{Type: Logical}, "[source]: Source of a pool is not said"},
		"a volume group elsewhere":   {Pool{Type: Logical, Path: "/dev/vg1", Source: &PoolSource{Name: "vg0"}}, "[path]: Another path than libvirt's"},
		"a path of Ceph's":           {Pool{Type: RBD, Path: "/p", Source: &PoolSource{Hosts: []string{"h"}, Name: "rbd"}}, "[path]: Not for this type of pool"},
		"two hosts of an export":     {Pool{Type: NetFS, Path: "/p", Source: &PoolSource{Hosts: []string{"a", "b"}, Path: "/d"}}, "[source hosts]: Several hosts"},
		"a target's usual port":      {Pool{Type: ISCSI, Source: &PoolSource{Hosts: []string{"h:3260"}, Target: "iqn.a:b"}}, "[source hosts]: The usual port"},
		"a user without a secret":    {Pool{Type: RBD, Source: &PoolSource{Hosts: []string{"h"}, Name: "rbd", Username: "u"}}, "[source username]: User without a secret, or a secret without a user"},
		"brackets without a port":    {Pool{Type: ISCSI, Source: &PoolSource{Hosts: []string{"[fd00::6]"}, Target: "iqn.a:b"}}, "[source hosts 0]: Invalid host"},
		"an empty port":              {Pool{Type: ISCSI, Source: &PoolSource{Hosts: []string{"san:"}, Target: "iqn.a:b"}}, "[source hosts 0]: Invalid host"},
		"a port that is no number":   {Pool{Type: ISCSI, Source: &PoolSource{Hosts: []string{"san:abc"}, Target: "iqn.a:b"}}, "[source hosts 0]: Invalid host"},
		"a port beyond the last":     {Pool{Type: RBD, Source: &PoolSource{Hosts: []string{"h", "h:65536"}, Name: "rbd"}}, "[source hosts 1]: Invalid host"},
		"a port with zeros":          {Pool{Type: ISCSI, Source: &PoolSource{Hosts: []string{"san:03261"}, Target: "iqn.a:b"}}, "[source hosts 0]: Invalid host"},
		"a name in brackets":         {Pool{Type: ISCSI, Source: &PoolSource{Hosts: []string{"[san]:3261"}, Target: "iqn.a:b"}}, "[source hosts 0]: Invalid host"},
		"a port without a host":      {Pool{Type: ISCSI, Source: &PoolSource{Hosts: []string{":3261"}, Target: "iqn.a:b"}}, "[source hosts 0]: Invalid host"},
		"an export without its path": {Pool{Type: NetFS, Path: "/p", Source: &PoolSource{Hosts: []string{"a"}}}, "[source]: Source of a pool is not said"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said []string
			for _, p := range c.pool.Validate() {
				said = append(said, fmt.Sprintf("%v: %s", p.Path, p.Summary))
			}
			if fmt.Sprint(said) != "["+c.want+"]" {
				t.Errorf("it says %v", said)
			}
		})
	}
}

func TestHostsOfASourceInOtherSpellings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b []string
		same bool
	}{
		"an address":      {[]string{"fd00:0::6"}, []string{"fd00::6"}, true},
		"letters":         {[]string{"San.Example:3261"}, []string{"san.example:3261"}, true},
		"an order":        {[]string{"10.0.0.6", "10.0.0.7:6789"}, []string{"10.0.0.7:6789", "10.0.0.6"}, true},
		"another port":    {[]string{"san:3261"}, []string{"san:3262"}, false},
		"one host more":   {[]string{"10.0.0.6"}, []string{"10.0.0.6", "10.0.0.7"}, false},
		"another address": {[]string{"[fd00::6]:3261"}, []string{"[fd00::7]:3261"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := func(hosts []string) Pool {
				return Pool{Type: RBD, Source: &PoolSource{Hosts: hosts, Name: "rbd"}}
			}
			if got := isMadeFrom(pool(c.a), pool(c.b)); got != c.same {
				t.Errorf("they are one source: %t", got)
			}
		})
	}
}

func TestAnotherExportInTheSameDirectoryIsAnotherPool(t *testing.T) {
	t.Parallel()
	pool := func(host, path string) Pool {
		return Pool{Type: NetFS, Path: "/mnt/p", Source: &PoolSource{Hosts: []string{host}, Path: path, Format: "nfs"}}
	}
	for name, other := range map[string]Pool{"another directory": pool("10.0.0.5", "/srv/b"), "another host": pool("10.0.0.6", "/srv/a"), "no export": {Type: PoolType, Path: "/mnt/p"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if one := pool("10.0.0.5", "/srv/a"); isMadeFrom(one, other) || !excludeEachOther(one, other) {
				t.Errorf("made from one thing: %t, exclude each other: %t", isMadeFrom(one, other), excludeEachOther(one, other))
			}
		})
	}
}

func TestWhatIsMountedAtADirectory(t *testing.T) {
	t.Parallel()
	const mounts = "proc /proc proc rw 0 0\n10.0.0.5:/srv/a\\040b /mnt/a\\040b nfs4 rw 0 0\n"
	for dir, want := range map[string]string{"/mnt/a b/": "10.0.0.5:/srv/a b", "/mnt": "", "/proc": "proc"} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			if got := findMount(mounts, dir); got != want {
				t.Errorf("it is %q, not %q", got, want)
			}
		})
	}
}

func TestAPoolMayTakeWhatItsOwnPoolMounts(t *testing.T) {
	t.Parallel()
	claim := new(owner.Run).New()
	pool := func(active bool, kind string, mark owner.Mark) *hypervisor.Pool {
		p := &hypervisor.Pool{Active: active}
		p.XML = libvirtxml.StoragePool{Type: kind, Target: &libvirtxml.StoragePoolTarget{Path: "/mnt/a"}}
		notePool(&p.XML, mark, adopted)
		p.Config = p.XML
		return p
	}
	for name, c := range map[string]struct {
		pool *hypervisor.Pool
		path string
		may  bool
	}{
		"its own":             {pool(true, NetFS, claim.Mark()), "/mnt/a", true},
		"in another spelling": {pool(true, NetFS, claim.Mark()), "/mnt//a/", true},
		"another directory":   {pool(true, NetFS, claim.Mark()), "/mnt/b", false},
		"stopped":             {pool(false, NetFS, claim.Mark()), "/mnt/a", false},
		"another state's":     {pool(true, NetFS, owner.Mark{ID: "abc", Workspace: "0123"}), "/mnt/a", false},
		"a person's":          {pool(true, NetFS, owner.Mark{}), "/mnt/a", false},
		"in what is mounted":  {pool(true, PoolType, claim.Mark()), "/mnt/a", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := mayTakeMount([]*hypervisor.Pool{c.pool}, c.path, claim); got != c.may {
				t.Errorf("it may: %t", got)
			}
		})
	}
}

func TestADiskIsInThePoolThatItsDeviceIsOf(t *testing.T) {
	t.Parallel()
	pool := func(kind string) *hypervisor.Pool {
		definition := *sourced[kind].pool.newDefinition()
		return &hypervisor.Pool{XML: definition, Config: definition}
	}
	disk := func(kindAndSource string) *libvirtxml.Domain {
		d := &libvirtxml.Domain{}
		kind, source, _ := strings.Cut(kindAndSource, " ")
		if err := d.Unmarshal("<domain type='qemu'><devices><disk type='" + kind + "' device='disk'>" + source + "<target dev='vda'/></disk></devices></domain>"); err != nil {
			t.Fatal(err)
		}
		return d
	}
	for name, c := range map[string]struct {
		disk, kind string
		is         bool
	}{
		"a logical volume":             {"block <source dev='/dev/vg0/a'/>", Logical, true},
		"one of another group":         {"block <source dev='/dev/vg01/a'/>", Logical, false},
		"a unit of a target":           {"block <source dev='/dev/disk/by-path/ip-10.0.0.5:3260-iscsi-iqn.2013-06.com.example:a-lun-1'/>", ISCSI, true},
		"one of another target":        {"block <source dev='/dev/disk/by-path/ip-10.0.0.5:3260-iscsi-iqn.2013-06.com.example:ab-lun-1'/>", ISCSI, false},
		"an image of Ceph's":           {"network <source protocol='rbd' name='rbd/a'><host name='10.0.0.6'/></source>", RBD, true},
		"one of another pool of its":   {"network <source protocol='rbd' name='rbd2/a'><host name='10.0.0.6'/></source>", RBD, false},
		"a file of another machine's":  {"file <source file='/mnt/p/a'/>", NetFS, true},
		"a volume by the pool's name":  {"volume <source pool='p' volume='a'/>", ZFS, true},
		"a device beside the pool's":   {"block <source dev='/dev/zvol/tank/vms/a'/>", ZFS, false},
		"something over a network too": {"network <source protocol='nbd' name='rbd/a'><host name='10.0.0.6'/></source>", RBD, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := hasDiskIn(disk(c.disk), pool(c.kind)); got != c.is {
				t.Errorf("it is in the pool: %t", got)
			}
		})
	}
}

func TestTargetsOfISCSIShareADirectory(t *testing.T) {
	t.Parallel()
	for kind, uses := range map[string]int{PoolType: 2, NetFS: 2, Logical: 2, ISCSI: 1, RBD: 1, ZFS: 2} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := sourced[kind].pool
			if kind == PoolType {
				p = Pool{Name: "p", Type: PoolType, Path: "/p"}
			}
			if got := p.Uses(); len(got) != uses {
				t.Errorf("it uses %v", got)
			}
		})
	}
}

func TestInWhichPoolsAMachineHasDisksOfItsOwn(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]bool{PoolType: true, NetFS: true, "fs": true, Logical: true, ZFS: true, ISCSI: false, RBD: false, "mpath": false} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if got := MakesDisks(kind); got != want {
				t.Errorf("it has: %t", got)
			}
		})
	}
}
