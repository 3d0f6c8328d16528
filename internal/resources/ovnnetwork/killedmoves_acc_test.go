package ovnnetwork_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccNodeMigrationOfAKilledRunOnOVN kills the provider at moments of moves of a node with a port of OVN, which runs or is off: the next apply brings it to
// one of the hypervisors, with its port and nothing left on the other one. One that runs goes on all the while.
func TestAccNodeMigrationOfAKilledRunOnOVN(t *testing.T) {
	nb, config := ovnStage(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	on := func(machine, more string) string {
		text := strings.Replace(config(`{ NET, mac = "52:54:00:50:00:01", ip = "10.50.0.11", port_security = true }`, ""), "  network_interfaces", more+"  network_interfaces", 1)
		head, node, _ := strings.Cut(text, `resource "virtcluster_node"`)
		return head + `resource "virtcluster_node"` + strings.ReplaceAll(node, "hv-1", machine)
	}
	other := map[string]string{"hv-1": "hv-2", "hv-2": "hv-1"}
	s.Apply(on("hv-1", ""))
	t.Cleanup(func() { removePingers(t) })
	for n, machine := range []string{"hv-1", "hv-2"} {
		guest, mac, address := "pings-"+machine, fmt.Sprintf("02:00:00:50:00:0%d", n+1), fmt.Sprintf("10.50.0.20%d", n+1)
		nb("--wait=hv", "lsp-add", "nodes", guest, "--", "lsp-set-addresses", guest, mac+" "+address)
		acctest.StartOVNGuest(t, machine, guest, mac, address, "")
	}
	if err := guestHas("hv-1", "acc-a", "10.50.0.11")(nil); err != nil {
		t.Fatal(err)
	}
	uuid := interfaceID(t, "hv-1", "acc-a", "52:54:00:50:00:01")
	boot := bootOf(t, "hv-1")

	const slow = "  migration = { bandwidth_mib = 1 }\n"
	const off = "  running = false\n"
	// Each moment is seen by a script on the machine that the node goes to.
	const volumes = "ls /var/lib/libvirt/ovn | grep -q acc-a-root"
	const copying = "virsh -q list --all --name | grep -q acc-a"
	const arrived = "virsh -q list --persistent --all --name | grep -q acc-a"
	bound := fmt.Sprintf(`ovn-nbctl --timeout=5 get Logical_Switch_Port %s options | grep -q requested-chassis`, uuid)
	at := "hv-1"
	for _, c := range []struct {
		name, more, seen string
		// central says that the script is run on the machine with the databases, and back that the next apply has the node stay.
		central, back bool
	}{
		{name: "volumes", seen: volumes},
		{name: "both chassis have the port", more: slow, seen: bound, central: true},
		{name: "both chassis have the port, and back", more: slow, seen: bound, central: true, back: true},
		{name: "copying", more: slow, seen: copying},
		{name: "arrived", seen: arrived},
		{name: "arrived, and back", seen: arrived, back: true},
		{name: "off, volumes", more: off, seen: volumes},
		{name: "off, copying", more: off + slow, seen: copying},
		{name: "off, arrived", more: off, seen: arrived},
		{name: "off, arrived, and back", more: off, seen: arrived, back: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := s.For(t)
			to, asked := other[at], other[at]
			if c.central {
				asked = "hv-1"
			}
			isOff := strings.Contains(c.more, off)
			if isOff {
				s.Apply(on(at, off))
			}
			killMove(t, s, on(to, c.more), asked, c.seen)
			if c.back {
				to = at
			}
			state := "running"
			if isOff {
				state = "shut off"
				s.Apply(on(to, off))
			} else {
				s.Apply(on(to, ""))
			}
			s.Settled()
			at = to
			if is := acctest.On(t, at, "virsh", "domstate", "acc-a"); is != state {
				t.Errorf("it is %s", is)
			}
			if left := acctest.On(t, other[at], "sh", "-c", "virsh -q list --all --name; ls /var/lib/libvirt/ovn | grep -v '^tiny.qcow2'; :"); left != "" {
				t.Errorf("%s has %s", other[at], left)
			}
			if options := nb("get", "Logical_Switch_Port", uuid, "options"); options != `{hostname="\"acc-a\""}` {
				t.Errorf("the port has %s", options)
			}
			if ids := nb("get", "Logical_Switch_Port", uuid, "external_ids"); strings.Contains(ids, "moving") {
				t.Errorf("the port has %s", ids)
			}
			if isOff {
				s.Apply(on(at, ""))
			}
			isBoundTo(t, uuid, at)
			for _, machine := range []string{"hv-1", "hv-2"} {
				acctest.Eventually(t, "the guest answers "+machine, func() bool {
					_, err := acctest.Try(t.Context(), machine, "ip", "netns", "exec", "pings-"+machine, "ping", "-q", "-c1", "-W1", "10.50.0.11")
					return err == nil
				})
			}
			switch now := bootOf(t, at); {
			case isOff:
				boot = now
			case now != boot:
				t.Errorf("the guest was started anew: its boot is %s, and was %s", now, boot)
			}
		})
	}
}

