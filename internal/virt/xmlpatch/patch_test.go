package xmlpatch

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestAPatchIsAppliedReadChangedAndTakenBack follows one patch after the other on the same XML.
func TestAPatchIsAppliedReadChangedAndTakenBack(t *testing.T) {
	t.Parallel()
	const domain = `<domain type="kvm"><features><acpi/></features><devices><interface><driver name="vhost"/></interface><interface/></devices></domain>`
	for name, c := range map[string]struct {
		patches []Patch
		want    string // after each; "|" between them, "=" for the XML as it was
	}{
		"nothing": {[]Patch{{}}, "="},
		"a text": {[]Patch{{"/domain/title": "a & b"}, {"/domain/title": "c"}, nil},
			`<domain type="kvm"><features><acpi/></features><devices><interface><driver name="vhost"/></interface><interface/></devices><title>a &amp; b</title></domain>|` +
				`<domain type="kvm"><features><acpi/></features><devices><interface><driver name="vhost"/></interface><interface/></devices><title>c</title></domain>|=`},
		"another value": {[]Patch{{"/domain/devices/interface/driver/@name": "qemu"}, {}},
			`<domain type="kvm"><features><acpi/></features><devices><interface><driver name="qemu"/></interface><interface/></devices></domain>|=`},
		"the same value": {[]Patch{{"/domain/devices/interface/driver/@name": "vhost", "/domain/features/acpi": ""}, {}}, "=|="},
		"an attribute of a flag": {[]Patch{{"/domain/features/acpi/@x": "1"}, {}},
			`<domain type="kvm"><features><acpi x="1"/></features><devices><interface><driver name="vhost"/></interface><interface/></devices></domain>|=`},
		"what leads there": {[]Patch{{"/domain/devices/interface[2]/driver/@queues": "2"}, {}},
			`<domain type="kvm"><features><acpi/></features><devices><interface><driver name="vhost"/></interface><interface><driver queues="2"/></interface></devices></domain>|=`},
		"two that share what leads there": {[]Patch{{"/domain/features/hyperv/relaxed/@state": "on", "/domain/features/hyperv/vapic/@state": "on"}, {"/domain/features/hyperv/vapic/@state": "off"}, {}},
			`<domain type="kvm"><features><acpi/><hyperv><relaxed state="on"/><vapic state="on"/></hyperv></features><devices><interface><driver name="vhost"/></interface><interface/></devices></domain>|` +
				`<domain type="kvm"><features><acpi/><hyperv><vapic state="off"/></hyperv></features><devices><interface><driver name="vhost"/></interface><interface/></devices></domain>|=`},
		"an element and what is in it": {[]Patch{{"/domain/devices/sound[@model='ich9']": "", "/domain/devices/sound[@model='ich9']/codec/@type": "micro"}, {"/domain/devices/sound[@model='ich9']/codec/@type": "micro"}, {}},
			`<domain type="kvm"><features><acpi/></features><devices><interface><driver name="vhost"/></interface><interface/><sound model="ich9"><codec type="micro"/></sound></devices></domain>|` +
				`<domain type="kvm"><features><acpi/></features><devices><interface><driver name="vhost"/></interface><interface/><sound model="ich9"><codec type="micro"/></sound></devices></domain>|=`},
		"arguments": {[]Patch{{"/domain/qemu:commandline/qemu:arg[1]/@value": "-a", "/domain/qemu:commandline/qemu:arg[2]/@value": "b"}, {}},
			`<domain type="kvm"><features><acpi/></features><devices><interface><driver name="vhost"/></interface><interface/></devices>` +
				`<commandline xmlns="http://libvirt.org/schemas/domain/qemu/1.0"><arg value="-a"/><arg value="b"/></commandline></domain>|=`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, places := domain, []Place(nil)
			for n, want := range strings.Split(c.want, "|") {
				var err error
				if text, places, err = Apply(text, places, c.patches[n]); err != nil {
					t.Fatal(err)
				}
				if want == "=" {
					want = domain
				}
				if text != want {
					t.Errorf("patch %d makes\n%s, not\n%s", n, text, want)
				}
				if got, err := Read(text, slices.Collect(maps.Keys(c.patches[n]))); err != nil || !maps.Equal(got, c.patches[n]) {
					t.Errorf("patch %d is read as %v, %v", n, got, err)
				}
			}
		})
	}
}

func TestWhatLibvirtPutIntoAnElementOfAPatchGoesWithIt(t *testing.T) {
	t.Parallel()
	_, places, err := Apply("<domain><devices/></domain>", nil, Patch{"/domain/devices/sound[@model='ich9']": ""})
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := Apply(`<domain><devices><sound model="ich9"><address type="pci"/></sound><sound model="usb"/></devices></domain>`, places, nil)
	if err != nil || text != `<domain><devices><sound model="usb"/></devices></domain>` {
		t.Errorf("%s, %v", text, err)
	}
}

