package node

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

func text(s string) types.String { return types.StringValue(s) }

// planOf completes a configuration the way a plan does: what is not set is unknown at first.
func planOf(config, prior *version) *version {
	planned := *config
	planned.Interfaces = append([]interfaceModel(nil), config.Interfaces...)
	completeVersion(&planned, config, prior)
	return &planned
}

func TestInterfacesKeepTheirMACAddresses(t *testing.T) {
	t.Parallel()
	fresh := planOf(&version{plain: plain{Name: text("n")}, nested: nested{Interfaces: []interfaceModel{{Network: text("a")}, {Network: text("b"), MAC: text("52-54-00-AA-6C-B1")}}}}, &version{})
	first, second := fresh.Interfaces[0], fresh.Interfaces[1]
	if first.Name.ValueString() != "eth0" || second.Name.ValueString() != "eth1" || first.Hostname.ValueString() != "n" {
		t.Fatalf("names are %v, %v, %v", first.Name, second.Name, first.Hostname)
	}
	for name, c := range map[string]struct {
		config []interfaceModel
		want   []string
	}{
		"unchanged":                  {[]interfaceModel{{Network: text("a")}, {Network: text("b"), MAC: second.MAC}}, []string{first.MAC.ValueString(), second.MAC.ValueString()}},
		"moved to another network":   {[]interfaceModel{{Network: text("c")}}, []string{first.MAC.ValueString()}},
		"swapped, told by MAC":       {[]interfaceModel{{Network: text("b"), MAC: second.MAC}, {Network: text("a"), Name: text("eth0")}}, []string{second.MAC.ValueString(), first.MAC.ValueString()}},
		"a third one gets a new one": {[]interfaceModel{{Network: text("a")}, {Network: text("b"), MAC: second.MAC}, {Network: text("c")}}, nil},
		"one before a named one":     {[]interfaceModel{{Network: text("c"), Name: text("mgmt")}, {Network: text("a"), Name: text("eth0")}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := planOf(&version{plain: plain{Name: text("n")}, nested: nested{Interfaces: c.config}}, fresh).Interfaces
			seen := map[string]bool{}
			for i, x := range got {
				if seen[x.MAC.ValueString()] || !convert.Known(x.MAC) {
					t.Errorf("interface %d has %v", i, x.MAC)
				}
				seen[x.MAC.ValueString()] = true
				if c.want != nil && x.MAC.ValueString() != c.want[i] {
					t.Errorf("interface %d has %s, want %s", i, x.MAC.ValueString(), c.want[i])
				}
			}
		})
	}
}

func TestWhatTheConfigurationLeavesOpen(t *testing.T) {
	t.Parallel()
	v := planOf(&version{}, &version{})
	for name, c := range map[string]struct{ got, want string }{
		"type": {v.Type.ValueString(), "kvm"}, "machine": {v.Machine.ValueString(), "q35"}, "firmware": {v.Firmware.ValueString(), "bios"},
		"memory": {v.MaxMemoryMiB.String(), "1024"}, "vcpus": {v.MaxVCPUs.String(), "1"}, "cpu": {v.CPU.Mode.ValueString(), "host-passthrough"},
		"running": {v.Running.String(), "true"}, "shutdown": {v.ShutdownTimeout.ValueString(), "60s"}, "console": {v.Console.Type.ValueString(), "pty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.got != c.want {
				t.Errorf("%s is %q, want %q", name, c.got, c.want)
			}
		})
	}
	// An imported machine keeps what it has, but one that stopped is started.
	prior := planOf(&version{plain: plain{RNG: types.BoolValue(false), Machine: text("pc"), Autostart: types.BoolValue(false)}}, &version{})
	prior.Running = types.BoolValue(false)
	kept := planOf(&version{}, prior)
	if kept.RNG.ValueBool() || kept.Machine.ValueString() != "pc" || kept.Autostart.ValueBool() || !kept.Running.ValueBool() {
		t.Errorf("rng %v, machine %v, autostart %v, running %v", kept.RNG, kept.Machine, kept.Autostart, kept.Running)
	}
}

