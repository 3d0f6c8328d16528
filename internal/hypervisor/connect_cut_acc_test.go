package hypervisor

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

// Procedures of libvirt's remote protocol (remote_protocol.x).
const (
	domainCreateProc = 9
	volCreateProc    = 93
)

// cutter stands between a client and the sandbox's libvirtd. It hangs up on the client once, at a call of a procedure; the
// daemon gets that call so much later.
type cutter struct {
	proc uint32
	late time.Duration
	done atomic.Bool
}

func (c *cutter) client(t *testing.T) *Client {
	t.Helper()
	client, err := New("qemu:///system?socket="+serveSocket(t, c.pass), sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func (c *cutter) pass(client net.Conn) {
	defer func() { _ = client.Close() }()
	daemon, err := net.Dial("unix", "/var/run/libvirt/libvirt-sock")
	if err != nil {
		return
	}
	defer func() { _ = daemon.Close() }()
	go func() {
		_, _ = io.Copy(client, daemon)
		_ = client.Close()
	}()
	for {
		head := make([]byte, headerLength)
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		packet := slices.Concat(head, make([]byte, binary.BigEndian.Uint32(head)-headerLength))
		if _, err := io.ReadFull(client, packet[headerLength:]); err != nil {
			return
		}
		cut := binary.BigEndian.Uint32(head[12:]) == c.proc && binary.BigEndian.Uint32(head[16:]) == packetCall && c.done.CompareAndSwap(false, true)
		if cut {
			_ = client.Close()
			time.Sleep(c.late) // the client goes on meanwhile
		}
		if _, err := daemon.Write(packet); err != nil {
			return
		}
		if cut {
			time.Sleep(300 * time.Millisecond) // the daemon may not see the end before it has done what it was asked
			return
		}
	}
}

func TestAccACutWhileAVolumeIsMadeLeavesNone(t *testing.T) {
	_, dir := sandboxPool(t, "cutcreate")
	cut := &cutter{proc: volCreateProc, late: 300 * time.Millisecond}
	c := cut.client(t)
	qcow2 := &libvirtxml.StorageVolume{
		Name: "v", Capacity: &libvirtxml.StorageVolumeSize{Value: 1 << 30},
		Target: &libvirtxml.StorageVolumeTarget{Format: &libvirtxml.StorageVolumeTargetFormat{Type: "qcow2"}},
	}
	v, err := c.CreateVolume(t.Context(), "cutcreate", qcow2)
	if err != nil || v.Name() != "v" || !cut.done.Load() {
		t.Fatalf("%v, %v; cut: %t", v, err, cut.done.Load())
	}
	if err := c.DeleteVolume(t.Context(), "cutcreate", "v"); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestAccACutWhileADomainStarts(t *testing.T) {
	direct := sandbox(t)
	const uuid = "c2a1b7f0-0000-4000-8000-000000000001"
	err := direct.DefineDomain(t.Context(), &libvirtxml.Domain{
		Type: "qemu", Name: "cutstart", UUID: uuid, Memory: &libvirtxml.DomainMemory{Value: 32, Unit: "MiB"},
		OS: &libvirtxml.DomainOS{Type: &libvirtxml.DomainOSType{Type: "hvm", Arch: "x86_64"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := direct.StopDomain(ctx, uuid, 0); err != nil {
			t.Error(err)
		}
		if err := direct.UndefineDomain(ctx, uuid); err != nil {
			t.Error(err)
		}
	})
	cut := &cutter{proc: domainCreateProc}
	if err := cut.client(t).StartDomain(t.Context(), uuid); err != nil || !cut.done.Load() {
		t.Errorf("%v; cut: %t", err, cut.done.Load())
	}
}
