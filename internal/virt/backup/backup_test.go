package backup

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
)

func TestSplitIDUndoesID(t *testing.T) {
	for _, want := range []Backup{{Name: "nightly", Node: "db-01"}, {Name: "nightly", Node: "db-01", Generation: 12}} {
		t.Run(want.checkpointName(), func(t *testing.T) {
			name, node, generation, err := SplitID(ID(want.Name, want.Node, want.Generation))
			if err != nil || name != want.Name || node != want.Node || generation != want.Generation {
				t.Errorf("%q, %q, %d: %v", name, node, generation, err)
			}
		})
	}
	for _, id := range []string{"", "nightly", "nightly/", "/db", "nightly.0/db", "nightly.01/db", "nightly.x/db", "nightly/db/root", "be fore/db", "nightly./db"} {
		t.Run("no id: "+id, func(t *testing.T) {
			if _, _, _, err := SplitID(id); err == nil {
				t.Errorf("%q is an id", id)
			}
		})
	}
	if id := ID("nightly", "", 1); id != "" {
		t.Errorf("what is of no node that is known has the id %q", id)
	}
}

func TestAVolumeIsOfOneDisk(t *testing.T) {
	for _, moment := range []string{"nightly", "nightly.2"} {
		t.Run(moment, func(t *testing.T) {
			name := nameVolume("db-01", "wal-log", moment)
			if got := splitVolume(name, "db-01", moment); got != "wal-log" {
				t.Errorf("%s is of disk %q", name, got)
			}
			if got := findBase("/srv/"+name, "db-01", "wal-log"); got != moment {
				t.Errorf("%s is of %q", name, got)
			}
		})
	}
	for _, name := range []string{"db-01-root.qcow2", "db-01-root-nightly.2.qcow2", "db-02-root-nightly.qcow2", "db-01--nightly.raw", "db-01-nightly.qcow2", "db-01-root-nightly.qcow2.virtcluster-a-b"} {
		t.Run(name, func(t *testing.T) {
			if got := splitVolume(name, "db-01", "nightly"); got != "" {
				t.Errorf("it is of disk %q", got)
			}
		})
	}
}

// The copy of the root disk of "db-replica" has a name of a copy of "db": of its disk "replica-root", where it has one.
func TestACopyOfANodeOfALongerNameIsOfNoDisk(t *testing.T) {
	disk := splitVolume(nameVolume("db-replica", "root", "nightly"), "db", "nightly")
	node := func(targets ...string) *hypervisor.Domain {
		devices := &libvirtxml.DomainDeviceList{}
		for i, target := range targets {
			devices.Disks = append(devices.Disks, libvirtxml.DomainDisk{
				Device: "disk", Serial: target, Target: &libvirtxml.DomainDiskTarget{Dev: "vd" + string(rune('a'+i)), Bus: "virtio"},
				Source: &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: "/srv/" + target}},
			})
		}
		return &hypervisor.Domain{Name: "db", Config: &libvirtxml.Domain{Name: "db", Devices: devices}}
	}
	pool := Target{Pool: "backups"}
	for name, c := range map[string]struct {
		known Backup
		node  *hypervisor.Domain
		want  bool
	}{
		"the node has no such disk":            {Backup{Target: pool}, node("root", "data"), false},
		"it has":                               {Backup{Target: pool}, node("root", "replica-root"), true},
		"the state has copied it":              {Backup{Target: pool, Volumes: map[string]string{disk: "/srv/x"}}, node("root"), true},
		"the configuration names it":           {Backup{Target: pool, Disks: []string{disk}}, node("root"), true},
		"the node is gone":                     {Backup{Target: pool, Disks: []string{"root"}}, nil, false},
		"the node is gone, and nothing copied": {Backup{Target: pool}, nil, false},
		"imported":                             {Backup{}, node("root"), false},
		"imported while the node is gone":      {Backup{}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&Store{known: c.known}).hasDisk(c.node, disk); got != c.want {
				t.Errorf("%q is a disk of it: %v", disk, got)
			}
		})
	}
}

func TestANodeThatIsGoneIsNamedByItsVolumes(t *testing.T) {
	b := Backup{Name: "nightly", Node: "1f0c9e3a-5d0e-4f6f-9a57-0d4f1b6c2a11", Volumes: map[string]string{"root": "/srv/db-01-root-nightly.qcow2"}}
	if got := b.nodeName(nil); got != "db-01" {
		t.Errorf("it is called %q", got)
	}
	if got := b.nodeName(&hypervisor.Domain{Name: "renamed"}); got != "renamed" {
		t.Errorf("it is called %q", got)
	}
	if got := (Backup{Node: "db-01"}).nodeName(nil); got != "db-01" {
		t.Errorf("it is called %q", got)
	}
}

func TestWhatCannotBeIsRefusedAtItsAttribute(t *testing.T) {
	good := Backup{Name: "nightly", Node: "db", Target: Target{Path: "/srv/backups"}, IncrementalFrom: "weekly", Generation: 3}
	for name, c := range map[string]struct {
		change func(*Backup)
		want   string
	}{
		"good":            {func(*Backup) {}, ""},
		"its name":        {func(b *Backup) { b.Name = "a.b" }, "name"},
		"a long name":     {func(b *Backup) { b.Name = strings.Repeat("a", 41) }, "name"},
		"no directory":    {func(b *Backup) { b.Target.Path = "backups" }, "target path"},
		"all directories": {func(b *Backup) { b.Target.Path = "/srv/.." }, "target path"},
		"from itself":     {func(b *Backup) { b.IncrementalFrom = "nightly.3" }, "incremental_from"},
	} {
		t.Run(name, func(t *testing.T) {
			b := good
			c.change(&b)
			var at []string
			for _, p := range b.Validate() {
				for _, step := range p.Path {
					at = append(at, step.(string))
				}
			}
			if got := strings.Join(at, " "); got != c.want {
				t.Errorf("it is refused at %q, and not at %q", got, c.want)
			}
		})
	}
}