// restartsOf are the paths of the changes that a running node cannot follow.
func restartsOf(t *testing.T, prior, planned *version) string {
	t.Helper()
	changes, err := machine.Compare(prior.toSpec(), planned.toSpec(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, c := range machine.NeedRestart(changes) {
		paths = append(paths, fmt.Sprint(c.Path))
	}
	return strings.Join(paths, " ")
}

func TestMaximaFollowUpwardsOnly(t *testing.T) {
	t.Parallel()
	at := func(mib int64) *version { return &version{plain: plain{MemoryMiB: types.Int64Value(mib)}} }
	small := planOf(at(512), &version{})
	if got := planOf(at(256), small).MaxMemoryMiB.ValueInt64(); got != 512 {
		t.Errorf("maximum after less memory is %d", got)
	}
	if got := planOf(at(2048), small).MaxMemoryMiB.ValueInt64(); got != 2048 {
		t.Errorf("maximum after more memory is %d", got)
	}
	if got := restartsOf(t, small, planOf(at(256), small)); got != "" {
		t.Errorf("less memory restarts because of %v", got)
	}
	if got := restartsOf(t, small, planOf(at(2048), small)); got != "[max_memory_mib]" {
		t.Errorf("memory beyond the maximum restarts because of %v", got)
	}
}

func TestWhatIsSaidOfBootingAnywayIsNoChange(t *testing.T) {
	t.Parallel()
	disk := nested{Root: &rootModel{}}
	for name, c := range map[string]struct {
		node          nested
		order, kernel string
		want          string
	}{
		"from disk":                {disk, "hd", "", "hd"},
		"from the network":         {nested{}, "network", "", "network"},
		"with a disk from neither": {disk, "network", "", "hd"},
		"a kernel":                 {disk, "hd", "/vmlinuz", "hd"},
		"devices with an order":    {disk, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := machine.Boot{Kernel: c.kernel}
			if c.order != "" {
				got.Order = []string{c.order}
			}
			prior := &version{}
			prior.fillModel(t.Context(), &machine.Spec{Hardware: machine.Hardware{Boot: got}})
			b := planOf(&version{nested: c.node}, prior).Boot
			if got := strings.Join(convert.Texts(b.Order), " "); got != c.want || !b.Kernel.IsNull() {
				t.Errorf("the plan is %s with kernel %s, want %s", b.Order, b.Kernel, c.want)
			}
		})
	}
}

func TestCloudInitThatSaysNothingIsNoChange(t *testing.T) {
	t.Parallel()
	configured := func(addresses ...string) *version {
		i := interfaceModel{Bridge: text("b"), MAC: text("52:54:00:00:00:01"), Name: text("eth0"), Addresses: convert.ListOrNull(addresses)}
		return &version{plain: plain{Name: text("n")}, nested: nested{Interfaces: []interfaceModel{i}}}
	}
	imported := func(v *version) *version { // its seed says nothing but what follows from the rest
		v.Timeouts.Object = types.ObjectNull(attributeTypes()["timeouts"].(timeouts.Type).AttrTypes)
		s := v.toSpec()
		s.CloudInit = &machine.CloudInit{}
		v.fillModel(t.Context(), s)
		return v
	}
	static := configured("10.0.0.1/24")
	if was := imported(configured("10.0.0.1/24")); was.CloudInit == nil || *was.CloudInit != (cloudInitModel{}) {
		t.Errorf("the seed that follows from the addresses is read as %v", was.CloudInit)
	} else if got := planOf(static, was).CloudInit; got == nil {
		t.Error("leaving out what says nothing plans to take it away")
	}
	if got := planOf(configured(), imported(configured())).CloudInit; got != nil {
		t.Error("a seed that nothing asks for any more stays")
	}
	told := imported(configured("10.0.0.1/24"))
	told.CloudInit.UserData = text("#cloud-config\n{}\n# more\n")
	if got := planOf(static, told).CloudInit; got != nil {
		t.Errorf("user data that nobody wants any more stays: %v", got)
	}
}

// A configuration may know an object later, and a plan must hold what either outcome has.
func TestWhatMayBeADiskOfTheNodesOwnIsKnownLater(t *testing.T) {
	t.Parallel()
	config := func(volume types.String) *version {
		return &version{nested: nested{Disks: map[string]diskModel{"d": {Volume: volume, SizeGiB: types.Int64Value(1)}}}}
	}
	if d := planOf(config(types.StringUnknown()), &version{}).Disks["d"]; !d.Pool.IsUnknown() || d.SizeGiB.ValueInt64() != 1 {
		t.Errorf("with a volume that is known later it is %v", d)
	}
	if d := planOf(config(types.StringNull()), &version{}).Disks["d"]; d.Pool.ValueString() != "default" {
		t.Errorf("without a volume it is %v", d)
	}
}

func TestUnknownElementsAreDecodedAndEncoded(t *testing.T) {
	t.Parallel()
	disks, plugs := attributeTypes()["disks"].(types.MapType), attributeTypes()["network_interfaces"].(types.ListType)
	v := version{plain: plain{Name: text("n")}}
	v.Timeouts.Object = types.ObjectNull(attributeTypes()["timeouts"].(timeouts.Type).AttrTypes)
	m, diags := v.encodeNested(t.Context())
	if diags.HasError() {
		t.Fatal(diags)
	}
	m.Disks = types.MapValueMust(disks.ElemType, map[string]attr.Value{"d": types.ObjectUnknown(disks.ElemType.(types.ObjectType).AttrTypes)})
	m.NetworkInterfaces = types.ListValueMust(plugs.ElemType, []attr.Value{types.ObjectUnknown(plugs.ElemType.(types.ObjectType).AttrTypes)})
	decoded, diags := m.decodeNested(t.Context())
	if diags.HasError() {
		t.Fatal(diags)
	}
	planned := planOf(decoded, &version{})
	if d, i := planned.Disks["d"], planned.Interfaces[0]; !d.Volume.IsUnknown() || !d.Bus.IsUnknown() || !i.Network.IsUnknown() || !i.MAC.IsUnknown() || !i.Hostname.IsUnknown() {
		t.Errorf("planned are %v and %v", d, i)
	}
	if problems := planned.toSpec().Validate(); len(problems) > 0 {
		t.Errorf("what is unknown is wrong: %v", problems)
	}
}

func TestAddressesThatFollowFromTheConfiguration(t *testing.T) {
	t.Parallel()
	v := planOf(&version{plain: plain{Name: text("n")}, nested: nested{Interfaces: []interfaceModel{
		{Network: text("a"), IP: text("10.0.0.1")}, {Bridge: text("b"), Addresses: convert.ListOrNull([]string{"fd00::7/64", "10.19.41.157/24"})},
	}}}, &version{})
	got := planAddresses(v, &version{}, v.toSpec(), &machine.Spec{}, true)
	if got.String() != `{"eth0":"10.0.0.1","eth1":"10.19.41.157"}` {
		t.Errorf("addresses are %s", got)
	}
	v.Interfaces = append(v.Interfaces, interfaceModel{Network: text("a"), Name: text("eth2")})
	if got := planAddresses(v, &version{}, v.toSpec(), &machine.Spec{}, true); !got.IsUnknown() {
		t.Errorf("with one from DHCP they are %s", got)
	}
}

func TestTheStateOfANodeIsKnownWhereNothingChangesIt(t *testing.T) {
	t.Parallel()
	node := func(running attr.Value, state types.String) *version {
		of, _ := running.(types.Bool)
		return &version{plain: plain{Running: of, State: state}}
	}
	on, off, unknown := types.BoolValue(true), types.BoolValue(false), types.BoolUnknown()
	for name, c := range map[string]struct {
		planned, prior *version
		fresh          bool
		want           types.String
	}{
		"a new one that is to run":                {node(on, types.StringUnknown()), node(types.BoolNull(), types.StringNull()), true, text("running")},
		"a new one that is not":                   {node(off, types.StringUnknown()), node(types.BoolNull(), types.StringNull()), true, types.StringUnknown()},
		"a new one of which nobody knows":         {node(unknown, types.StringUnknown()), node(types.BoolNull(), types.StringNull()), true, types.StringUnknown()},
		"one that runs on":                        {node(on, types.StringUnknown()), node(on, text("running")), false, text("running")},
		"one that stays paused":                   {node(on, types.StringUnknown()), node(on, text("paused")), false, text("paused")},
		"one that stays off":                      {node(off, types.StringUnknown()), node(off, text("shutoff")), false, text("shutoff")},
		"one that is stopped":                     {node(off, types.StringUnknown()), node(on, text("running")), false, types.StringUnknown()},
		"one of which nobody knows whether it is": {node(unknown, types.StringUnknown()), node(on, text("running")), false, types.StringUnknown()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if planComputed(c.planned, c.prior, c.planned.toSpec(), c.prior.toSpec(), c.fresh); !c.planned.State.Equal(c.want) {
				t.Errorf("%s: the state is %s, not %s", name, c.planned.State, c.want)
			}
		})
	}
}
