package machine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// TestAMachineTypeThatTheOtherHypervisorLacksIsTold has a cache say what the other hypervisor offers: two with different versions of QEMU are not at
// hand in a sandbox.
func TestAMachineTypeThatTheOtherHypervisorLacksIsTold(t *testing.T) {
	t.Parallel()
	c, err := hypervisor.New("test:///default", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	running := &libvirtxml.Domain{OS: &libvirtxml.DomainOS{Type: &libvirtxml.DomainOSType{Machine: "pc-q35-9.2"}}}
	for name, c := range map[string]struct {
		client  *hypervisor.Client
		offered map[string]map[string]bool
		chipset string
		domain  hypervisor.Domain
		want    string
	}{
		"it is offered":                {c, map[string]map[string]bool{"kvm": {"pc-q35-8.2": true}}, "pc-q35-8.2", hypervisor.Domain{}, ""},
		"its version is not":           {c, map[string]map[string]bool{"kvm": {"pc-q35-7.2": true}}, "pc-q35-8.2", hypervisor.Domain{}, `machine type "pc-q35-8.2"`},
		"what runs is of a newer one":  {c, map[string]map[string]bool{"kvm": {"pc-q35-8.2": true}}, "pc-q35-8.2", hypervisor.Domain{State: "running", Live: running}, `machine type "pc-q35-9.2"`},
		"a type that nothing is known": {c, map[string]map[string]bool{"qemu": {}}, "pc-q35-8.2", hypervisor.Domain{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &Checker{Client: c.client, From: c.client, Cache: &HypervisorCache{}, Want: &Spec{Name: "n"}}
			if _, err := askOnce(k.Cache, question{c.client, "host", ""}, func() (*hostFacts, error) { return &hostFacts{chipsets: c.offered}, nil }); err != nil {
				t.Fatal(err)
			}
			if err := (moveChecker{k}).checkMoveChipset(t.Context(), &c.domain, &Machine{Hardware: Hardware{Type: "kvm", Chipset: c.chipset}}); err != nil {
				t.Fatal(err)
			}
			switch {
			case c.want == "" && len(k.problems) > 0, c.want != "" && len(k.problems) != 1:
				t.Errorf("it says %v", k.problems)
			case c.want != "" && !strings.Contains(k.problems[0].Detail, c.want):
				t.Errorf("it says %s", k.problems[0].Detail)
			}
		})
	}
}

// TestAMoveAsksOnceForEachVolume has a hypervisor without some volumes: each question to it may have it look at a whole pool anew.
func TestAMoveAsksOnceForEachVolume(t *testing.T) {
	t.Parallel()
	broken := errors.New("the connection broke")
	for name, c := range map[string]struct {
		there, fails, asked, want string
	}{
		"none is there":          {"", "", "a b c", ""},
		"the last one is":        {"c", "", "a b c", "c"},
		"none after the first":   {"b", "", "a b", "b"},
		"one cannot be asked of": {"c", "b", "a b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			ask := func(_ context.Context, pool, name string) (*hypervisor.Volume, error) {
				asked = append(asked, name)
				switch name {
				case c.fails:
					return nil, broken
				case c.there:
					return &hypervisor.Volume{Pool: pool, XML: libvirtxml.StorageVolume{Name: name}}, nil
				}
				return nil, fmt.Errorf("volume %q: %w", name, hypervisor.ErrNotFound)
			}
			v, err := findFirst(t.Context(), ask, VolumeRef{"p", "a"}, VolumeRef{"p", "b"}, VolumeRef{"p", "c"})
			if got := strings.Join(asked, " "); got != c.asked {
				t.Errorf("it asked for %s", got)
			}
			if (c.fails != "") != errors.Is(err, broken) || (v == nil) != (c.want == "") || v != nil && v.Name() != c.want {
				t.Errorf("it found %v, %v", v, err)
			}
		})
	}
}
