package hypervisor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/digitalocean/go-libvirt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

// newUnreachableError makes the error of an attempt to connect.
func (c *Client) newUnreachableError(ctx context.Context, address string, err error) error {
	return &UnreachableError{URI: c.uri, Address: address, Err: deadlineOr(ctx, err), Remedy: c.target.findRemedy(err)}
}

// findRemedy returns the way out of a failure to connect, in one sentence without its full stop; "" where nothing better is known
// than what the error says itself.
func (t target) findRemedy(err error) string {
	if _, ok := errors.AsType[*sshhost.HostKeyError](err); ok {
		return "" // it says it
	}
	if refused, ok := errors.AsType[*sshhost.AuthError](err); ok {
		return fmt.Sprintf("Add the public part of a key to authorized_keys of %q there, or name another user or key, by the URI or by `ssh` of the provider", refused.User)
	}
	if said, ok := errors.AsType[libvirt.Error](err); ok {
		return t.remedyOfRefusal(libvirt.ErrorNumber(said.Code))
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Sprintf("Correct the host in the URI, or see to it that this machine can resolve %q", name.Name)
	}
	switch t.transport {
	case "ssh":
		return t.remedyOfSSH(err)
	case "tls":
		if way := t.remedyOfTLS(err); way != "" {
			return way
		}
	case "unix":
		return t.remedyOfSocket(err)
	}
	return t.remedyOfNetwork(err)
}

// remedyOfRefusal is for a daemon that answers, and refuses to be used.
func (t target) remedyOfRefusal(code libvirt.ErrorNumber) string {
	unauthenticated := []libvirt.ErrorNumber{libvirt.ErrRPC, libvirt.ErrAuthFailed, libvirt.ErrAuthCancelled, libvirt.ErrAuthUnavailable}
	switch {
	case code == libvirt.ErrNoSupport && strings.HasPrefix(t.remoteURI, "test:"):
		return "Run libvirtd for it: virtproxyd, which stands before modular daemons, does not serve libvirt's test driver"
	case !slices.Contains(unauthenticated, code):
		return ""
	case t.transport == "unix":
		return "Add this user to the group libvirt (sudo usermod -aG libvirt $USER, and log in again), or run Terraform as root"
	case t.transport == "ssh":
		return "Add the user who logs in there to the group libvirt (sudo usermod -aG libvirt NAME), or log in as root"
	}
	return fmt.Sprintf("Use qemu+ssh, or set auth_%s = \"none\" in libvirtd.conf there: this provider knows no user names and passwords (SASL)", t.transport)
}

// remedyOfSocket is for a socket on this machine.
func (t target) remedyOfSocket(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "Add this user to the group libvirt (sudo usermod -aG libvirt $USER, and log in again), or run Terraform as root"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return "Start libvirt (sudo systemctl start libvirtd, or virtqemud.socket where it has modular daemons), install it, or correct the URI: one of another machine has a host, as in qemu+ssh://root@kvm1/system"
	case isHungUp(err), isTimeout(err):
		return "See what libvirt says (journalctl -u libvirtd -u virtqemud), and restart it where it hangs"
	}
	return ""
}

// remedyOfSSH is for the SSH connection, and for the socket behind it.
func (t target) remedyOfSSH(err error) string {
	if _, ok := errors.AsType[*sshhost.ForwardError](err); ok {
		return "Start libvirt there (systemctl start libvirtd, or virtqemud.socket where it has modular daemons), let the user who logs in use it (usermod -aG libvirt NAME), or sshd forward to its socket (AllowStreamLocalForwarding yes in sshd_config)"
	}
	_, unconnected := errors.AsType[*sshhost.ConnectError](err)
	switch {
	case unconnected:
		return "See that the machine runs, that sshd listens there, and that the host, the port and the machines to jump through are right, in the URI, in `ssh` of the provider and in ~/.ssh/config"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return "Name a file that can be read, by keyfile= in the URI or by `ssh` of the provider"
	case isHungUp(err), isTimeout(err):
		return "See what libvirt there says (journalctl -u libvirtd -u virtqemud), and restart it where it hangs"
	}
	return ""
}

// remedyOfTLS is for certificates.
func (t target) remedyOfTLS(err error) string {
	if name, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("Write the host in the URI as the server's certificate names it, or make a certificate for %q", name.Host)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Sprintf("Put the certificate of the CA that signed the server's into %s", t.pkiFile("cacert.pem"))
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "Renew the server's certificate, or correct this machine's clock"
	}
	_, alert := errors.AsType[tls.AlertError](err)
	_, remote := errors.AsType[*net.OpError](err)
	switch {
	case errors.Is(err, errClientRefused), alert && remote:
		return "Have the client's certificate signed by the CA in ca_file of libvirtd.conf there, and its name let in by tls_allowed_dn_list"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, errNoCertificate):
		return "Put cacert.pem, clientcert.pem and clientkey.pem where this user can read them, and name their directory by pkipath= in the URI (https://libvirt.org/kbase/tlscerts.html)"
	}
	return ""
}

// remedyOfNetwork is for what is reached without SSH.
func (t target) remedyOfNetwork(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("Let libvirt listen there (systemctl start libvirtd-%[1]s.socket, or virtproxyd-%[1]s.socket where it has modular daemons), correct the port in the URI, or use qemu+ssh", t.transport)
	case isTimeout(err), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "See that the machine runs, that its address is right, and that no firewall is between; connect_timeout in `ssh` of the provider gives it more time"
	case isHungUp(err):
		return "See that it is libvirt which listens there, and what it says (journalctl -u libvirtd -u virtproxyd)"
	}
	return ""
}

func isTimeout(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, syscall.ETIMEDOUT)
}

// isHungUp says that something listens which is gone before it has said anything. go-libvirt's answer to it is EINVAL.
func isHungUp(err error) bool {
	return slices.ContainsFunc([]error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE, syscall.EINVAL, libvirt.ErrInterrupted},
		func(sign error) bool { return errors.Is(err, sign) })
}
