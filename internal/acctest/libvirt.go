package acctest

import (
	"context"
	"io"
	"net"
	"testing"
)

// hypervisorAddress is the sandbox's hypervisor on the service nodes' network.
const hypervisorAddress = "10.0.100.254"

// OfferLibvirt makes a service node a hypervisor's machine until the test ends, for what has to be on one that has systemd: libvirt's socket
// there, which users of the group libvirt may use, is the sandbox's.
func OfferLibvirt(t *testing.T, machine string) {
	t.Helper()
	l, err := net.Listen("tcp", hypervisorAddress+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go passOn(c)
		}
	}()
	// A unit of a name that was used before may not be unloaded yet.
	_, port, _ := net.SplitHostPort(l.Addr().String())
	unit := "libvirt-stand-in-" + port
	On(t, machine, "sh", "-ec", `getent group libvirt >/dev/null || groupadd --system libvirt
mkdir -p /run/libvirt
rm -f /run/libvirt/libvirt-sock
systemd-run --quiet --collect --unit=`+unit+` socat UNIX-LISTEN:/run/libvirt/libvirt-sock,fork,unlink-early,group=libvirt,mode=0660 TCP:`+l.Addr().String()+`
for try in $(seq 50); do [ -S /run/libvirt/libvirt-sock ] && exit; sleep 0.1; done; exit 1`)
	t.Cleanup(func() {
		_, _ = Try(context.Background(), machine, "sh", "-c", "systemctl stop "+unit+"; rm -rf /run/libvirt; groupdel libvirt")
	})
}

// passOn has what is at a connection's other end speak with libvirt.
func passOn(c net.Conn) {
	defer func() { _ = c.Close() }()
	d, err := net.Dial("unix", "/run/libvirt/libvirt-sock")
	if err != nil {
		return
	}
	defer func() { _ = d.Close() }()
	go func() { _, _ = io.Copy(d, c); _ = d.Close() }()
	_, _ = io.Copy(c, d)
}
