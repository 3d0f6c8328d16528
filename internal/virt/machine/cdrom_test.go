package machine

import (
	"context"
	"slices"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/drive"
)

// domainWith is a q35 domain with devices.
func domainWith(t *testing.T, devices string) *libvirtxml.Domain {
	t.Helper()
	d := &libvirtxml.Domain{}
	text := "<domain type='qemu'><name>n</name><os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os><devices>" + devices + "</devices></domain>"
	if err := d.Unmarshal(text); err != nil {
		t.Fatal(err)
	}
	return d
}

const (
	// othersDrive is one that a person gave the machine.
	othersDrive = "<disk type='file' device='cdrom'><source file='/others.iso'/><target dev='sda' bus='sata'/></disk>"
	// fullDrive is the drive for media, with a disc in it.
	fullDrive = "<disk type='file' device='cdrom'><source file='/a.iso'/><target dev='sdb' bus='sata'/><alias name='ua-media'/></disk>"
)

func TestAMediumIsAppliedToTheDriveForMediaAlone(t *testing.T) {
	for name, c := range map[string]struct {
		devices string
		medium  *Medium
		target  string // of the drive for media after it; "" for none
		source  string
	}{
		"no drive, nothing said":           {"", nil, "", ""},
		"another's drive, nothing said":    {othersDrive, nil, "", ""},
		"a drive, nothing said":            {fullDrive, nil, "sdb", "/a.iso"},
		"no drive, an empty one":           {"", &Medium{}, "sda", ""},
		"no drive, a disc":                 {"", &Medium{Path: "/b.iso"}, "sda", "/b.iso"},
		"another's drive, a disc":          {othersDrive, &Medium{Path: "/b.iso"}, "sdb", "/b.iso"},
		"a drive, another disc":            {fullDrive, &Medium{Path: "/b.iso"}, "sdb", "/b.iso"},
		"a drive, a disc on a device":      {fullDrive, &Medium{Path: "/dev/vg/b", Block: true}, "sdb", "/dev/vg/b"},
		"a drive, nothing in it":           {fullDrive, &Medium{}, "sdb", ""},
		"a drive beside another's, a disc": {othersDrive + fullDrive, &Medium{Path: "/b.iso"}, "sdb", "/b.iso"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := domainWith(t, c.devices)
			m := Read(d)
			m.Medium = c.medium
			if err := Apply(d, m); err != nil {
				t.Fatal(err)
			}
			x := drive.Find(d)
			if (x != nil) != (c.target != "") {
				t.Fatalf("the drive is %+v", x)
			}
			if x != nil && (x.Target.Dev != c.target || drive.Source(x) != c.source) {
				t.Errorf("%s has %q", x.Target.Dev, drive.Source(x))
			}
			if got := Read(d).Medium; x != nil && (got == nil || got.Path != c.source || c.medium != nil && *got != *c.medium) {
				t.Errorf("read back is %+v", got)
			}
			text, err := d.Marshal()
			if err != nil || strings.Contains(c.devices, "/others.iso") != strings.Contains(text, "/others.iso") {
				t.Errorf("another's drive has changed: %v\n%s", err, text)
			}
		})
	}
}

func TestWhatIsToBeInTheDrive(t *testing.T) {
	url := &CDROM{URL: "https://mirror.example/a.iso"}
	for name, c := range map[string]struct {
		want   *CDROM
		power  string
		marked *CDROM  // nil also of a machine whose configuration said nothing
		inside *Medium // what is in the drive of one that is there
		medium *Medium
	}{
		"nothing said":                             {nil, Managed, nil, nil, nil},
		"nothing said, and others' disc":           {nil, Managed, nil, &Medium{Path: "/o.iso"}, nil},
		"left out now":                             {nil, Managed, url, &Medium{Path: "/a.iso"}, &Medium{}},
		"left out now, and the drive is gone":      {nil, Managed, url, nil, nil},
		"an empty drive":                           {&CDROM{}, Managed, nil, nil, &Medium{}},
		"empty, and others' disc":                  {&CDROM{}, Managed, &CDROM{}, &Medium{Path: "/o.iso"}, &Medium{}},
		"external: empty, and others' disc":        {&CDROM{}, External, &CDROM{}, &Medium{Path: "/o.iso"}, nil},
		"external: another disc than before":       {&CDROM{}, External, url, &Medium{Path: "/o.iso"}, &Medium{}},
		"external: the same URL, and others' disc": {url, External, url, &Medium{Path: "/o.iso"}, nil},
		"external: left out now":                   {nil, External, url, &Medium{Path: "/o.iso"}, &Medium{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &resolver{spec: &Spec{CDROM: c.want, Settings: Settings{Power: c.power}}, existing: &Machine{Medium: c.inside, Mark: Mark{CDROM: c.marked}}}
			b := &blueprint{machine: &Machine{}}
			if err := r.addMedium(context.Background(), b); err != nil {
				t.Fatal(err)
			}
			if !samePointed(b.machine.Medium, c.medium) {
				t.Errorf("in the drive is to be %+v", b.machine.Medium)
			}
		})
	}
}

