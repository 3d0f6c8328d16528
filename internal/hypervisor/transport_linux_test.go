package hypervisor

import (
	"crypto/tls"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

// The kernel alone would send again for a quarter of an hour to a hypervisor that lost its power in the middle of a call.
func TestAHypervisorThatIsGoneIsNoticed(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveListener(t, plain, answering().talk)
	ca := newAuthority(t)
	for name, uri := range map[string]string{
		"tcp": "qemu+tcp://" + plain.Addr().String() + "/system",
		"tls": "qemu+tls://" + answering().serveTLS(t, ca, 1) + "/system?pkipath=" + ca.client(ca),
	} {
		t.Run(name, func(t *testing.T) {
			c, err := New(uri, sshhost.Options{})
			if err != nil {
				t.Fatal(err)
			}
			conn, _, err := c.target.dialTarget(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close() //nolint:errcheck // only looked at
			if over, ok := conn.(*tls.Conn); ok {
				conn = over.NetConn()
			}
			raw, err := conn.(*net.TCPConn).SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			var limit int
			var failed error
			err = raw.Control(func(fd uintptr) { limit, failed = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT) })
			if err != nil || failed != nil || limit == 0 || limit > 60_000 {
				t.Errorf("it is given up after %d ms (0 for the kernel's own), %v, %v", limit, err, failed)
			}
		})
	}
}
