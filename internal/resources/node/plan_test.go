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
	planned.parts.Interfaces = append([]interfaceModel(nil), config.parts.Interfaces...)
	complete(&planned, config, prior)
	return &planned
}

func TestInterfacesKeepTheirMACAddresses(t *testing.T) {
	fresh := planOf(&version{model: model{Name: text("n")}, parts: parts{Interfaces: []interfaceModel{{Network: text("a")}, {Network: text("b"), MAC: text("52-54-00-AA-6C-B1")}}}}, &version{})
	first, second := fresh.parts.Interfaces[0], fresh.parts.Interfaces[1]
	if first.Name.ValueString() != "eth0" || second.Name.ValueString() != "eth1" || first.Hostname.ValueString() != "n" {
		t.Fatalf("names are %v, %v, %v", first.Name, second.Name, first.Hostname)
	}
	for name, c := range map[string]struct {
		config []interfaceModel
		want   []string
	}{
		"unchanged":                  {[]interfaceModel{{Network: text("a")}, {Network: text("b"), MAC: second.MAC}}, []string{first.MAC.ValueString(), second.MAC.ValueString()}},
		"another spelling":           {[]interfaceModel{{Network: text("a")}, {Network: text("b"), MAC: text("52:54:00:aa:6c:b1")}}, []string{first.MAC.ValueString(), second.MAC.ValueString()}},
		"moved to another network":   {[]interfaceModel{{Network: text("c")}}, []string{first.MAC.ValueString()}},
		"swapped, told by MAC":       {[]interfaceModel{{Network: text("b"), MAC: second.MAC}, {Network: text("a"), Name: text("eth0")}}, []string{second.MAC.ValueString(), first.MAC.ValueString()}},
		"a third one gets a new one": {[]interfaceModel{{Network: text("a")}, {Network: text("b"), MAC: second.MAC}, {Network: text("c")}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := planOf(&version{model: model{Name: text("n")}, parts: parts{Interfaces: c.config}}, fresh).parts.Interfaces
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
	v := planOf(&version{}, &version{})
	for name, c := range map[string]struct{ got, want string }{
		"type": {v.Type.ValueString(), "kvm"}, "machine": {v.Machine.ValueString(), "q35"}, "firmware": {v.Firmware.ValueString(), "bios"},
		"memory": {v.MaxMemoryMiB.String(), "1024"}, "vcpus": {v.MaxVCPUs.String(), "1"}, "cpu": {v.parts.CPU.Mode.ValueString(), "host-passthrough"},
		"running": {v.Running.String(), "true"}, "shutdown": {v.ShutdownTimeout.ValueString(), "60s"}, "console": {v.parts.Console.Type.ValueString(), "pty"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %q, want %q", name, c.got, c.want)
		}
	}
	// An imported machine keeps what it has, but one that stopped is started.
	prior := planOf(&version{model: model{RNG: types.BoolValue(false), Machine: text("pc"), Autostart: types.BoolValue(false)}}, &version{})
	prior.Running = types.BoolValue(false)
	kept := planOf(&version{}, prior)
	if kept.RNG.ValueBool() || kept.Machine.ValueString() != "pc" || kept.Autostart.ValueBool() || !kept.Running.ValueBool() {
		t.Errorf("rng %v, machine %v, autostart %v, running %v", kept.RNG, kept.Machine, kept.Autostart, kept.Running)
	}
}

// restartsOf are the paths of the changes that a running node cannot follow.
func restartsOf(t *testing.T, prior, planned *version) string {
	t.Helper()
	changes, err := machine.Compare(prior.spec(), planned.spec(), nil)
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
	at := func(mib int64) *version { return &version{model: model{MemoryMiB: types.Int64Value(mib)}} }
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
	kind := attributeTypes()["root_disk"].(types.ObjectType).AttrTypes
	disk := model{RootDisk: types.ObjectValueMust(kind, map[string]attr.Value{
		"image": types.StringNull(), "size_gib": types.Int64Null(), "pool": types.StringNull(), "bus": types.StringNull(),
	})}
	for name, c := range map[string]struct {
		node          model
		order, kernel string
		want          string
	}{
		"from disk":                {disk, "hd", "", "hd"},
		"from the network":         {model{}, "network", "", "network"},
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
			prior.fillBoot(got)
			b := planOf(&version{model: c.node}, prior).parts.Boot
			if got := strings.Join(texts(b.Order), " "); got != c.want || !b.Kernel.IsNull() {
				t.Errorf("the plan is %s with kernel %s, want %s", b.Order, b.Kernel, c.want)
			}
		})
	}
}

func TestCloudInitThatSaysNothingIsNoChange(t *testing.T) {
	kind := attributeTypes()["cloud_init"].(types.ObjectType).AttrTypes
	configured := func(addresses ...string) *version {
		i := interfaceModel{Bridge: text("b"), MAC: text("52:54:00:00:00:01"), Name: text("eth0"), Addresses: textList(addresses)}
		return &version{model: model{Name: text("n"), CloudInit: types.ObjectNull(kind)}, parts: parts{Interfaces: []interfaceModel{i}}}
	}
	imported := func(v *version) *version { // its seed says nothing but what follows from the rest
		v.Timeouts.Object = types.ObjectNull(attributeTypes()["timeouts"].(timeouts.Type).AttrTypes)
		s := v.spec()
		s.CloudInit = &machine.CloudInit{}
		v.fillImported(t.Context(), s)
		return v
	}
	static := configured("10.0.0.1/24")
	if was := imported(configured("10.0.0.1/24")); was.parts.CloudInit == nil || *was.parts.CloudInit != (cloudInitModel{}) {
		t.Errorf("the seed that follows from the addresses is read as %v", was.parts.CloudInit)
	} else if got := planOf(static, was).parts.CloudInit; got == nil {
		t.Error("leaving out what says nothing plans to take it away")
	}
	if got := planOf(configured(), imported(configured())).parts.CloudInit; got != nil {
		t.Error("a seed that nothing asks for any more stays")
	}
	told := imported(configured("10.0.0.1/24"))
	told.parts.CloudInit.UserData = text("#cloud-config\n{}\n# more\n")
	if got := planOf(static, told).parts.CloudInit; got != nil {
		t.Errorf("user data that nobody wants any more stays: %v", got)
	}
}

func TestAddressesThatFollowFromTheConfiguration(t *testing.T) {
	v := planOf(&version{model: model{Name: text("n")}, parts: parts{Interfaces: []interfaceModel{
		{Network: text("a"), IP: text("10.0.0.1")}, {Bridge: text("b"), Addresses: textList([]string{"fd00::7/64", "10.19.41.157/24"})},
	}}}, &version{})
	got := planAddresses(v, &version{}, true)
	if got.String() != `{"eth0":"10.0.0.1","eth1":"10.19.41.157"}` {
		t.Errorf("addresses are %s", got)
	}
	v.parts.Interfaces = append(v.parts.Interfaces, interfaceModel{Network: text("a"), Name: text("eth2")})
	if got := planAddresses(v, &version{}, true); !got.IsUnknown() {
		t.Errorf("with one from DHCP they are %s", got)
	}
}
