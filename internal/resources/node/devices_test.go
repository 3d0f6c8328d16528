package node

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

func TestDevicesThatAreLeftOutStayAsTheyAre(t *testing.T) {
	t.Parallel()
	tpm, dog := asObject(machine.TPM{Model: "tpm-tis", Version: "1.2"}), asObject(machine.Watchdog{Model: "ib700", Action: "pause"})
	limits := asObject(machine.DiskLimits{ReadIOPS: 7})
	had := func() *version {
		root := rootModel{diskTuningModel: diskTuningModel{Cache: text("unsafe"), Discard: text("ignore"), Limits: limits}}
		return &version{plain: plain{TPM: tpm, Watchdog: dog}, nested: nested{Root: &root}}
	}
	none := &version{plain: plain{TPM: asObject(machine.DefaultTPM)}, nested: nested{Root: &rootModel{diskTuningModel: diskTuningModel{Limits: asObject(machine.DiskLimits{})}}}}
	leftOut := func() *version { return &version{nested: nested{Root: &rootModel{}}} }
	for name, c := range map[string]struct {
		config, prior *version
		tpm, limits   types.Object
		cache         string
	}{
		"of a new node":          {leftOut(), &version{}, asObject(machine.DefaultTPM), asObject(machine.DiskLimits{}), "default"},
		"of one that has them":   {leftOut(), had(), tpm, limits, "unsafe"},
		"and those taken away":   {none, had(), asObject(machine.DefaultTPM), asObject(machine.DiskLimits{}), "unsafe"},
		"and those that are new": {had(), leftOut(), tpm, limits, "unsafe"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := planOf(c.config, c.prior)
			for what, pair := range map[string][2]attr.Value{"tpm": {got.TPM, c.tpm}, "limits": {got.Root.Limits, c.limits}, "cache": {got.Root.Cache, text(c.cache)}} {
				if !pair[0].Equal(pair[1]) {
					t.Errorf("%s: %s is planned as %s, want %s", name, what, pair[0], pair[1])
				}
			}
		})
	}
}

func TestAVirtualPortStaysWithItsBridge(t *testing.T) {
	t.Parallel()
	wired := func(bridge, port string) *version {
		i := interfaceModel{Bridge: text(bridge), MAC: text("52:54:00:00:00:01")}
		if port != "" {
			i.VirtualPort = text(port)
		}
		return &version{nested: nested{Interfaces: []interfaceModel{i}}}
	}
	for name, c := range map[string]struct {
		config, prior *version
		want          types.String
	}{
		"left out":          {wired("br0", ""), wired("br0", machine.OpenVSwitch), text(machine.OpenVSwitch)},
		"on another bridge": {wired("br1", ""), wired("br0", machine.OpenVSwitch), types.StringNull()},
		"new":               {wired("br0", machine.OpenVSwitch), &version{}, text(machine.OpenVSwitch)},
		"never":             {wired("br0", ""), &version{}, types.StringNull()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := planOf(c.config, c.prior).Interfaces[0].VirtualPort; !got.Equal(c.want) {
				t.Errorf("it is planned as %s, want %s", got, c.want)
			}
		})
	}
}

func TestAConsoleByTCPListensOnTheLoopback(t *testing.T) {
	t.Parallel()
	got := planOf(&version{nested: nested{Console: &consoleModel{Type: text("tcp"), Port: types.Int64Value(4555)}}}, &version{}).Console
	if got.Address.ValueString() != "127.0.0.1" || got.Protocol.ValueString() != "raw" {
		t.Errorf("it is planned as %+v", got)
	}
	got = planOf(&version{nested: nested{Console: &consoleModel{}}}, &version{nested: nested{Console: got}}).Console
	if got.Type.ValueString() != "pty" || !got.Address.IsNull() || !got.Protocol.IsNull() || !got.Port.IsNull() {
		t.Errorf("one of no type is planned as %+v", got)
	}
}
