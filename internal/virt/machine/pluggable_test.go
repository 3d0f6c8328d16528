package machine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"
)

func TestWhatOfTheHypervisorARunningMachineFollows(t *testing.T) {
	// One port is free, and there is no USB.
	const text = `<domain type='qemu'><name>n</name>MEMORY<devices>
		<controller type='pci' index='0' model='pcie-root'/><controller type='pci' index='1' model='pcie-root-port'/><controller type='pci' index='2' model='pcie-root-port'/>
		<rng model='virtio'><backend model='random'>/dev/urandom</backend><address type='pci' bus='0x01' slot='0x00'/></rng>
	</devices></domain>`
	const shared = `<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>`
	a, b := Filesystem{Source: "/a", Target: "a", Driver: virtiofs}, Filesystem{Source: "/b", Target: "b", Driver: virtiofs}
	served := Filesystem{Source: "/a", Target: "a", Driver: "9p"}
	card, stick := HostDevice{PCI: "0000:03:00.0"}, HostDevice{USB: "046d:c52b"}
	spec := func(rng bool, shares []Filesystem, devices ...HostDevice) *Spec {
		return &Spec{Hardware: Hardware{RNG: rng, Filesystems: shares, HostDevices: devices}}
	}
	bare := spec(true, nil)
	for name, c := range map[string]struct {
		memory    string
		was, want *Spec
		changes   int
		refused   string // the first path, and a word of the reason
	}{
		"a share":                             {shared, bare, spec(true, []Filesystem{a}), 1, ""},
		"two shares":                          {shared, bare, spec(true, []Filesystem{a, b}), 2, "[filesystems 1] port"},
		"a share of memory that is its own":   {"", bare, spec(true, []Filesystem{a}), 1, "[filesystems 0] memory"},
		"a share that QEMU serves":            {shared, bare, spec(true, []Filesystem{served}), 1, "[filesystems 0] 9p"},
		"a share that goes":                   {shared, spec(true, []Filesystem{a, b}), spec(true, []Filesystem{b}), 1, ""},
		"a share that QEMU served":            {shared, spec(true, []Filesystem{served}), bare, 1, "[filesystems] 9p"},
		"another order":                       {shared, spec(true, []Filesystem{a, b}), spec(true, []Filesystem{b, a}), 0, ""},
		"a device":                            {"", bare, spec(true, nil, card), 1, ""},
		"a device and a share":                {shared, bare, spec(true, []Filesystem{a}, card), 2, "[host_devices 0] port"},
		"a USB device of a machine without":   {"", bare, spec(true, nil, stick), 1, "[host_devices 0] USB"},
		"a device that goes":                  {"", spec(true, nil, card), bare, 1, ""},
		"no random numbers":                   {"", bare, spec(false, nil), 1, ""},
		"a device in the room of a share":     {shared, spec(false, []Filesystem{a}), spec(true, nil, card), 3, "[rng] port"},
		"another share at its target":         {shared, spec(false, []Filesystem{a}), spec(true, []Filesystem{{Source: "/b", Target: "a", Driver: virtiofs}}), 3, ""},
		"a random number generator and share": {shared, spec(false, nil), spec(true, []Filesystem{a}), 2, "[rng] port"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &libvirtxml.Domain{}
			if err := d.Unmarshal(strings.Replace(text, "MEMORY", c.memory, 1)); err != nil {
				t.Fatal(err)
			}
			got, err := Compare(c.was, c.want, &Running{Machine: Read(d), Live: d})
			if err != nil || len(got) != c.changes {
				t.Fatalf("the changes are %v, want %d of them: %v", got, c.changes, err)
			}
			refused := ""
			if restarts := NeedRestart(got); len(restarts) > 0 {
				refused = fmt.Sprint(restarts[0].Path, restarts[0].Restart)
			}
			path, word, _ := strings.Cut(c.refused, "] ")
			if !strings.HasPrefix(refused, path) || !strings.Contains(refused, word) || (refused == "") != (c.refused == "") {
				t.Errorf("refused is %q, want %q", refused, c.refused)
			}
			if same := c.want.SameDevices(c.was); same && c.changes > 0 {
				t.Error("what runs would not be asked about")
			}
		})
	}
}

// Somebody may have given a machine several random number generators, and what runs may have them elsewhere than the configuration says.
func TestAllRandomNumberGeneratorsAreOne(t *testing.T) {
	t.Parallel()
	d := &libvirtxml.Domain{}
	if err := d.Unmarshal(`<domain type='qemu'><name>n</name><devices>
		<rng model='virtio'><backend model='random'>/dev/urandom</backend><alias name='rng0'/><address type='pci' bus='0x01' slot='0x00'/></rng>
		<rng model='virtio'><backend model='random'>/dev/hwrng</backend><alias name='rng1'/><address type='pci' bus='0x02' slot='0x00'/></rng>
	</devices></domain>`); err != nil {
		t.Fatal(err)
	}
	m := Read(d)
	if all := randomDevices.list(&m.Hardware); len(all) != 1 {
		t.Errorf("they are %d", len(all))
	}
	found := randomDevices.findDevices(d, randomDevice{})
	if len(found) != 2 || found[0].(*libvirtxml.DomainRNG).Address != nil || found[1].(*libvirtxml.DomainRNG).Backend.Random.Device != "/dev/hwrng" {
		t.Errorf("%+v", found)
	}
	if d.Devices.RNGs[0].Address == nil {
		t.Error("the domain itself has forgotten where one is")
	}
	if applyOthers(d, m, &Machine{}); len(d.Devices.RNGs) > 0 {
		t.Errorf("%+v are left", d.Devices.RNGs)
	}
}

func TestADeviceThatTheGuestHoldsStaysUntilItHasStopped(t *testing.T) {
	u := &update{want: &Spec{}, restart: true}
	u.want.AllowRestart = true
	asked := func(*libvirtxml.Domain) bool { t.Error("it is looked for before"); return false }
	if err := u.detachForGood(t.Context(), nil, asked); err != nil || len(u.held) != 1 {
		t.Errorf("%d devices wait for the restart: %v", len(u.held), err)
	}
}

func TestWhatRunsHasLostOnlyWhatTheStateKnows(t *testing.T) {
	share := func(target string) Filesystem {
		return Filesystem{Source: "/srv", Target: target, Driver: virtiofs}
	}
	live := &libvirtxml.Domain{Devices: &libvirtxml.DomainDeviceList{}}
	h := Hardware{RNG: true, Filesystems: []Filesystem{share("lost"), share("persons")}}
	for _, kind := range pluggables {
		kind.dropUnplugged(&h, &Hardware{Filesystems: []Filesystem{share("lost")}}, live)
	}
	if !h.RNG || !slices.Equal(h.Filesystems, []Filesystem{share("persons")}) {
		t.Errorf("what is seen is %t, %v", h.RNG, h.Filesystems)
	}
}
