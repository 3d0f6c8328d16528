package hypervisor

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/digitalocean/go-libvirt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

func TestAFailureToConnectNamesTheWayOut(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	denied := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EACCES)}
	unresolved := &net.DNSError{Err: "no such host", Name: "kvm1", IsNotFound: true}
	slow := &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	unauthenticated := func(code libvirt.ErrorNumber) error {
		return libvirt.Error{Code: uint32(code), Message: "authentication"}
	}
	for _, c := range []struct {
		uri  string
		err  error
		want string // "" for nothing
	}{
		{"qemu:///system", fs.ErrNotExist, "systemctl start libvirtd"},
		{"qemu:///system", refused, "systemctl start libvirtd"},
		{"qemu:///system", denied, "usermod -aG libvirt $USER"},
		{"qemu:///system", slow, "restart it where it hangs"},
		{"qemu:///system", unauthenticated(libvirt.ErrAuthUnavailable), "usermod -aG libvirt $USER"},
		{"qemu:///system", libvirt.Error{Code: uint32(libvirt.ErrNoConnect)}, ""},
		{"test:///default", libvirt.Error{Code: uint32(libvirt.ErrNoSupport)}, "virtproxyd"},
		{"qemu+ssh://kvm1/system", &sshhost.ConnectError{Err: unresolved}, `can resolve "kvm1"`},
		{"qemu+ssh://kvm1/system", &sshhost.ConnectError{Err: refused}, "sshd listens there"},
		{"qemu+ssh://kvm1/system", &sshhost.HostKeyError{}, ""},
		{"qemu+ssh://kvm1/system", &sshhost.AuthError{User: "me", Err: errors.New("no")}, `authorized_keys of "me"`},
		{"qemu+ssh://kvm1/system", &sshhost.ForwardError{Err: errors.New("no")}, "Start libvirt there"},
		{"qemu+ssh://kvm1/system?keyfile=/k", fs.ErrNotExist, "keyfile="},
		{"qemu+ssh://kvm1/system", unauthenticated(libvirt.ErrAuthFailed), "usermod -aG libvirt NAME"},
		{"qemu+tcp://kvm1/system", refused, "libvirtd-tcp.socket"},
		{"qemu+tcp://kvm1/system", slow, "firewall"},
		{"qemu+tcp://kvm1/system", unauthenticated(libvirt.ErrRPC), "auth_tcp"},
		{"qemu+tls://kvm1/system", refused, "libvirtd-tls.socket"},
		{"qemu+tls://kvm1/system", fs.ErrNotExist, "pkipath="},
		{"qemu+tls://kvm1/system?pkipath=/p", x509.UnknownAuthorityError{}, "/p/cacert.pem"},
		{"qemu+tls://kvm1/system", x509.HostnameError{Certificate: &x509.Certificate{}, Host: "kvm1"}, `certificate for "kvm1"`},
		{"qemu+tls://kvm1/system", x509.CertificateInvalidError{Reason: x509.Expired}, "Renew"},
		{"qemu+tls://kvm1/system", errClientRefused, "tls_allowed_dn_list"},
	} {
		parsed, err := parseURI(c.uri)
		if err != nil {
			t.Fatal(err)
		}
		got := parsed.findRemedy(fmt.Errorf("wrapped: %w", c.err))
		if !strings.Contains(got, c.want) || (c.want == "") != (got == "") || strings.HasSuffix(got, ".") {
			t.Errorf("%s, %v: %q does not say %q", c.uri, c.err, got, c.want)
		}
	}
}

func TestTheWayOutIsPartOfTheError(t *testing.T) {
	hangingUp := serveSocket(t, func(conn net.Conn) { _ = conn.Close() })
	for socket, want := range map[string]string{"/nowhere/sock": "no such file or directory. Start libvirt", hangingUp: "journalctl -u libvirtd"} {
		c := newClient(t, "qemu:///system?socket="+socket)
		_, err := callOnce(t.Context(), c, "read version", version)
		if _, ok := errors.AsType[*UnreachableError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
		_, err = c.openStream(t.Context(), "upload", rpcUpload, nil)
		if err == nil || socket == "/nowhere/sock" && !strings.Contains(err.Error(), want) {
			t.Errorf("a stream: %v does not say %q", err, want)
		}
	}
}
