package hypervisor_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// second is a libvirtd beside the sandbox's own: with files, sockets and state of its own, on the same network.
type second struct {
	socket   string // of its own directory
	tcp, tls string // HOST:PORT
	pki      string // directory with a client's certificate, as libvirt names the files
}

// startSecond starts one that listens in every way, and stops it with the test.
func startSecond(t *testing.T) second {
	t.Helper()
	acctest.InSandbox(t)
	// The path of a socket has at most 107 bytes, which t.TempDir's may exceed.
	dir, err := os.MkdirTemp("", "kvm2-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := second{socket: filepath.Join(dir, "libvirt-sock"), tcp: freePort(t), tls: freePort(t), pki: dir}
	sh(t, certificates, dir)
	config := fmt.Sprintf(`unix_sock_dir = %[1]q
unix_sock_group = "root"
auth_unix_rw = "none"
auth_tcp = "none"
listen_addr = "127.0.0.1"
listen_tcp = 1
listen_tls = 1
tcp_port = %[2]q
tls_port = %[3]q
ca_file = "%[1]s/cacert.pem"
cert_file = "%[1]s/servercert.pem"
key_file = "%[1]s/serverkey.pem"
log_outputs = "3:file:%[1]s/log"
`, dir, port(s.tcp), port(s.tls))
	if err := os.WriteFile(filepath.Join(dir, "libvirtd.conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	// Everything else that it keeps is under these directories, which are its own.
	daemon := exec.Command("unshare", "--mount", "sh", "-ec", `
		cp /etc/libvirt/qemu.conf "$0"
		for own in /run/libvirt /var/lib/libvirt /var/cache/libvirt /var/log/libvirt /etc/libvirt; do mount -t tmpfs -o mode=755 tmpfs $own; done
		mkdir -p /var/lib/libvirt/images /etc/libvirt/qemu
		cp "$0/qemu.conf" /etc/libvirt/
		exec libvirtd --listen --config "$0/libvirtd.conf" --pid-file "$0/pid"`, dir)
	output, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = output.Close() }()
	daemon.Stdout, daemon.Stderr = output, output
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		_ = daemon.Wait()
	})
	await(t, "the second libvirtd", func() bool { _, err := s.virsh(t.Context(), "version"); return err == nil })
	return s
}

// virsh asks the second libvirtd.
func (s second) virsh(ctx context.Context, argv ...string) (string, error) {
	return virsh(ctx, "qemu+unix:///system?socket="+s.socket, argv...)
}

func virsh(ctx context.Context, uri string, argv ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "virsh", append([]string{"--quiet", "--connect", uri}, argv...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// certificates makes an authority, and certificates for 127.0.0.1 and for a client of it.
const certificates = `cd "$0"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority -keyout cakey.pem -out cacert.pem
for who in server client; do
	printf 'subjectAltName=IP:127.0.0.1\nkeyUsage=digitalSignature\nextendedKeyUsage=%sAuth\n' $who >$who.ext
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$who -keyout ${who}key.pem -out $who.csr
	openssl x509 -req -in $who.csr -CA cacert.pem -CAkey cakey.pem -CAcreateserial -days 2 -extfile $who.ext -out ${who}cert.pem
done`

// freePort is an address on which nothing listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

func sh(t *testing.T, script string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", append([]string{"-ec", script}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// await waits until something is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come within a minute", what)
		}
	}
}
