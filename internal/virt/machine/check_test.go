package machine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

// answered is a check of a node whose hypervisor was asked already.
func answered(t *testing.T, want *Spec, offered *libvirtxml.DomainCaps, features ...string) *Checker {
	t.Helper()
	c, err := hypervisor.New("test:///default", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := &Checker{Cache: &HypervisorCache{}, Client: c, Want: want, Was: &Spec{}, Fresh: true}
	know(k, question{c, "host", ""}, &hostFacts{
		chipsets:      map[string]map[string]bool{"kvm": {"q35": true, "pc": true, "microvm": false}, "qemu": {"q35": true}},
		nestedFeature: "svm", memory: 1 << 40,
	})
	know(k, question{c, "offers to " + want.Type, want.Chipset}, offered)
	know(k, question{c, "processor for " + offered.Domain, offered.Machine}, features)
	return k
}

func know[T any](k *Checker, q question, answer T) {
	_, _ = askOnce(k.Cache, q, func() (T, error) { return answer, nil })
}

func TestWhatTheHypervisorDoesNotOffer(t *testing.T) {
	offers := func(firmware, secure []string) *libvirtxml.DomainCaps {
		return &libvirtxml.DomainCaps{
			VCPU: &libvirtxml.DomainCapsVCPU{Max: 288},
			CPU:  &libvirtxml.DomainCapsCPU{Modes: []libvirtxml.DomainCapsCPUMode{{Name: "host-passthrough", Supported: "yes"}}},
			OS: &libvirtxml.DomainCapsOS{
				Enums:  []libvirtxml.DomainCapsEnum{{Name: "firmware", Values: firmware}},
				Loader: &libvirtxml.DomainCapsOSLoader{Enums: []libvirtxml.DomainCapsEnum{{Name: "secure", Values: secure}}},
			},
		}
	}
	node := func(chipset, firmware string, nested bool) *Spec {
		return &Spec{Hardware: Hardware{Type: "kvm", Chipset: chipset, Firmware: firmware, CPU: CPU{Mode: "host-passthrough", Nested: &nested}, MaxMemoryMiB: 1024}}
	}
	vcpus := func(n, most int64) *Spec {
		s := node("q35", "bios", false)
		s.VCPUs, s.MaxVCPUs = n, most
		return s
	}
	everything := offers([]string{"efi"}, []string{"no", "yes"})
	for name, c := range map[string]struct {
		v        *Spec
		offered  *libvirtxml.DomainCaps
		features []string
		at, want string // the path and a part of the problem; "" for none
	}{
		"nothing wrong":                  {node("q35", "uefi-secure", true), everything, []string{"svm"}, "", ""},
		"a processor without nesting":    {node("q35", "bios", true), everything, []string{"svme-addr-chk"}, "[cpu nested]", "load its kvm module with nested=1"},
		"which nobody asks for":          {node("q35", "bios", false), everything, nil, "", ""},
		"UEFI without its files":         {node("q35", "uefi", false), offers(nil, []string{"no"}), nil, "[firmware]", `or write firmware = "bios"`},
		"Secure Boot without its files":  {node("q35", "uefi-secure", false), offers([]string{"efi"}, []string{"no"}), nil, "[firmware]", `or write firmware = "uefi"`},
		"a BIOS where there is no UEFI":  {node("q35", "bios", false), offers(nil, nil), nil, "", ""},
		"a machine without PCI":          {node("microvm", "bios", false), everything, nil, "[machine]", `no PCI, which a node's disks and interfaces are plugged into; write machine = "q35", or another that is offered to type kvm: pc, q35`},
		"all the vCPUs that there are":   {vcpus(255, 255), everything, nil, "", ""},
		"more vCPUs than there are":      {vcpus(1000, 1000), everything, nil, "[vcpus]", "machine q35 of type kvm 255 at most, not 1000"},
		"more of them later":             {vcpus(2, 256), everything, nil, "[max_vcpus]", "255 at most, not 256"},
		"a machine that nobody has made": {node("q36", "bios", false), everything, nil, "[machine]", "does not offer it"},
	} {
		t.Run(name, func(t *testing.T) {
			k := answered(t, c.v, c.offered, c.features...)
			if err := errors.Join((hardwareChecker{k}).checkHardware(t.Context()), (hardwareChecker{k}).checkFirmware(t.Context())); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range k.problems {
				if fmt.Sprint(p.Path) == c.at && strings.Contains(p.Detail, c.want) {
					c.want = ""
					continue
				}
				got = append(got, fmt.Sprint(p.Path, p.Detail))
			}
			if c.want != "" || len(got) > 0 {
				t.Errorf("want %q at %s; problems are %q", c.want, c.at, got)
			}
		})
	}
}

func TestNothingIsBegunWithoutABridge(t *testing.T) {
	path := pathTo("network_interfaces", 1, "bridge")
	refusal := errors.New("Cannot get interface MTU")
	for name, c := range map[string]struct {
		missing []missingBridge
		fails   error
		begun   bool
		want    string // in an error at the bridge's path
	}{
		"all are there":                {nil, nil, true, ""},
		"one is missing for sure":      {[]missingBridge{{path, "br9", true}}, nil, false, `no bridge "br9"`},
		"one may be missing":           {[]missingBridge{{path, "br9", false}}, nil, true, ""},
		"and it turns out that it is":  {[]missingBridge{{path, "br9", false}}, refusal, true, `no bridge "br9" was found on the hypervisor: Cannot get`},
		"the second one is, for sure":  {[]missingBridge{{pathTo("x"), "br8", false}, {path, "br9", true}}, nil, false, `no bridge "br9"`},
		"another failure is as it was": {nil, refusal, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			begun := false
			err := actUnlessMissing(c.missing, func() error {
				begun = true
				return c.fails
			})
			placed, isPlaced := errors.AsType[*service.AttributeError](err)
			switch {
			case begun != c.begun:
				t.Errorf("begun is %t", begun)
			case c.want == "" && !errors.Is(err, c.fails), c.want == "" && isPlaced:
				t.Errorf("the error is %v", err)
			case c.want != "" && (!isPlaced || fmt.Sprint(placed.Path) != fmt.Sprint(path) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestATakenNameIsNotToldAsATakenAddress(t *testing.T) {
	const mac = "52:54:00:00:00:01"
	offered := &libvirtxml.DomainCaps{}
	for name, want := range map[string]string{"n": "[name]", "other": "[network_interfaces 0 mac]"} {
		t.Run(name, func(t *testing.T) {
			k := answered(t, &Spec{Name: "n", Interfaces: []InterfaceSpec{{MAC: mac}}}, offered)
			k.Hypervisors = map[string]*hypervisor.Client{"": k.Client}
			domains := []*hypervisor.Domain{{Name: name, UUID: "u", Config: &libvirtxml.Domain{
				Name: name, Devices: &libvirtxml.DomainDeviceList{Interfaces: []libvirtxml.DomainInterface{{
					MAC: &libvirtxml.DomainInterfaceMAC{Address: mac}, Source: &libvirtxml.DomainInterfaceSource{Network: &libvirtxml.DomainInterfaceSourceNetwork{Network: "default"}},
				}}},
			}}}
			for _, when := range []time.Time{time.Now(), time.Now().Add(domainsFor)} {
				know(k, question{k.Client, "domains", when.Truncate(domainsFor).String()}, domains)
			}
			if err := errors.Join(k.checkName(t.Context()), (networkChecker{k}).checkMACs(t.Context())); err != nil {
				t.Fatal(err)
			}
			if len(k.problems) != 1 || fmt.Sprint(k.problems[0].Path) != want {
				t.Errorf("a domain %q: %v, not one problem at %s", name, k.problems, want)
			}
		})
	}
}

func TestAVolumeOfAnotherMachineIsInUse(t *testing.T) {
	const byPath, byName, other = "<source file='/p/v.raw'/>", "<source pool='p' volume='v.raw'/>", "<source file='/p/w.raw'/>"
	left := fmt.Sprintf("<metadata><v:node xmlns:v=%q owner='abc' workspace=%q creating='1.2.3.4'/></metadata>", metadata.Machine, owner.Workspace())
	finished := strings.Replace(left, " creating='1.2.3.4'", "", 1)
	for name, c := range map[string]struct {
		uuid, more, source string
		want               DiskTuning
		used               bool
	}{
		"by its path":                       {"other", "", byPath, DiskTuning{}, true},
		"by its name":                       {"other", "", byName, DiskTuning{}, true},
		"another volume":                    {"other", "", other, DiskTuning{}, false},
		"of the node itself":                {"itself", "", byPath, DiskTuning{}, false},
		"of a node in state":                {"known", "", byPath, DiskTuning{}, false},
		"of an interrupted create of one":   {"other", left, byPath, DiskTuning{}, false},
		"of one that may turn out in state": {"other", finished, byPath, DiskTuning{}, false},
		"only read there":                   {"other", "", byPath + "<readonly/>", DiskTuning{}, false},
		"only to be read":                   {"other", "", byPath, DiskTuning{ReadOnly: true}, false},
		"shared by both":                    {"other", "", byPath + "<shareable/>", DiskTuning{Shareable: true}, false},
		"shared there alone":                {"other", "", byPath + "<shareable/>", DiskTuning{}, true},
		"to be shared alone":                {"other", "", byPath, DiskTuning{Shareable: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			kind := map[bool]string{true: "volume", false: "file"}[c.source == byName]
			d := &libvirtxml.Domain{}
			err := d.Unmarshal("<domain type='qemu'><name>n</name>" + c.more + "<devices><disk type='" + kind + "' device='disk'>" + c.source + "<target dev='vda' bus='virtio'/></disk></devices></domain>")
			if err != nil {
				t.Fatal(err)
			}
			k := answered(t, &Spec{}, &libvirtxml.DomainCaps{})
			k.Was, k.Run = &Spec{UUID: "itself"}, owner.BeginRun()
			k.Cache.RememberNode(&Spec{UUID: "known"})
			for _, soon := range []time.Duration{0, domainsFor} {
				know(k, question{k.Client, "domains", time.Now().Add(soon).Truncate(domainsFor).String()}, []*hypervisor.Domain{{Name: "n", UUID: c.uuid, Config: d}})
			}
			v := &hypervisor.Volume{Pool: "p", XML: libvirtxml.StorageVolume{Name: "v.raw", Target: &libvirtxml.StorageVolumeTarget{Path: "/p/v.raw"}}}
			err = storageChecker{k}.checkVolumeUsers(t.Context(), v, c.want, pathTo("root_disk", "volume"))
			if used := len(k.problems) > 0; err != nil || used != c.used {
				t.Errorf("problems are %v, %v", k.problems, err)
			}
		})
	}
}
