package machine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// TestAccNoFilterOutlivesItsMachine ends the requests of a create and of a change from each on, as the end of the provider would: another run makes the
// machine, or ends the change, and its destroy leaves no filter, which would be in the way of the next machine of the name.
func TestAccNoFilterOutlivesItsMachine(t *testing.T) {
	acctest.InSandbox(t)
	broken := errors.New("the test broke the connection")
	c, err := hypervisor.New("qemu:///system", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	acctest.Run(t, "ip", "link", "add", "filterbr0", "type", "bridge")
	t.Cleanup(func() { acctest.Run(t, "ip", "link", "delete", "filterbr0") })
	want := func(guarded bool) *machine.Spec {
		s := &machine.Spec{Name: "acc-filter"}
		s.Type, s.Chipset, s.Firmware, s.Graphics, s.CPU.Mode = "qemu", "q35", "bios", "none", "maximum"
		s.MemoryMiB, s.MaxMemoryMiB, s.VCPUs, s.MaxVCPUs = 32, 32, 1, 1
		s.Interfaces = []machine.InterfaceSpec{{Name: "eth0", Bridge: "filterbr0", MAC: "52:54:00:75:00:02", Model: "virtio", Hostname: "acc-filter", PortSecurity: guarded}}
		return s
	}
	open := func(known *machine.Spec, claim owner.Claim) *machine.Store {
		return machine.NewStore(c, &machine.HypervisorCache{}, nil, known, claim)
	}
	openNew := func() *machine.Store { return open(want(true), owner.BeginRun().New()) }
	leavesNone := func(s *machine.Store, known *machine.Spec, after string, from int) {
		t.Helper()
		if err := open(known, s.Claim()).Delete(t.Context()); err != nil {
			t.Fatalf("request %d of the %s broke: cannot destroy: %v", from, after, err)
		}
		if left := acctest.Virsh(t, "nwfilter-list"); strings.Contains(left, "acc-filter") {
			t.Errorf("request %d of the %s broke, and a destroy left\n%s", from, after, left)
		}
	}
	for from, broke := 1, true; broke; from++ {
		ctx, reached := failpoint.BreakFrom(t.Context(), from, broken)
		s := openNew()
		got, err := s.Create(ctx, want(true))
		if broke = reached(); broke {
			c.Close() // the end of the provider is that of its connection
			s = openNew()
			got, err = s.Create(t.Context(), want(true))
		}
		if err != nil {
			t.Fatalf("request %d of the create broke: cannot create: %v", from, err)
		}
		leavesNone(s, got, "create", from)
	}
	for from, broke := 1, true; broke; from++ {
		s := openNew()
		was, err := s.Create(t.Context(), want(true))
		if err != nil {
			t.Fatal(err)
		}
		ctx, reached := failpoint.BreakFrom(t.Context(), from, broken)
		now, err := open(was, s.Claim()).Update(ctx, was, want(false))
		if broke = reached(); broke {
			c.Close()
			now, err = open(was, s.Claim()).Get(t.Context())
		}
		if err != nil {
			t.Fatalf("request %d of the change broke: cannot read: %v", from, err)
		}
		leavesNone(s, now, "change", from)
	}
}

// TestAccAFilterIsReadBackAsItWasWritten has libvirt keep the filters of addresses that it could spell in its own way.
func TestAccAFilterIsReadBackAsItWasWritten(t *testing.T) {
	acctest.InSandbox(t)
	c, err := hypervisor.New("qemu:///system", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	const mac = "52:54:00:75:00:03"
	for name, i := range map[string]*machine.InterfaceSpec{
		"no address":    {},
		"both families": {IP: machine.Address("10.0.0.100"), IPv6: machine.Address("fd00:0:0:1::10"), Addresses: machine.Prefixes("192.0.2.157/24", "2001:db8::157/64")},
		"networks":      {AllowedAddresses: []string{"0.0.0.0/0", "10.128.0.0/14", "192.0.2.7", "::/0", "fd00::/8", "2001:db8:0:0:1:0:0:1", "::ffff:192.0.2.1", "FD00::A"}},
	} {
		t.Run(name, func(t *testing.T) {
			i.MAC = mac
			kept, err := machine.KeepPortSecurity(t.Context(), c, "readback", i)
			if err != nil || !kept {
				t.Errorf("read back: %t, %v\n%s", kept, err, acctest.Virsh(t, "nwfilter-dumpxml", "virtcluster-readback-525400750003"))
			}
			acctest.Virsh(t, "nwfilter-undefine", "virtcluster-readback-525400750003")
		})
	}
}