// bootOf is the id of the boot that the guest of node a on a machine is in.
func bootOf(t *testing.T, machine string) (id string) {
	t.Helper()
	acctest.Eventually(t, "the guest agent of acc-a", func() (answers bool) {
		said, err := acctest.InGuestOf(t.Context(), machine, "acc-a", "/bin/busybox cat /proc/sys/kernel/random/boot_id")
		id = strings.TrimSpace(said)
		return err == nil && id != ""
	})
	return id
}

// isBoundTo waits until the chassis of a machine, and no other one, has a port.
func isBoundTo(t *testing.T, port, machine string) {
	t.Helper()
	chassis := strings.Trim(acctest.On(t, machine, "ovs-vsctl", "get", "Open_vSwitch", ".", "external_ids:system-id"), `"`)
	var said string
	defer func() {
		if strings.Join(strings.Fields(said), " ") != chassis+" true" {
			t.Logf("the southbound database says %s; %s is %s", said, machine, chassis)
		}
	}()
	acctest.Eventually(t, "the port is bound to "+machine, func() bool {
		said, _ = acctest.Try(t.Context(), "hv-1", "sh", "-c", `ovn-sbctl --timeout=5 --bare --columns=name list Chassis $(ovn-sbctl --timeout=5 --bare --columns=chassis,additional_chassis,requested_additional_chassis find Port_Binding logical_port="$1"); ovn-sbctl --timeout=5 --bare --columns=up find Port_Binding logical_port="$1"`, "sh", port)
		return strings.Join(strings.Fields(said), " ") == chassis+" true"
	})
}

// removePingers takes away the ports of the guests that ping.
func removePingers(t *testing.T) {
	for _, machine := range []string{"hv-1", "hv-2"} {
		if out, err := acctest.Try(context.WithoutCancel(t.Context()), "hv-1", "ovn-nbctl", "--timeout=20", "--if-exists", "lsp-del", "pings-"+machine); err != nil {
			t.Errorf("lsp-del %s: %v: %s", machine, err, out)
		}
	}
}

// killMove has an apply of a configuration that moves a node, and kills its provider once a script on a machine says that the move has come so far. The script is
// asked 50 times a second: some moments are short.
func killMove(t *testing.T, s *acctest.State, config, machine, seen string) {
	t.Helper()
	s.Write(config)
	moving := s.Start("apply", "-auto-approve")
	ended := make(chan error, 1)
	go func() { ended <- moving.Wait() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	come := make(chan error, 1)
	go func() {
		_, err := acctest.Try(ctx, machine, "timeout", "60", "sh", "-c", "until "+seen+"; do sleep 0.02; done")
		come <- err
	}()
	select {
	case err := <-ended:
		t.Fatalf("it ended before it could be killed: %v\n%s", err, moving.Out.String())
	case err := <-come:
		if err != nil {
			t.Fatalf("%s: %v", seen, err)
		}
	}
	pid := acctest.FindProvider(moving.Process.Pid)
	if pid == 0 {
		t.Fatalf("it ended before it could be killed: %s", moving.Out.String())
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Logf("killed: %v", <-ended)
}