func TestABackupNeedsItsBase(t *testing.T) {
	base := Backup{Name: "weekly", Node: "db", Generation: 2}
	upon := Backup{Name: "nightly", Node: "db", IncrementalFrom: "weekly.2"}
	gives := slices.IndexFunc(base.Uses(), func(u plan.Use) bool { return u.Kind == plan.Checkpoint })
	needs := slices.IndexFunc(upon.Uses(), func(u plan.Use) bool { return u.Kind == plan.BaseCheckpoint })
	if gives < 0 || needs < 0 || base.Uses()[gives].Value != upon.Uses()[needs].Value || base.Uses()[gives].Scope != upon.Uses()[needs].Scope {
		t.Errorf("%+v is not what %+v needs", base.Uses(), upon.Uses())
	}
}

func TestABackupIsWhatWasFound(t *testing.T) {
	volume := func(name, below string) *hypervisor.Volume {
		return &hypervisor.Volume{Pool: "backups", XML: *storageVolume("/srv/"+name, below)}
	}
	s := &Store{known: Backup{Name: "nightly", Node: "db", Disks: []string{"data", "root"}, Quiesce: guest.None, Checkpoint: "nightly", Target: Target{Pool: "backups"}}}
	f := found{node: &hypervisor.Domain{Name: "db"}, pool: "backups", copies: map[string]*hypervisor.Volume{"root": volume("db-root-nightly.qcow2", "/srv/db-root-weekly.2.qcow2")}}
	got := s.describeFound(f)
	if !maps.Equal(got.Volumes, map[string]string{"root": "/srv/db-root-nightly.qcow2"}) || got.IncrementalFrom != "weekly.2" || got.Checkpoint != "" || len(got.Disks) != 2 || got.Quiesce != guest.None {
		t.Errorf("it is %+v", got)
	}
	if len(s.warnings) != 1 || s.warnings[0].Summary != "Checkpoint lost" {
		t.Errorf("of the checkpoint that is gone it says %+v", s.warnings)
	}
	f.checkpoint, f.note = &hypervisor.Checkpoint{Name: "nightly"}, guest.Note{Quiesce: guest.Auto, Frozen: true}
	if got := s.describeFound(f); got.Checkpoint != "nightly" || !got.Frozen || got.Quiesce != guest.Auto {
		t.Errorf("it is %+v", got)
	}
	imported := &Store{known: Backup{Name: "nightly", Node: "db"}}
	f.pool = namePool("/srv")
	if got := imported.describeFound(f); got.Target != (Target{Path: "/srv"}) || !slices.Equal(got.Disks, []string{"root"}) {
		t.Errorf("it is %+v", got)
	}
}

func TestDirectoriesAreShownByPoolsOfTheirOwn(t *testing.T) {
	of := map[string]string{}
	for _, directory := range []string{"/srv/backup/db", "/srv/backup-db", "/srv-backup/db", "/srv-backup-db"} {
		t.Run(directory, func(t *testing.T) {
			name := namePool(directory)
			if other, taken := of[name]; taken {
				t.Errorf("%s and %s are both shown by %q", other, directory, name)
			}
			of[name] = directory
			if name != namePool(directory+"/") || !isShownBy(name, directory) || !isShownBy("virtcluster-backup-srv-backup-db", directory) || isShownBy("virtcluster-backup-srv", directory) {
				t.Errorf("it is shown by %q", name)
			}
		})
	}
	if name := namePool("/srv/backup/db"); name != "virtcluster-backup-srv-backup-db" {
		t.Errorf("without a dash it is shown by %q", name)
	}
}

func TestABackupOfOthersIsNotEnded(t *testing.T) {
	f := found{copies: map[string]*hypervisor.Volume{"root": {XML: *storageVolume("/srv/a", "")}, "data": {XML: *storageVolume("/srv/b", "")}}}
	for name, c := range map[string]struct {
		files []string
		own   bool
	}{"none": {nil, false}, "its own": {[]string{"/srv/a", "/srv/b"}, true}, "one of them": {[]string{"/srv/b"}, true}, "another": {[]string{"/srv/a", "/srv/c"}, false}, "pulled": {[]string{""}, false}} {
		t.Run(name, func(t *testing.T) {
			if got := f.areCopies(c.files); got != c.own {
				t.Errorf("%v are its own: %v", c.files, got)
			}
		})
	}
}

// storageVolume is a volume as libvirt has it, upon another one or on its own.
func storageVolume(file, below string) *libvirtxml.StorageVolume {
	v := &libvirtxml.StorageVolume{Name: path.Base(file), Target: &libvirtxml.StorageVolumeTarget{Path: file}}
	if below != "" {
		v.BackingStore = &libvirtxml.StorageVolumeBackingStore{Path: below}
	}
	return v
}