func TestAPlaceThatIsNotThereIsNotRead(t *testing.T) {
	t.Parallel()
	got, err := Read(`<domain><a x="1"/></domain>`, []string{"/domain/a/@y", "/domain/b", "/domain/a[2]/@x", "nonsense"})
	if err != nil || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAPlaceIsTakenAway(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/domain/a/@x": `<domain><a/></domain>`, "/domain/a": `<domain/>`, "/domain/b/c": `<domain><a x="1"/></domain>`} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			if got, err := Remove(`<domain><a x="1"/></domain>`, path); err != nil || got != want {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

func TestTheThirdOfTwoIsNoPlace(t *testing.T) {
	t.Parallel()
	_, _, err := Apply("<domain><a/></domain>", nil, Patch{"/domain/a[3]": "x"})
	if at, ok := errors.AsType[*PlaceError](err); !ok || at.Path != "/domain/a[3]" || !strings.Contains(err.Error(), "there are 1 <a> in <domain>") {
		t.Errorf("%v", err)
	}
}

func TestPathsAreChecked(t *testing.T) {
	t.Parallel()
	for path, ok := range map[string]bool{
		"/domain/title": true, "/domain/@type": true, "/domain/a[2]/b[@c='/d e']/@f": true, "/domain/qemu:commandline/qemu:arg[1]/@value": true,
		"/domain": false, "domain/title": false, "/network/title": false, "/domain/": false, "/domain/a[0]": false, "/domain/a[@b=c]": false, "/domain//a": false, "/domain/@a/b": false,
		"/domain/xen:a": false, "/domain/a[@b='<']": false, "/domain[2]/a": false, "": false, "/@type": false,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			if err := CheckPath("domain", path); (err == nil) != ok {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestWhateverIsPatchedIsReadAndTakenBack draws two patches, one after the other.
func TestWhateverIsPatchedIsReadAndTakenBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		step := rapid.SampledFrom([]string{"/a", "/b", "/a[@k='v']", "/a[1]"})
		path := rapid.Custom(func(t *rapid.T) string {
			end := rapid.SampledFrom([]string{"/@x", "/@y", "/c"}).Draw(t, "end")
			return "/domain" + strings.Join(rapid.SliceOfN(step, 1, 3).Draw(t, "steps"), "") + end
		})
		patch := rapid.MapOfN(path, rapid.StringMatching(`[a-z<&"]{0,3}`), 0, 4)
		const domain = `<domain><a y="0"><b/></a></domain>`
		text, places := domain, []Place(nil)
		for range 2 {
			var err error
			want := patch.Draw(t, "patch")
			before, were := text, places
			if text, places, err = Apply(text, places, want); err != nil { // two values of one place
				text, places = before, were
				continue
			}
			if got, err := Read(text, slices.Collect(maps.Keys(want))); err != nil || !maps.Equal(got, want) {
				t.Fatalf("%v is read as %v from %s, %v", want, got, text, err)
			}
		}
		text, places, err := Apply(text, places, nil)
		if err != nil || text != domain || len(places) > 0 {
			t.Fatalf("it was %s and is %s, %v, %v", domain, text, places, err)
		}
	})
}

// applyInTurn has a domain have one patch after the other.
func applyInTurn(t *testing.T, text string, patches ...Patch) (string, []Place) {
	t.Helper()
	var places []Place
	for _, want := range patches {
		var err error
		if text, places, err = Apply(text, places, want); err != nil {
			t.Fatal(err)
		}
	}
	return text, places
}

// The element that the first patch made holds what the second one made by the time both go.
func TestWhatOnePatchMadeGoesWithWhatAnotherPutIntoIt(t *testing.T) {
	t.Parallel()
	const domain = "<domain/>"
	text, places := applyInTurn(t, domain, Patch{"/domain/b/c": ""}, Patch{"/domain/b/a/@x": "", "/domain/b/c": ""}, nil)
	if text != domain || len(places) > 0 {
		t.Errorf("it was %s and is %s, %v", domain, text, places)
	}
}

func TestTwoPathsOfOnePlaceAreRefused(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]string{"two values": "2", "one value": "1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := Apply("<domain/>", nil, Patch{"/domain/a/@x": "1", "/domain/a[1]/@x": second})
			if at, ok := errors.AsType[*PlaceError](err); !ok || !strings.HasPrefix(at.Path, "/domain/a") {
				t.Errorf("%v", err)
			}
		})
	}
}
