package machine

import (
	"fmt"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

func TestTuningLeavesWhatItDoesNotSpeakOf(t *testing.T) {
	d := &libvirtxml.Domain{}
	err := d.Unmarshal(`<domain type='qemu'><name>n</name><devices><disk type='file' device='disk'>
		<driver name='qemu' type='qcow2' cache='unsafe' detect_zeroes='unmap'/><source file='/p/a'/><target dev='vda' bus='virtio'/>
		<iotune><read_iops_sec>10</read_iops_sec><read_iops_sec_max>50</read_iops_sec_max><group_name>g</group_name></iotune></disk></devices></domain>`)
	if err != nil {
		t.Fatal(err)
	}
	x := &d.Devices.Disks[0]
	said := readTuning(x)
	before, _ := d.Marshal()
	for name, tuning := range map[string]DiskTuning{"what it has": said, "nothing": {Limits: said.Limits}} {
		t.Run(name, func(t *testing.T) {
			applyTuning(x, tuning)
			if after, _ := d.Marshal(); after != before {
				t.Errorf("%s changed the disk to\n%s", name, after)
			}
		})
	}
	said.Cache, said.Discard, said.IOThread, said.Limits = "default", "unmap", 3, DiskLimits{}
	applyTuning(x, said)
	after, _ := d.Marshal()
	for text, stays := range map[string]bool{
		"detect_zeroes": true, "<read_iops_sec_max>50<": true, "<group_name>g<": true, `discard="unmap"`: true, `iothread="3"`: true, "cache=": false, "<read_iops_sec>": false,
	} {
		t.Run(text, func(t *testing.T) {
			if strings.Contains(after, text) != stays {
				t.Errorf("having %s is %t:\n%s", text, !stays, after)
			}
		})
	}
	x.IOTune = &libvirtxml.DomainDiskIOTune{ReadIopsSec: 1}
	if applyTuning(x, said); x.IOTune != nil {
		t.Errorf("limits of nothing: %+v", x.IOTune)
	}
}

func TestADomainHasTheThreadsThatItsDisksNeed(t *testing.T) {
	m := machines()["devices"]
	d, err := Render(m)
	if err != nil || d.IOThreads != 2 {
		t.Fatalf("%d threads, %v", d.IOThreads, err)
	}
	d.IOThreads = 5
	if err := Apply(d, Read(d)); err != nil || d.IOThreads != 5 {
		t.Errorf("of somebody's five threads there are %d, %v", d.IOThreads, err)
	}
}

func TestWhatOfADisksTuningNeedsARestart(t *testing.T) {
	was := DiskTuning{Cache: "none", IO: "threads", Discard: "unmap"}
	for name, c := range map[string]struct {
		change  func(*DiskTuning)
		restart string // the attribute
	}{
		"nothing":    {func(*DiskTuning) {}, ""},
		"its limits": {func(t *DiskTuning) { t.Limits.ReadIOPS = 1 }, ""},
		"its cache":  {func(t *DiskTuning) { t.Cache = "writeback" }, "cache"},
		"its thread": {func(t *DiskTuning) { t.IOThread = 1 }, "iothread"},
		"readonly":   {func(t *DiskTuning) { t.ReadOnly = true }, "readonly"},
	} {
		t.Run(name, func(t *testing.T) {
			is := was
			c.change(&is)
			spec := func(tuning DiskTuning) *Spec {
				return &Spec{Root: &RootSpec{DiskTuning: tuning}, Disks: map[string]DiskSpec{"d": {DiskTuning: tuning}}}
			}
			changes, err := Compare(spec(was), spec(is), nil)
			var live, restarts []string
			for _, change := range changes {
				at := fmt.Sprint(change.Path)
				if change.Restart == nil {
					live = append(live, at)
				} else {
					restarts = append(restarts, at)
				}
			}
			want := ""
			if c.restart != "" {
				want = fmt.Sprintf("[root_disk %[1]s] [disks d %[1]s]", c.restart)
			}
			if got := strings.Join(restarts, " "); err != nil || got != want || (len(live) == 2) != (is.Limits != was.Limits) {
				t.Errorf("a restart for %q, want %q; live %v, %v", got, want, live, err)
			}
		})
	}
}

func TestADiskThatIsSharedIsNotUsedAlone(t *testing.T) {
	for name, c := range map[string]struct {
		tuning DiskTuning
		alone  bool
	}{"written to": {DiskTuning{}, true}, "readonly": {DiskTuning{ReadOnly: true}, false}, "shareable": {DiskTuning{Shareable: true}, false}} {
		t.Run(name, func(t *testing.T) {
			s := &Spec{Name: "n", Running: true, Disks: map[string]DiskSpec{"d": {Volume: "/v", DiskTuning: c.tuning}}}
			alone := false
			for _, u := range s.Uses() {
				alone = alone || u.Kind == plan.RunningVolume
			}
			if alone != c.alone {
				t.Errorf("%s: used alone is %t", name, alone)
			}
		})
	}
}
