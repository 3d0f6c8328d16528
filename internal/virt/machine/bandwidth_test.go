package machine

import (
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"
)

func TestABandwidthIsReadAndLeavesAFloor(t *testing.T) {
	x := &libvirtxml.DomainInterface{}
	if err := x.Unmarshal(`<interface type='network'><source network='n'/><bandwidth><inbound average='100' floor='50'/></bandwidth></interface>`); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Bandwidth{
		"both":    {InboundAverage: 1000, InboundPeak: 2000, InboundBurst: 512, OutboundAverage: 128},
		"one":     {OutboundAverage: 128},
		"none":    {},
		"inbound": {InboundAverage: 7},
	} {
		t.Run(name, func(t *testing.T) {
			if applyBandwidth(x, want); readBandwidth(x) != want {
				t.Errorf("%+v is read as %+v", want, readBandwidth(x))
			}
			if text, _ := x.Marshal(); !strings.Contains(text, `floor="50"`) {
				t.Errorf("the floor is lost:\n%s", text)
			}
		})
	}
}

func TestAPeakNeedsAnAverage(t *testing.T) {
	for name, c := range map[string]struct {
		b     Bandwidth
		wrong bool
	}{"nothing": {Bandwidth{}, false}, "an average": {Bandwidth{InboundAverage: 1, InboundPeak: 2}, false}, "a peak": {Bandwidth{InboundAverage: 1, OutboundPeak: 2}, true}} {
		t.Run(name, func(t *testing.T) {
			i := InterfaceSpec{Bandwidth: c.b}
			if got := i.validateBandwidth(nil, false); (len(got) > 0) != c.wrong {
				t.Errorf("%s: %v", name, got)
			}
		})
	}
}

func TestABandwidthOfAPortGroupIsTheNetworks(t *testing.T) {
	t.Parallel()
	const network = `<network><name>n</name><bandwidth><inbound average='9'/></bandwidth>
		<portgroup name='slow'><bandwidth><inbound average='100'/></bandwidth></portgroup><portgroup name='rest' default='yes'><bandwidth><outbound average='200' peak='400'/></bandwidth></portgroup></network>`
	for name, want := range map[string]Bandwidth{"slow": {InboundAverage: 100}, "": {OutboundAverage: 200, OutboundPeak: 400}, "gone": {}} {
		t.Run("group "+name, func(t *testing.T) {
			t.Parallel()
			if got, err := readGroupBandwidth(network, name); err != nil || got != want {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	if got, err := readGroupBandwidth(`<network><name>n</name></network>`, ""); err != nil || got != (Bandwidth{}) {
		t.Errorf("without groups: %+v, %v", got, err)
	}
}
