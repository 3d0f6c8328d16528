package machine

import (
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"
)

func xmlOf(t *testing.T, d *libvirtxml.Domain) string {
	t.Helper()
	text, err := d.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFilterByHandStaysUntilTheProvidersTakesItsPlace(t *testing.T) {
	d := byHand(t)
	m := Read(d)
	m.Interfaces[0].Filter = "" // no port security
	if err := Apply(d, m); err != nil {
		t.Fatal(err)
	}
	if got := xmlOf(t, d); !strings.Contains(got, `<filterref filter="byhand">`) || !strings.Contains(got, `value="10.0.0.9"`) {
		t.Errorf("the filter is lost:\n%s", got)
	}
	want := m.Interfaces[0]
	want.Model = "e1000e"
	if again := ReplugInterface(&d.Devices.Interfaces[0], &want); again.FilterRef == nil || again.Driver == nil || again.Model.Type != "e1000e" {
		t.Errorf("plugged in anew it is %+v", again)
	}
	for _, own := range []string{FilterPrefix + "hand-525400123456", ""} {
		m.Interfaces[0].Filter = own
		if err := Apply(d, m); err != nil {
			t.Fatal(err)
		}
		f := d.Devices.Interfaces[0].FilterRef
		if own == "" && f != nil || own != "" && (f == nil || f.Filter != own) {
			t.Errorf("want filter %q, got %+v", own, f)
		}
	}
}

func TestFeaturesOfTheProcessorOutliveItsModel(t *testing.T) {
	d := byHand(t)
	m := Read(d)
	no := false
	m.CPU = CPU{Mode: "custom", Model: "Nehalem", Nested: &no, Feature: "vmx"}
	if err := Apply(d, m); err != nil {
		t.Fatal(err)
	}
	got := xmlOf(t, d)
	for _, want := range []string{"Nehalem", `<feature policy="disable" name="x2apic">`, `<feature policy="disable" name="vmx">`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing:\n%s", want, got)
		}
	}
}

func TestOnlyTheProvidersOwnVideoGoesWithTheScreen(t *testing.T) {
	d := byHand(t)
	m := Read(d)
	m.Graphics = "none"
	if err := Apply(d, m); err != nil {
		t.Fatal(err)
	}
	if len(d.Devices.Videos) != 1 || d.Devices.Videos[0].Model.Type != "vga" || len(d.Devices.Graphics) != 0 {
		t.Errorf("video is %+v, graphics %+v", d.Devices.Videos, d.Devices.Graphics)
	}
	own, _ := Render(machines()["pc-uefi"])
	own.Devices.Videos[0].Model.Heads, own.Devices.Videos[0].Model.Primary = 1, "yes" // as libvirt completes it
	m = Read(own)
	m.Graphics = "none"
	if err := Apply(own, m); err != nil {
		t.Fatal(err)
	}
	if len(own.Devices.Videos) != 0 {
		t.Errorf("video is left: %+v", own.Devices.Videos)
	}
}