func TestADriveIsPluggedIntoWhatRunsWithADiscInIt(t *testing.T) {
	const port = "<controller type='pci' index='0' model='pcie-root'/><controller type='pci' index='1' model='pcie-root-port'/>"
	for name, c := range map[string]struct {
		live, config string
		want         CDROM
		fails        string // why it takes a restart; "" where it does not
	}{
		"a free port":                     {port, port, CDROM{Image: "/a.iso"}, ""},
		"no free port":                    {"<controller type='pci' index='0' model='pcie-root'/>", port, CDROM{Image: "/a.iso"}, "no free PCI Express port"},
		"nothing to be in it":             {port, port, CDROM{}, "nothing in it"},
		"a drive from the next start on":  {port, port + fullDrive, CDROM{Image: "/b.iso"}, "from its next start on"},
		"a drive that is there":           {fullDrive, fullDrive, CDROM{Image: "/b.iso"}, ""},
		"a drive that is there, emptied":  {fullDrive, fullDrive, CDROM{}, ""},
		"a drive that another gave it":    {port + othersDrive, port + othersDrive, CDROM{URL: "http://m/a.iso"}, ""},
		"SCSI is there, and no free port": {"<controller type='pci' index='0' model='pcie-root'/><controller type='scsi' index='0' model='virtio-scsi'/>", port, CDROM{Image: "/a.iso"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes, err := Compare(&Spec{}, &Spec{CDROM: &c.want}, &Running{Machine: Read(domainWith(t, c.config)), Live: domainWith(t, c.live)})
			if err != nil || len(changes) == 0 {
				t.Fatal(changes, err)
			}
			refused := NeedRestart(changes)
			if c.fails == "" && len(refused) > 0 || c.fails != "" && (len(refused) != 1 || !strings.Contains(refused[0].Restart.Error(), c.fails)) {
				t.Errorf("refused are %v", refused)
			}
		})
	}
}

func TestTheMarkKnowsTheDisc(t *testing.T) {
	d := domainWith(t, "")
	m := Read(d)
	c := &CDROM{URL: "https://mirror.example/a.iso?token=a&b=<c>"}
	m.Mark = Mark{Owner: "o", CDROM: c, Disks: []MarkedDisk{{Key: c.copyKey(), Pool: "default", Volume: "n" + c.copySuffix()}}}
	if err := Apply(d, m); err != nil {
		t.Fatal(err)
	}
	got := Read(d).Mark
	if !samePointed(got.CDROM, c) || got.Disk(c.copyKey()).Volume != "n"+c.copySuffix() {
		t.Errorf("read back are %+v and %+v", got.CDROM, got.Disks)
	}
	if other := (&CDROM{URL: "https://mirror.example/b.iso"}); other.copyKey() == c.copyKey() || CheckKey(c.copyKey()) == nil || (&CDROM{Image: "/a"}).copyKey() != "" {
		t.Errorf("keys are %q and %q", c.copyKey(), other.copyKey())
	}
	s := &Spec{Name: "n", CDROM: c, Root: &RootSpec{Pool: "p"}}
	if names := s.VolumeNames(); len(names) != 2 || !strings.HasSuffix(names[1].Name, ".iso") || names[1].Pool != "p" {
		t.Errorf("its volumes are %v", names)
	}
}

func TestTwoDiscsInOneDriveAreRefused(t *testing.T) {
	s := &Spec{CDROM: &CDROM{Image: "/a.iso", URL: "https://mirror.example/a.iso"}}
	problems := s.Validate()
	if len(problems) != 1 || problems[0].Summary != "Two discs in one drive" {
		t.Errorf("%+v", problems)
	}
}

// TestTheStickOfAControllerIsNoDisk has it in a machine that the provider made, in one that somebody else made, and before a new disk.
func TestTheStickOfAControllerIsNoDisk(t *testing.T) {
	const (
		stick = "<disk type='file' device='disk'><source file='/bmc-n-a.img'/><target dev='sda' bus='usb' removable='on'/><readonly/><alias name='ua-stick'/></disk>"
		other = "<disk type='file' device='disk'><source file='/other.img'/><target dev='sdb' bus='usb'/></disk>"
		xhci  = "<controller type='usb' model='qemu-xhci'/>"
	)
	for name, c := range map[string]struct {
		devices string
		keys    []string
	}{
		"alone":                 {stick, nil},
		"before another's disk": {stick + other, []string{Root}},
		"behind another's disk": {other + stick, []string{Root}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := domainWith(t, xhci+c.devices)
			m := Read(d)
			var keys []string
			for _, disk := range m.Disks {
				keys = append(keys, disk.Key)
			}
			if !slices.Equal(keys, c.keys) {
				t.Fatalf("the disks are %v", keys)
			}
			before := xmlOf(t, &libvirtxml.Domain{Devices: &libvirtxml.DomainDeviceList{Disks: []libvirtxml.DomainDisk{*drive.FindStick(d)}}})
			m.Disks = append(m.Disks, Disk{Key: "new", Path: "/new.qcow2", Format: "qcow2", Bus: "usb"})
			if err := Apply(d, m); err != nil {
				t.Fatal(err)
			}
			found := drive.FindStick(d)
			if found == nil || xmlOf(t, &libvirtxml.Domain{Devices: &libvirtxml.DomainDeviceList{Disks: []libvirtxml.DomainDisk{*found}}}) != before {
				t.Errorf("the stick was\n%s\nand is %+v", before, found)
			}
			if fresh := DiskAt(d, "/new.qcow2"); fresh == nil || fresh.Target.Dev == "sda" {
				t.Errorf("the new disk is %+v", fresh)
			}
		})
	}
}
