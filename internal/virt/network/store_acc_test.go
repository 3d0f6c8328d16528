package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// sandbox skips a test that needs a real libvirtd, unless it runs inside the sandbox.
func sandbox(t *testing.T) *hypervisor.Client {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("needs TF_ACC=1 inside test/sandbox/enter")
	}
	c, err := hypervisor.New("qemu:///system", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func shell(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

const dualStack = `<network><name>acc-dhcp</name><bridge name='accdhcp0'/>
<ip address='10.76.40.254' prefix='24'><dhcp><range start='10.76.40.10' end='10.76.40.20'/></dhcp></ip>
<ip family='ipv6' address='fd77::1' prefix='64'><dhcp><range start='fd77::10' end='fd77::20'/></dhcp></ip></network>`

func withNetwork(t *testing.T, c *hypervisor.Client, name, xml string, start bool) {
	t.Helper()
	if _, err := c.DefineNetwork(t.Context(), name, xml); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(c.StopNetwork(ctx, name), c.UndefineNetwork(ctx, name)); err != nil {
			t.Error(err)
		}
	})
	if start {
		if err := Start(t.Context(), c, name); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAccReservationsLiveAndConfigured(t *testing.T) {
	for _, active := range []bool{true, false} {
		t.Run(fmt.Sprintf("active=%v", active), func(t *testing.T) { reservations(t, active) })
	}
}

// machinesOn are the reservations of a machine on a network.
func machinesOn(c *hypervisor.Client, network string) Reservations {
	return Reservations{Client: c, Network: network, Owner: new(owner.Run).New(), OfMachine: true}
}

func reservations(t *testing.T, active bool) {
	c := sandbox(t)
	withNetwork(t, c, "acc-dhcp", dualStack, active)
	ctx := t.Context()
	machines := machinesOn(c, "acc-dhcp")
	first := hypervisor.DHCPHost{MAC: "52:54:00:00:00:01", IP: netip.MustParseAddr("10.76.40.1"), Name: "one"}
	for range 2 {
		if err := machines.Add(ctx, first); err != nil {
			t.Fatal(err)
		}
	}
	six := hypervisor.DHCPHost{ID: "0:3:0:1:52:54:0:0:0:1", IP: netip.MustParseAddr("fd77::1:2")}
	if err := machines.Put(ctx, six); err != nil {
		t.Fatal(err)
	}
	six.IP, six.Name = netip.MustParseAddr("fd77::1:1"), ""
	if err := machines.Put(ctx, six); err != nil {
		t.Fatal(err)
	}
	// libvirt would change the first one that has the name.
	taken := hypervisor.DHCPHost{MAC: "52:54:00:00:00:02", IP: netip.MustParseAddr("10.76.40.5"), Name: first.Name}
	if err := machines.Put(ctx, taken); err == nil || !strings.Contains(err.Error(), "that of another reservation already") {
		t.Fatalf("two machines got one name: %v", err)
	}
	if err := machines.Put(ctx, hypervisor.DHCPHost{MAC: "52:54:00:00:00:02", IP: first.IP}); err == nil || !strings.Contains(err.Error(), "reserved already") {
		t.Fatalf("two machines got one address: %v", err)
	}
	moved := first
	moved.IP = netip.MustParseAddr("10.76.40.3")
	if err := machines.Add(ctx, moved); err == nil {
		t.Fatal("adding changed a reservation that was there")
	}
	if err := machines.Update(ctx, first, moved); err != nil {
		t.Fatal(err)
	}
	other := moved
	other.MAC = "52:54:00:00:00:09"
	if err := machines.Update(ctx, moved, other); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"--inactive"}} {
		xml := shell(t, append([]string{"virsh", "net-dumpxml", "acc-dhcp"}, flags...)...)
		if !strings.Contains(xml, `<host mac='52:54:00:00:00:09' name='one' ip='10.76.40.3'/>`) || !strings.Contains(xml, `ip='fd77::1:1'`) {
			t.Errorf("active=%v %v: %s", active, flags, xml)
		}
	}
	again := other
	again.IP = netip.MustParseAddr("10.76.40.4")
	for _, step := range []error{machines.Put(ctx, again), machines.Remove(ctx, other), machines.Put(ctx, other)} { // its mark is still its own
		if step != nil {
			t.Fatal(step)
		}
	}
	if err := machines.Remove(ctx, moved); err != nil { // another machine's by now
		t.Fatal(err)
	}
	for range 2 {
		for _, h := range []hypervisor.DHCPHost{other, six} {
			if err := machines.Remove(ctx, h); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n, err := c.Network(ctx, "acc-dhcp"); err != nil || len(hypervisor.DHCPHosts(n.Config)) != 0 || len(hypervisor.DHCPHosts(n.Current())) != 0 {
		t.Errorf("reservations are left: %v", err)
	}
	if err := machinesOn(c, "no-such-network").Remove(ctx, first); err != nil {
		t.Error(err)
	}
}

func TestAccManyReservationsAtATimeAllArrive(t *testing.T) {
	c := sandbox(t)
	withNetwork(t, c, "acc-dhcp", dualStack, true)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			h := hypervisor.DHCPHost{MAC: "52:54:00:00:01:" + string([]byte{'0' + byte(i/10), '0' + byte(i%10)}), IP: netip.AddrFrom4([4]byte{10, 76, 40, byte(100 + i)})}
			if err := machinesOn(c, "acc-dhcp").Put(t.Context(), h); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	n, err := c.Network(t.Context(), "acc-dhcp")
	if err != nil || len(hypervisor.DHCPHosts(n.Live)) != 20 || len(hypervisor.DHCPHosts(n.Config)) != 20 {
		t.Fatal(err)
	}
}

// plugged starts a machine with an interface on network acc-dhcp and one on its bridge.
func plugged(t *testing.T) {
	t.Helper()
	domain := t.TempDir() + "/d.xml"
	if err := os.WriteFile(domain, []byte(`<domain type='qemu'><name>acc-plug</name><memory unit='MiB'>32</memory><os><type arch='x86_64' machine='q35'>hvm</type></os><devices>
<interface type='network'><source network='acc-dhcp'/><model type='virtio'/><link state='up'/></interface>
<interface type='bridge'><source bridge='accdhcp0'/><model type='virtio'/></interface></devices></domain>`), 0o600); err != nil {
		t.Fatal(err)
	}
	shell(t, "virsh", "create", domain)
	t.Cleanup(func() { _ = exec.Command("virsh", "destroy", "acc-plug").Run() })
}

func TestAccAnInterruptedPlugIsEnded(t *testing.T) {
	c := sandbox(t)
	withNetwork(t, c, "acc-dhcp", dualStack, true)
	plugged(t)
	cutOff := func(want ...string) {
		t.Helper()
		c.ForgetPlan()
		n, err := c.Network(t.Context(), "acc-dhcp")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ListCutOffMachines(t.Context(), c, n); err != nil || !slices.Equal(got, want) {
			t.Errorf("cut off are %v, %v; want %v", got, err, want)
		}
	}
	xml, before := shell(t, "virsh", "dumpxml", "acc-plug"), shell(t, "ip", "-br", "link", "show", "master", "accdhcp0")
	mended := func() {
		t.Helper()
		if err := Start(t.Context(), c, "acc-dhcp"); err != nil {
			t.Fatal(err)
		}
		cutOff()
		if after := shell(t, "ip", "-br", "link", "show", "master", "accdhcp0"); strings.Count(before, "\n") != 2 || after != before {
			t.Errorf("before:\n%safter:\n%s", before, after)
		}
		if got := shell(t, "virsh", "dumpxml", "acc-plug"); portID.ReplaceAllString(got, "") != portID.ReplaceAllString(xml, "") {
			t.Errorf("the machine changed from\n%s\nto\n%s", xml, got)
		}
		if out := shell(t, "virsh", "net-list", "--name"); strings.Contains(out, "virtcluster-plug") {
			t.Errorf("a spare bridge is left: %s", out)
		}
	}
	cutOff()
	shell(t, "virsh", "net-destroy", "acc-dhcp")
	cutOff() // nothing can be plugged into a network that does not run
	shell(t, "virsh", "net-start", "acc-dhcp")
	cutOff("acc-plug")
	mended()

	// Interrupted between the spare bridge and the way back.
	n, err := c.Network(t.Context(), "acc-dhcp")
	if err != nil {
		t.Fatal(err)
	}
	spare, _, err := createSpareBridge(t.Context(), c, n)
	if err != nil {
		t.Fatal(err)
	}
	plugs, err := listInterfacesOn(t.Context(), c, "acc-dhcp")
	if err != nil || len(plugs) != 1 {
		t.Fatalf("%v, %v", plugs, err)
	}
	file := t.TempDir() + "/interface.xml"
	device := plugs[0].Device
	device.Source = newBridgeSource(spare)
	text, err := device.Marshal()
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	shell(t, "virsh", "update-device", "acc-plug", file, "--live")
	cutOff("acc-plug")
	mended()

	shell(t, "virsh", "destroy", "acc-plug")
	cutOff()
}

// portID is the place of an interface on its network, which goes when the network stops.
var portID = regexp.MustCompile(` portid='[^']*'`)

func TestAccARestartPlugsRunningMachinesIn(t *testing.T) {
	c := sandbox(t)
	withNetwork(t, c, "acc-dhcp", dualStack, true)
	plugged(t)
	before := shell(t, "ip", "-br", "link", "show", "master", "accdhcp0")
	xml := shell(t, "virsh", "dumpxml", "acc-plug")
	if err := c.StopNetwork(t.Context(), "acc-dhcp"); err != nil {
		t.Fatal(err)
	}
	if err := Start(t.Context(), c, "acc-dhcp"); err != nil {
		t.Fatal(err)
	}
	if after := shell(t, "ip", "-br", "link", "show", "master", "accdhcp0"); strings.Count(before, "\n") != 2 || after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
	if ports := shell(t, "virsh", "-q", "net-port-list", "acc-dhcp"); len(strings.Fields(ports)) != 1 {
		t.Errorf("ports: %s", ports)
	}
	if got := shell(t, "virsh", "dumpxml", "acc-plug"); portID.ReplaceAllString(got, "") != portID.ReplaceAllString(xml, "") {
		t.Errorf("the machine changed from\n%s\nto\n%s", xml, got)
	}
}

// TestAccMachineLeavesAPersonsReservation has a machine use, and leave, what a person has reserved for it.
func TestAccMachineLeavesAPersonsReservation(t *testing.T) {
	c := sandbox(t)
	withNetwork(t, c, "acc-dhcp", dualStack, true)
	ctx := t.Context()
	h := hypervisor.DHCPHost{MAC: "52:54:00:00:00:01", IP: netip.MustParseAddr("10.76.40.1"), Name: "one"}
	other := h
	other.IP = netip.MustParseAddr("10.76.40.2")
	shell(t, "virsh", "net-update", "acc-dhcp", "add", "ip-dhcp-host", "<host mac='52:54:00:00:00:01' name='one' ip='10.76.40.1'/>", "--live", "--config")
	stays := func(about string) {
		t.Helper()
		for _, flags := range [][]string{nil, {"--inactive"}} {
			if xml := shell(t, append([]string{"virsh", "net-dumpxml", "acc-dhcp"}, flags...)...); !strings.Contains(xml, "<host mac='52:54:00:00:00:01' name='one' ip='10.76.40.1'/>") {
				t.Errorf("%s %v: %s", about, flags, xml)
			}
		}
	}
	var foreign *owner.ForeignError
	machine := machinesOn(c, "acc-dhcp")
	if err := machine.Add(ctx, other); !errors.As(err, &foreign) {
		t.Errorf("a person's reservation was changed: %v", err)
	}
	stays("another address")
	if err := machine.Add(ctx, h); err != nil {
		t.Errorf("an equal reservation is not used: %v", err)
	}
	if err := machine.Remove(ctx, h); !errors.As(err, &foreign) {
		t.Errorf("a person's reservation was removed: %v", err)
	}
	stays("removed")
}

// TestAccRecordsOfOneAddress changes a network that somebody gave an address two DNS records, which libvirt cannot change one by one.
func TestAccRecordsOfOneAddress(t *testing.T) {
	c := sandbox(t)
	withNetwork(t, c, "acc-dhcp", strings.Replace(dualStack, "<ip address", `<dns><host ip='10.76.40.5'><hostname>one</hostname></host>
<host ip='10.76.40.5'><hostname>two</hostname></host></dns><ip address`, 1), true)
	uuid, err := c.NetworkUUID(t.Context(), "acc-dhcp")
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{Client: c, Ref: uuid, Owner: new(owner.Run).Adopt()}
	was, err := s.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	device := shell(t, "cat", "/sys/class/net/accdhcp0/ifindex")
	for _, step := range []struct {
		hosts   map[netip.Addr][]string
		restart bool
	}{
		{map[netip.Addr][]string{ip("10.76.40.5"): {"one", "two"}, ip("10.76.40.6"): {"six"}}, false},
		{map[netip.Addr][]string{ip("10.76.40.5"): {"one", "three"}, ip("10.76.40.6"): {"six"}}, true},
	} {
		t.Run(fmt.Sprint(step.hosts), func(t *testing.T) {
			want := was
			want.DNS.Hosts = step.hosts
			if was, err = s.Update(t.Context(), was, want); err != nil {
				t.Fatal(err)
			}
			if !Equal(was.Definition, want.Definition) || !Equal(*was.Live, want.Definition) {
				t.Errorf("became %v and runs %v", was.DNS, was.Live.DNS)
			}
			now := shell(t, "cat", "/sys/class/net/accdhcp0/ifindex")
			if now != device != step.restart {
				t.Errorf("the bridge was %s and is %s", device, now)
			}
			device = now
		})
	}
}
