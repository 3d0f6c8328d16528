package node

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestTheFormatOfADiskThatNobodySays(t *testing.T) {
	t.Parallel()
	none, later := types.StringNull(), types.StringUnknown()
	for name, c := range map[string]struct{ given, was, volume, wasVolume, want types.String }{
		"of the node's own":           {none, none, none, none, none},
		"of one that was a volume":    {none, text("raw"), none, text("/v"), none},
		"of a new volume":             {none, none, text("/v"), none, later},
		"of a volume that stays":      {none, text("vmdk"), text("/v"), text("/v"), text("vmdk")},
		"of another volume":           {none, text("vmdk"), text("/w"), text("/v"), later},
		"of one that is known later":  {none, text("vmdk"), later, text("/v"), later},
		"of one of which it was none": {none, none, text("/v"), text("/v"), later},
		"as it is said":               {text("raw"), text("vmdk"), text("/v"), text("/v"), text("raw")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			planned := c.given
			if completeFormat(&planned, c.given, c.was, c.volume, c.wasVolume); !planned.Equal(c.want) {
				t.Errorf("it is planned as %s, not %s", planned, c.want)
			}
		})
	}
}

func TestTrustGoesWithTheDeviceThatItWasOf(t *testing.T) {
	t.Parallel()
	device := asObject(struct {
		Device string `attr:"device"`
		Mode   string `attr:"mode"`
	}{"eno1", "bridge"})
	upon := interfaceModel{MAC: text("52:54:00:00:00:01"), Direct: device, Trust: types.BoolValue(true)}
	for name, c := range map[string]struct {
		config interfaceModel
		want   bool
	}{
		"upon a device still": {interfaceModel{MAC: upon.MAC, Direct: device}, true},
		"in a bridge":         {interfaceModel{MAC: upon.MAC, Bridge: text("br0")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := planOf(&version{nested: nested{Interfaces: []interfaceModel{c.config}}}, &version{nested: nested{Interfaces: []interfaceModel{upon}}})
			if is := got.Interfaces[0].Trust.ValueBool(); is != c.want {
				t.Errorf("it is trusted: %t", is)
			}
		})
	}
}
